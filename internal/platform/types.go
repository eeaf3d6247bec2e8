package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
)

// Types returns the resource types that have changed since, and a number that tells what
// was there.
func Types(ctx context.Context, pool *pgxpool.Pool, since int64) (list []modules.Description, newest int64, err error) {
	newest = since
	rows, err := pool.Query(ctx, `
		SELECT name, version, schema, layout, revision, learnt, changed FROM iasql_internal.resource_type WHERE changed > $1 ORDER BY changed`, since)
	if err != nil {
		return nil, since, err
	}
	var d modules.Description
	var changed int64
	_, err = pgx.ForEachRow(rows, []any{&d.Name, &d.Version, &d.Schema, (*[]byte)(&d.Layout), &d.Revision, &d.Learnt,
		&changed}, func() error {
		kept := d
		kept.Layout = append([]byte{}, d.Layout...)
		list, newest = append(list, kept), max(newest, changed)
		return nil
	})
	return list, newest, err
}

// KeptTypes returns the resource types of these names as they are kept.
func KeptTypes(ctx context.Context, pool *pgxpool.Pool, names []string) ([]*modules.Description, error) {
	rows, err := pool.Query(ctx, `SELECT name, version, schema FROM iasql_internal.resource_type WHERE name = ANY ($1) ORDER BY name`, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*modules.Description, error) {
		d := &modules.Description{}
		return d, row.Scan(&d.Name, &d.Version, &d.Schema)
	})
}

// KeepTypes keeps how types describe themselves, unless that is what is kept, and returns
// why it could not keep others. lay gives a table and its columns names, build makes sure
// that there can be a table.
func KeepTypes(ctx context.Context, pool *pgxpool.Pool, list []*modules.Description,
	lay func(*modules.Description) error,
	build func(*modules.Description) (*modules.Module, error)) (refused map[string]error, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		refused = map[string]error{}
		return keepTypes(ctx, tx, list, lay, build, refused)
	})
	var pg *pgconn.PgError
	if err == nil || len(list) == 1 || !errors.As(err, &pg) {
		return refused, err
	}
	refused = map[string]error{} // one of them PostgreSQL does not take
	for _, d := range list {
		some, err := KeepTypes(ctx, pool, []*modules.Description{d}, lay, build)
		if errors.As(err, &pg) {
			refused[d.Name] = err
		} else if err != nil {
			return nil, err
		}
		maps.Copy(refused, some)
	}
	return refused, nil
}

func keepTypes(ctx context.Context, tx pgx.Tx, list []*modules.Description, lay func(*modules.Description) error,
	build func(*modules.Description) (*modules.Module, error), refused map[string]error) error {
	if err := lockTypes(ctx, tx); err != nil {
		return err
	}
	kept, err := keptLayouts(ctx, tx, list)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, d := range list {
		k, there := kept[d.Name]
		d.Layout, d.Revision, d.Learnt = k.Layout, k.Revision+1, k.Learnt
		if err := lay(d); err != nil {
			refused[d.Name] = err
			continue
		}
		if there && k.Version == d.Version && sameJSON(k.Layout, d.Layout) {
			d.Revision = k.Revision
			continue
		}
		m, err := build(d)
		if err != nil {
			refused[d.Name] = err
			continue
		}
		batch.Queue(registration, registrationOf(m)...)
		batch.Queue(`
			INSERT INTO iasql_internal.resource_type (name, version, schema, layout, revision) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (name) DO UPDATE SET version = excluded.version, schema = excluded.schema, layout = excluded.layout, revision = excluded.revision,
				read = excluded.read, changed = excluded.changed`,
			d.Name, d.Version, strings.ReplaceAll(d.Schema, "\x00", ""), string(d.Layout), d.Revision)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// keptLayouts returns what is kept of types besides their schemas.
func keptLayouts(ctx context.Context, tx pgx.Tx, list []*modules.Description) (map[string]modules.Description, error) {
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	rows, err := tx.Query(ctx, `SELECT name, version, layout, revision, learnt FROM iasql_internal.resource_type WHERE name = ANY ($1)`, names)
	if err != nil {
		return nil, err
	}
	kept := map[string]modules.Description{}
	for rows.Next() {
		var k modules.Description
		if err := rows.Scan(&k.Name, &k.Version, (*[]byte)(&k.Layout), &k.Revision, &k.Learnt); err != nil {
			return nil, err
		}
		kept[k.Name] = k
	}
	return kept, rows.Err()
}

// sameJSON reports whether two texts of JSON have the same value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// lockTypes lets others wait who change resource types: two who install the same one give
// it the same names, and changes become visible in their order.
func lockTypes(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `LOCK TABLE iasql_internal.resource_type IN SHARE ROW EXCLUSIVE MODE`)
	return err
}

// InstallTypes makes the tables of types, or alters those of an earlier schema, and returns
// the tables it made, by module, and why it could not make others: one that cannot be made
// does not keep the rest away.
func InstallTypes(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry,
	names []string) (made map[string][]string, refused []string, err error) {
	err = inDDL(ctx, pool, func(tx pgx.Tx) error {
		made, refused = map[string][]string{}, nil
		have, err := installed(ctx, tx)
		if err != nil {
			return err
		}
		for _, name := range names {
			m := registry.Module(name)
			if m == nil {
				refused = append(refused, name+": its table could not be described")
				continue
			}
			from, there := have[name]
			err := pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error {
				return installType(ctx, part, registry, m, from, there)
			})
			var pg *pgconn.PgError
			switch {
			case errors.As(err, &pg) && pg.Code == pgerrcode.DuplicateTable:
				refused = append(refused, fmt.Sprintf("%s: %s: rename your own table of that name, or install into "+
					"another database", name, pg.Message))
			// neither a lock nor the end of the server
			case errors.As(err, &pg) && pg.Code != pgerrcode.LockNotAvailable &&
				!pgerrcode.IsOperatorIntervention(pg.Code):
				refused = append(refused, fmt.Sprintf("%s: %v", name, err))
			case err != nil:
				return fmt.Errorf("type %s: %w", name, err)
			case !there:
				for _, t := range m.Tables() {
					made[name] = append(made[name], t.Name)
				}
			}
		}
		return nil
	})
	return made, refused, err
}

