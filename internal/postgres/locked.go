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

// Tables implements [store.Store].
func (d *Database) Tables(ctx context.Context) ([]store.InstalledTable, error) {
	tables, locks, err := d.tables(ctx)
	if err != nil {
		return nil, err
	}
	if fresh := d.obstacles.note(locks); fresh {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(moment):
		}
		if tables, locks, err = d.tables(ctx); err != nil {
			return nil, err
		}
		d.obstacles.note(locks)
	}
	if len(locks) == 0 {
		return tables, nil
	}
	at := make(map[string]*store.InstalledTable, len(tables))
	for i := range tables {
		at[tables[i].Name] = &tables[i]
	}
	for _, l := range locks {
		err := d.obstacles.describe(l)
		t := at[l.table]
		if defines := d.Registry.Table(l.table); l.mode == readLocked && (t == nil || defines != nil && defines.DefinesRegions) {
			return nil, err // settings, modes, accounts, regions: nothing is done without them
		}
		if t != nil && t.Locked == nil {
			t.Locked = err
		}
	}
	return tables, nil
}

// tables reads which tables there are, and the locks on them, at once.
func (d *Database) tables(ctx context.Context) (tables []store.InstalledTable, locks []tableLock, err error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT name, NULL, NULL, NULL FROM iasql_internal.managed_table WHERE NOT settings
		UNION ALL
		SELECT l."table", l.pid, l.login, l.mode FROM iasql_internal.table_locks() l
		ORDER BY 1, 2 NULLS FIRST, 4`)
	if err != nil {
		return nil, nil, err
	}
	var name string
	var pid *int32
	var login, mode *string
	_, err = pgx.ForEachRow(rows, []any{&name, &pid, &login, &mode}, func() error {
		if mode == nil {
			tables = append(tables, store.InstalledTable{Name: name})
			return nil
		}
		l := tableLock{table: name, login: *login, mode: *mode}
		if pid != nil {
			l.pid = *pid
		}
		locks = append(locks, l)
		return nil
	})
	return tables, locks, err
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
