package archive

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// shortest is the shortest time for which the log is to be kept in the database: the longest month, and a day to
// export it.
const shortest = 32 * 24 * time.Hour

// Exported says what became of a month.
type Exported struct {
	*Manifest
	File string `json:"file"`
	// Kept: the file was there, and the database has no row of the month that it has not.
	Kept bool `json:"kept"`
}

// Export writes a file of each month that has ended, from the first of which the database has rows. A file that is
// there stays, unless rows of its month were committed since. Rows whose transaction is still open are not in it:
// export again later. The session reads the whole log: it is a member of iasql_engine, or a superuser.
func Export(ctx context.Context, conn *pgx.Conn, dir string) ([]Exported, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// All files are of one moment, so that nothing is deleted between the count and the copy.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	log, err := readLog(ctx, tx)
	if err != nil {
		return nil, err
	}
	if log.retention < shortest {
		return nil, fmt.Errorf("the setting audit_retention (%s) is shorter than a month: rows would be deleted "+
			"before their month has ended and is exported: UPDATE iasql_settings SET value = '40 days' WHERE name = "+
			"'audit_retention'", log.keeps)
	}
	month, any, err := log.earliest(dir)
	if err != nil {
		return nil, err
	}
	var all []Exported
	for ; any && !month.End().After(log.now); month = month.Next() {
		of, err := log.count(ctx, tx, month)
		if err != nil {
			return all, err
		}
		there, err := readManifest(dir, month)
		if err != nil {
			return all, err
		}
		if there != nil && there.Installation != log.installation {
			return all, fmt.Errorf("%s has the log of another database: name another folder", dir)
		}
		done := Exported{of, dataFile(dir, month), false}
		if there != nil && (there.Rows >= of.Rows || of.Since.After(there.Since)) {
			done.Manifest, done.Kept = there, true // what was deleted since is in it
		} else if err := log.write(ctx, tx, dir, of); err != nil {
			return all, fmt.Errorf("export %s: %w", month, err)
		}
		all = append(all, done)
	}
	return all, nil
}

// auditLog is what is known of a database's audit log.
type auditLog struct {
	installation string
	columns      []string
	now, first   time.Time
	since        *time.Time // nil: nothing was ever deleted
	retention    time.Duration
	keeps        string // the retention as it was set
}

func readLog(ctx context.Context, tx pgx.Tx) (*auditLog, error) {
	log := &auditLog{}
	var first *time.Time
	var seconds float64
	err := tx.QueryRow(ctx, `
		SELECT (SELECT i.id::text FROM iasql_internal.installation i),
		       ARRAY(SELECT a.attname::text FROM pg_attribute a
		             WHERE a.attrelid = 'public.iasql_audit_log'::regclass AND a.attnum > 0 AND NOT a.attisdropped
		             ORDER BY a.attnum),
		       now(), (SELECT min(l.ts) FROM public.iasql_audit_log l), -- of an account that has come with its history, too
		       (SELECT nullif(p.log_since, '-infinity') FROM iasql_internal.pruning p),
		       extract(epoch FROM iasql_internal.setting('audit_retention')::interval)::double precision,
		       iasql_internal.setting('audit_retention')`).
		Scan(&log.installation, &log.columns, &log.now, &first, &log.since, &seconds, &log.keeps)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	if first != nil {
		log.first = *first
	}
	log.retention = time.Duration(seconds * float64(time.Second))
	return log, nil
}

// earliest returns the month from which on to export: that of the first row, or the one after the last that was
// exported, be it without rows.
func (log *auditLog) earliest(dir string) (month Month, any bool, err error) {
	list, err := manifests(dir)
	if err != nil {
		return month, false, err
	}
	if !log.first.IsZero() {
		month, any = MonthOf(log.first), true
	}
	if len(list) == 0 {
		return month, any, nil
	}
	if next := list[len(list)-1].Month.Next(); !any || next.begin.Before(month.begin) {
		month = next
	}
	return month, true, nil
}

// count describes what the database has of a month.
func (log *auditLog) count(ctx context.Context, tx pgx.Tx, month Month) (*Manifest, error) {
	of := &Manifest{Installation: log.installation, Month: month, Since: month.Begin(), Columns: log.columns,
		Exported: log.now.UTC()}
	if log.since != nil && log.since.After(of.Since) {
		of.Since = log.since.UTC()
	}
	err := tx.QueryRow(ctx, `
		SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) FROM public.iasql_audit_log
		WHERE ts >= $1 AND ts < $2`,
		month.Begin(), month.End()).Scan(&of.Rows, &of.FirstID, &of.LastID)
	return of, err
}

// write copies a month into its file, and then describes it in the manifest.
func (log *auditLog) write(ctx context.Context, tx pgx.Tx, dir string, of *Manifest) error {
	statement := fmt.Sprintf(`COPY (SELECT %s FROM public.iasql_audit_log WHERE ts >= '%s' AND ts < '%s' ORDER BY id)
		TO STDOUT (FORMAT csv, HEADER)`, quoted(of.Columns), literal(of.Month.Begin()), literal(of.Month.End()))
	err := writeFile(dataFile(dir, of.Month), func(file *os.File) error {
		sum := sha256.New()
		compressed := gzip.NewWriter(io.MultiWriter(file, sum))
		copied, err := tx.Conn().PgConn().CopyTo(ctx, compressed, statement)
		if err != nil {
			return err
		}
		if err := compressed.Close(); err != nil {
			return err
		}
		of.Rows, of.SHA256 = copied.RowsAffected(), hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	if err != nil {
		return err
	}
	return writeFile(manifestFile(dir, of.Month), func(file *os.File) error {
		to := json.NewEncoder(file)
		to.SetIndent("", "  ")
		return to.Encode(of)
	})
}

// literal returns a time as SQL writes it.
func literal(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// quoted returns columns as a list of SQL.
func quoted(columns []string) string {
	names := slices.Clone(columns)
	for i, name := range names {
		names[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(names, ", ")
}
