package postgres

import (
	"context"
	"fmt"
	"slices"
	gosync "sync"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
	"iasql/internal/store"
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

// lockedOut notes who keeps the engine from which table. It is an error if that is a table
// without which nothing is done.
func (d *Database) lockedOut(tables []store.InstalledTable, locks []tableLock) error {
	if len(locks) == 0 {
		return nil
	}
	at := make(map[string]*store.InstalledTable, len(tables))
	for i := range tables {
		at[tables[i].Name] = &tables[i]
	}
	for _, l := range locks {
		err := d.obstacles.describe(l)
		t := at[l.table]
		if defines := d.Registry.Table(l.table); l.mode == readLocked && (t == nil || defines != nil && defines.DefinesRegions) {
			return err // settings, modes, accounts, regions
		}
		if t != nil && t.Locked == nil {
			t.Locked = err
		}
	}
	return nil
}

// queueTables queues the read of which tables there are, and of the locks on them, at
// once.
func queueTables(batch *pgx.Batch, tables *[]store.InstalledTable, locks *[]tableLock) {
	batch.Queue(`
		SELECT array_agg(name), NULL, NULL, NULL, NULL FROM iasql_internal.managed_table WHERE NOT settings -- there may be a thousand
		UNION ALL
		SELECT NULL, l."table", l.pid, l.login, l.mode FROM iasql_internal.table_locks() l
		ORDER BY 2 NULLS FIRST, 3 NULLS FIRST, 5`).Query(func(rows pgx.Rows) error {
		var names []string
		var name *string
		var pid *int32
		var login, mode *string
		_, err := pgx.ForEachRow(rows, []any{&names, &name, &pid, &login, &mode}, func() error {
			if mode == nil {
				slices.Sort(names)
				for _, name := range names {
					*tables = append(*tables, store.InstalledTable{Name: name})
				}
				return nil
			}
			l := tableLock{table: *name, login: *login, mode: *mode}
			if pid != nil {
				l.pid = *pid
			}
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
	return fmt.Errorf("table %s is locked by %s (process %d) since %s; nothing of it is read or written until that transaction ends",
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