// installType makes the table of a type, or brings that of an earlier schema up to date.
func installType(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module, from int,
	there bool) error {
	if !there {
		return install(ctx, tx, registry, m)
	}
	if from >= m.Version {
		return nil
	}
	for _, t := range m.Tables() {
		if err := describe(ctx, tx, registry, m, t); err != nil {
			return err
		}
	}
	old, err := freeValues(ctx, tx, m)
	if err != nil {
		return err
	}
	if err := upgradeModule(ctx, tx, registry, m, from); err != nil {
		return err
	}
	if err := renewRules(ctx, tx, old); err != nil {
		return err
	}
	return emptyRows(ctx, tx, m)
}

// RenewRecords makes the view of all records anew, after [InstallTypes].
func RenewRecords(ctx context.Context, pool *pgxpool.Pool) error {
	return inDDL(ctx, pool, func(tx pgx.Tx) error { return renewRecords(ctx, tx) })
}

// InstalledTypes returns the installed types that a pattern means.
func InstalledTypes(ctx context.Context, pool *pgxpool.Pool, pattern string) ([]string, error) {
	rows, err := pool.Query(ctx, `SELECT iasql_internal.installed_types($1)`, pattern)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// LearnFixed returns a function that keeps that columns of a type's table are fixed at
// creation: every engine takes a change of them for a replacement from now on.
func LearnFixed(pool *pgxpool.Pool) func(ctx context.Context, typeName string, columns []string) error {
	return func(ctx context.Context, typeName string, columns []string) error {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if err := lockTypes(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `
				WITH learnt AS (
					UPDATE iasql_internal.resource_type
					SET learnt = ARRAY(SELECT DISTINCT unnest(learnt || $2::text[]) ORDER BY 1), changed = nextval('iasql_internal.resource_type_change')
					WHERE name = $1 AND NOT learnt @> $2::text[]
					RETURNING layout ->> 'table' AS name, learnt
				)
				UPDATE iasql_internal.managed_table m SET fixed = ARRAY(SELECT DISTINCT unnest(m.fixed || l.learnt) ORDER BY 1)
				FROM learnt l WHERE m.name = l.name`, typeName, columns)
			return err
		})
		if err != nil {
			return fmt.Errorf("keep what is fixed of %s: %w", typeName, err)
		}
		return nil
	}
}

// forgetTypes forgets types that have been uninstalled.
func forgetTypes(ctx context.Context, tx pgx.Tx, names []string) error {
	_, err := tx.Exec(ctx, `
		WITH gone AS (DELETE FROM iasql_internal.resource_type WHERE name = ANY ($1) RETURNING name)
		DELETE FROM iasql_internal.module m USING gone WHERE m.name = gone.name`, names)
	return err
}
