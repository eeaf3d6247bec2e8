package watch

import (
	"context"
	"crypto/rand"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database is where what hosts say is kept.
type database struct {
	pool   *pgxpool.Pool
	engine string
}

// Of the sources of events a watch is one of this kind and name.
const kind, watchName = "connection", "watch"

// targets returns the hosts that are to be watched: that are confirmed, have scopes, and are not left alone.
func (d database) targets(ctx context.Context) ([]target, error) {
	var there bool
	if err := d.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('public.host') AND attname = 'is_watched' AND NOT attisdropped)`).
		Scan(&there); err != nil || !there { // the module is not installed, or not upgraded yet
		return nil, err
	}
	rows, err := d.pool.Query(ctx, `
		SELECT h.name, md5(coalesce(h.container_socket, '') || s.text)
		FROM public.host h JOIN iasql_internal.world w ON w.account = h.name AND w.identity IS NOT NULL AND w.trouble IS NULL
		JOIN (SELECT p.account, jsonb_agg(jsonb_build_array(p.kind, p.pattern) ORDER BY p.kind, p.pattern)::text AS text FROM public.host_scope p GROUP BY p.account) s
			ON s.account = h.name
		WHERE h.is_watched AND NOT EXISTS (SELECT FROM iasql_internal.moving m WHERE m.account = h.name)
		ORDER BY h.name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[target])
}

// hold returns those of the hosts that this engine watches: that it has watched so far, or that nobody else does. What
// is not to be watched any more is forgotten. heard are those that have said something since it was called last.
func (d database) hold(ctx context.Context, targets []target, heard []string) (map[string]bool, error) {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM iasql_internal.event_source WHERE kind = $2 AND account <> ALL ($1)`, names, kind)
	batch.Queue(`
		INSERT INTO iasql_internal.event_source (account, name, kind, place)
		SELECT a.name, $3, $2, '' FROM iasql_internal.account a
		WHERE a.name = ANY ($1) AND NOT EXISTS (SELECT FROM iasql_internal.event_source s WHERE s.account = a.name AND s.name = $3)
		ON CONFLICT DO NOTHING`, names, kind, watchName)
	// A row is written twice in the time that it is held for, and not whenever a host is heard of.
	batch.Queue(`
		UPDATE iasql_internal.event_source s SET holder = $1, held_until = clock_timestamp() + make_interval(secs => $2),
			answered = CASE WHEN s.account = ANY ($3) THEN clock_timestamp() ELSE s.answered END
		WHERE s.kind = $4 AND CASE WHEN s.holder = $1 THEN s.held_until < clock_timestamp() + make_interval(secs => $2 / 2)
		      ELSE s.holder IS NULL OR s.held_until < clock_timestamp()
		           OR NOT EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = s.holder AND iasql_internal.engine_alive(n)) END`,
		d.engine, holdFor.Seconds(), heard, kind)
	held := map[string]bool{}
	batch.Queue(`SELECT account FROM iasql_internal.event_source WHERE kind = $2 AND holder = $1`, d.engine, kind).
		Query(func(rows pgx.Rows) error {
			var name string
			_, err := pgx.ForEachRow(rows, []any{&name}, func() error {
				held[name] = true
				return nil
			})
			return err
		})
	return held, d.pool.SendBatch(ctx, batch).Close()
}

// failed notes why a host is not watched.
func (d database) failed(ctx context.Context, name, why string) error {
	_, err := d.pool.Exec(ctx, `
		UPDATE iasql_internal.event_source SET error = $2
		WHERE account = $1 AND kind = $3 AND error IS DISTINCT FROM $2`, name, why, kind)
	return err
}

// keep keeps what a host has said, and queues a cycle that looks into it. Of tables that are not installed nothing is
// kept.
func (d database) keep(ctx context.Context, name string, n hostNews) error {
	var tables, columns, values []string
	for h := range n.hints {
		tables, columns, values = append(tables, h.Table), append(columns, h.Column), append(values, h.Value)
	}
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		if len(tables) > 0 {
			batch.Queue(`
				WITH told AS (
					INSERT INTO iasql_internal.cloud_event (account, id, region, service, call, at)
					SELECT a.name, $2, '', 'host', 'changed', clock_timestamp() FROM iasql_internal.account a WHERE a.name = $1
					RETURNING account, id
				), hints AS (
					INSERT INTO iasql_internal.hint (account, event, table_name, region, column_name, value)
					SELECT t.account, t.id, h.table_name, '', nullif(h.column_name, ''), CASE WHEN h.column_name <> '' THEN h.value END
					FROM unnest($3::text[], $4::text[], $5::text[]) h (table_name, column_name, value) CROSS JOIN told t
					JOIN iasql_internal.managed_table m ON m.name = h.table_name AND NOT m.settings
					RETURNING account
				)
				SELECT iasql_internal.enqueue('push', w.account) FROM (SELECT DISTINCT account FROM hints) w`,
				name, rand.Text(), tables, columns, values)
		}
		batch.Queue(`
			UPDATE iasql_internal.event_source SET
				answered = clock_timestamp(), error = nullif($3, ''), heard = CASE WHEN $4 > 0 THEN clock_timestamp() ELSE heard END, proven = true,
				events = events + $4, foreign_ = foreign_ + $5, malformed = malformed + $6, dropped = dropped + $7,
				limited = CASE WHEN $7 > 0 THEN clock_timestamp() ELSE limited END
			WHERE account = $1 AND kind = $2`, name, kind, n.lacking, len(tables), n.foreign, n.malformed, n.dropped)
		return tx.SendBatch(ctx, batch).Close()
	})
}
