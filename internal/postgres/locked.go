package postgres

import (
	"context"
	"fmt"
	"slices"
	gosync "sync"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// moment is how long a lock may keep the engine from a table without being an
// obstacle: most belong to somebody who alters a table or makes an index.
const moment = 200 * time.Millisecond

// obstacles are the locks that were there when it was last looked, and since
// when, as far as this engine knows: of other roles' sessions PostgreSQL does not
// tell it when a transaction began (manual, section 28.2.3).
type obstacles struct {
	lock  gosync.Mutex
	since map[tableLock]time.Time
}

// tableLock is a lock of somebody else's that keeps the engine from a table.
type tableLock struct {
	table, login, mode string
	pid                int32
}

// readLocked is the mode that no read passes; the others keep writes out.
const readLocked = "AccessExclusiveLock"

// lockedOut says of which of the tables the engine is kept, and by whom. It is an error if
// that is a table without which nothing is done.
func (d *Database) lockedOut(tables []string, locks []tableLock) (map[string]error, error) {
	if len(locks) == 0 {
		return nil, nil
	}
	out := map[string]error{}
	for _, l := range locks {
		err := d.obstacles.describe(l)
		_, synchronized := slices.BinarySearch(tables, l.table)
		if defines := d.Registry.Table(l.table); l.mode == readLocked &&
			(!synchronized || defines != nil && defines.DefinesRegions) {
			return nil, err // settings, modes, accounts, regions
		}
		if synchronized && out[l.table] == nil {
			out[l.table] = err
		}
	}
	return out, nil
}

// queueLocks queues the read of the locks on tables.
func queueLocks(batch *pgx.Batch, locks *[]tableLock) {
	batch.Queue(`SELECT l."table", coalesce(l.pid, 0), l.login, l.mode FROM iasql_internal.table_locks() l ORDER BY 1, 2, 4`).Query(func(rows pgx.Rows) error {
		var l tableLock
		_, err := pgx.ForEachRow(rows, []any{&l.table, &l.pid, &l.login, &l.mode}, func() error {
			*locks = append(*locks, l)
			return nil
		})
		return err
	})
}

// note remembers the locks that are there, and reports whether one is new.
func (o *obstacles) note(locks []tableLock) (fresh bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	since := make(map[tableLock]time.Time, len(locks))
	for _, l := range locks {
		at, known := o.since[l]
		if !known {
			at, fresh = time.Now(), true
		}
		since[l] = at
	}
	o.since = since
	return fresh
}

// describe says, for people, who holds a lock.
func (o *obstacles) describe(l tableLock) error {
	o.lock.Lock()
	defer o.lock.Unlock()
	return fmt.Errorf("table %s is locked by %s (process %d) since %s; nothing of it is read or written until that "+
		"transaction ends",
		l.table, l.login, l.pid, o.since[l].UTC().Format("2006-01-02 15:04:05Z"))
}

// lockedNow reports whether somebody has locked a table, or one that refers to
// it, where PostgreSQL looks when a record is deleted.
func (d *Database) lockedNow(ctx context.Context, t *modules.Table) bool {
	var names []string
	rows, err := d.Pool.Query(ctx, `SELECT "table" FROM iasql_internal.table_locks()`)
	if err == nil {
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		locked := d.Registry.Table(name)
		return locked != nil && (locked == t || slices.Contains(locked.Parents(), t.Name))
	})
}
