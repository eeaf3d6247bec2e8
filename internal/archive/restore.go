package archive

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Restored says what became of a month.
type Restored struct {
	*Manifest
	Added int64 `json:"added"` // rows that the database had no more
}

// Restore puts the months of a folder from one on (the zero Month: all) back into the audit log, newest first, each in
// a transaction of its own, so that the log is whole from the begin of the last one on. It stops at a month that is
// missing, at a file that is not as it was written, at rows that differ from those that are there. Rows that the
// setting audit_retention would have deleted at once are refused.
// The session may write the log: it is a member of iasql_engine, or a superuser.
func Restore(ctx context.Context, conn *pgx.Conn, dir string, from Month) ([]Restored, error) {
	list, err := manifests(dir)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(of *Manifest) bool { return of.Month.begin.Before(from.begin) })
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no month to restore: engine audit export writes them", dir)
	}
	slices.Reverse(list)
	var all []Restored
	for _, of := range list {
		var added int64
		if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
			added, err = restoreMonth(ctx, tx, dir, of)
			return err
		}); err != nil {
			return all, fmt.Errorf("restore %s: %w", of.Month, err)
		}
		all = append(all, Restored{of, added})
	}
	return all, nil
}

// restoreMonth puts one month back, and returns how many rows it added.
func restoreMonth(ctx context.Context, tx pgx.Tx, dir string, of *Manifest) (added int64, err error) {
	// Nobody prunes meanwhile.
	if _, err := tx.Exec(ctx, `SELECT FROM iasql_internal.pruning FOR UPDATE`); err != nil {
		return 0, fmt.Errorf("read since when the log is whole: %w", err)
	}
	log, err := readLog(ctx, tx)
	if err != nil {
		return 0, err
	}
	if err := log.accepts(of); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `
		CREATE TEMPORARY TABLE iasql_restored (LIKE public.iasql_audit_log INCLUDING DEFAULTS) ON COMMIT DROP`,
	); err != nil {
		return 0, err
	}
	if err := load(ctx, tx, dir, of); err != nil {
		return 0, err
	}
	var differs *int64
	if err := tx.QueryRow(ctx, `
		SELECT min(r.id) FROM pg_temp.iasql_restored r JOIN public.iasql_audit_log l USING (id)
		WHERE (r.ts, r.table_name, r.record_id, r.change_type, r.change) IS DISTINCT FROM
		      (l.ts, l.table_name, l.record_id, l.change_type, l.change)`).Scan(&differs); err != nil {
		return 0, err
	}
	if differs != nil {
		return 0, fmt.Errorf("row %d of the log is another one than in the file: they are of different databases, "+
			"or one of them was changed", *differs)
	}
	// Only what was settled is ever deleted.
	columns := quoted(slices.DeleteFunc(slices.Clone(of.Columns), func(name string) bool {
		return name == "settled" || name == "settled_at"
	}))
	done, err := tx.Exec(ctx, fmt.Sprintf(`
		INSERT INTO public.iasql_audit_log (%[1]s, settled, settled_at) OVERRIDING SYSTEM VALUE
		SELECT %[1]s, true, coalesce(r.settled_at, r.ts) FROM pg_temp.iasql_restored r ORDER BY r.id
		ON CONFLICT (id) DO NOTHING`, columns))
	if err != nil {
		return 0, fmt.Errorf("write the log: %w", err)
	}
	since := of.Since
	if log.since == nil || since.After(*log.since) {
		return done.RowsAffected(), nil
	}
	_, err = tx.Exec(ctx, `UPDATE iasql_internal.pruning SET log_since = $1`, since)
	return done.RowsAffected(), err
}

// accepts says why a month cannot be put back; nil if it can.
func (log *auditLog) accepts(of *Manifest) error {
	switch {
	case of.Installation != log.installation:
		return fmt.Errorf("it is of another database (installation %s; this one is %s)", of.Installation,
			log.installation)
	case log.since != nil && of.Month.End().Before(*log.since):
		return fmt.Errorf("the log begins at %s, and what was between is missing: put the file of %s into the folder",
			log.since.Format(time.RFC3339), MonthOf(log.since.Add(-1)))
	case of.Since.Before(log.now.Add(-log.retention)):
		return fmt.Errorf("the setting audit_retention (%s) would have it deleted within the hour: UPDATE "+
			"iasql_settings SET value = '%d days' WHERE name = 'audit_retention', or restore from a later month on "+
			"(--from)", log.keeps, int(log.now.Sub(of.Since).Hours()/24)+32)
	}
	for _, name := range of.Columns {
		if !slices.Contains(log.columns, name) {
			return fmt.Errorf("the log has no column %s any more: it was written by a newer engine", name)
		}
	}
	return nil
}

// load reads the file of a month into pg_temp.iasql_restored. What is not as it was written fails.
func load(ctx context.Context, tx pgx.Tx, dir string, of *Manifest) error {
	path := dataFile(dir, of.Month)
	file, err := os.Open(path) // #nosec G304 -- the folder is named by whoever runs the command
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	read := io.TeeReader(file, sum)
	plain, err := gzip.NewReader(read)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// On the name of the temporary table nobody else's can stand.
	copied, err := tx.Conn().PgConn().CopyFrom(ctx, plain, fmt.Sprintf(
		`COPY pg_temp.iasql_restored (%s) FROM STDIN (FORMAT csv, HEADER)`, quoted(of.Columns)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := io.Copy(io.Discard, read); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != of.SHA256 || copied.RowsAffected() != of.Rows {
		return fmt.Errorf("%s is not as it was exported: it has been changed, or is not whole", path)
	}
	return nil
}
