package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
)

// database is where what sources bring is kept.
type database struct {
	pool   *pgxpool.Pool
	engine string
}

// toRead are the sources that are to be read.
const toRead = `
	SELECT s.account, s.name, coalesce(s.region, ''), coalesce(s.queue, ''), coalesce(s.bucket, ''), s.prefix, s.all_accounts
	FROM public.aws_event_source s JOIN iasql_internal.account a ON a.name = s.account
	WHERE s.is_enabled AND NOT EXISTS (SELECT FROM iasql_internal.world w WHERE w.account = s.account AND w.trouble IS NOT NULL)
		AND NOT EXISTS (SELECT FROM iasql_internal.moving m WHERE m.account = s.account)`

// sources returns the sources that are to be read.
func (d database) sources(ctx context.Context) ([]source, error) {
	var there bool
	if err := d.pool.QueryRow(ctx, `SELECT to_regclass('public.aws_event_source') IS NOT NULL`).Scan(&there); err != nil || !there {
		return nil, err
	}
	rows, err := d.pool.Query(ctx, toRead+` ORDER BY s.account, s.name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[source])
}

// source returns a source as it is to be read now, the zero one if it is not.
func (d database) source(ctx context.Context, of source) (source, error) {
	rows, err := d.pool.Query(ctx, toRead+` AND s.account = $1 AND s.name = $2`, of.Account, of.Name)
	if err != nil {
		return source{}, err
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[source])
	if errors.Is(err, pgx.ErrNoRows) {
		return source{}, nil
	}
	return s, err
}

// accounts returns the names of all accounts of AWS.
func (d database) accounts(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, `SELECT name FROM iasql_internal.account WHERE provider = $1 ORDER BY name`, aws.Provider)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// hold returns those of the sources that this engine reads: that it has read so far, or that
// nobody else reads. What is no source any more is forgotten, and what has become another one
// begins anew.
func (d database) hold(ctx context.Context, sources []source) (map[string]bool, error) {
	var accounts, names, regions, kinds, places []string
	for _, s := range sources {
		kind, place := "queue", s.Queue
		if s.Queue == "" {
			kind, place = "trail", s.Bucket+"/"+s.Prefix
		}
		accounts, names, regions, kinds, places = append(accounts, s.Account), append(names, s.Name),
			append(regions, s.Region), append(kinds, kind), append(places, place)
	}
	held := map[string]bool{}
	batch := &pgx.Batch{}
	// Most of the time nothing has changed, and nothing is written.
	const wanted = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) w (account, name, region, kind, place)`
	batch.Queue(`
		DELETE FROM iasql_internal.event_source s
		WHERE s.kind <> 'connection' AND NOT EXISTS (SELECT FROM `+wanted+
		` WHERE (w.account, w.name, w.region, w.kind, w.place) = (s.account, s.name, coalesce(s.region, ''), s.kind, s.place))`,
		accounts, names, regions, kinds, places)
	batch.Queue(`
		INSERT INTO iasql_internal.event_source (account, name, region, kind, place)
		SELECT w.account, w.name, nullif(w.region, ''), w.kind, w.place FROM `+wanted+`
		WHERE NOT EXISTS (SELECT FROM iasql_internal.event_source s WHERE s.account = w.account AND s.name = w.name)
		ON CONFLICT DO NOTHING`, accounts, names, regions, kinds, places)
	batch.Queue(`
		UPDATE iasql_internal.event_source s SET holder = $1, held_until = clock_timestamp() + make_interval(secs => $2)
		WHERE s.kind <> 'connection' AND CASE WHEN s.holder = $1 THEN s.held_until < clock_timestamp() + make_interval(secs => $2 / 2)
		      ELSE s.holder IS NULL OR s.held_until < clock_timestamp()
		           OR NOT EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = s.holder AND iasql_internal.engine_alive(n)) END`,
		d.engine, holdFor.Seconds())
	batch.Queue(`SELECT account, name FROM iasql_internal.event_source WHERE holder = $1 AND kind <> 'connection'`,
		d.engine).Query(func(rows pgx.Rows) error {
		var s source
		_, err := pgx.ForEachRow(rows, []any{&s.Account, &s.Name}, func() error {
			held[s.key()] = true
			return nil
		})
		return err
	})
	return held, d.pool.SendBatch(ctx, batch).Close()
}

// failed notes that a source does not answer.
func (d database) failed(ctx context.Context, s *source, why string) error {
	_, err := d.pool.Exec(ctx, `
		UPDATE iasql_internal.event_source SET error = $3
		WHERE account = $1 AND name = $2 AND error IS DISTINCT FROM $3`, s.Account, s.Name, why)
	return err
}

// beaten notes what came of the heartbeat.
func (d database) beaten(ctx context.Context, s *source, request, failure string) error {
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE iasql_internal.event_source SET beat = clock_timestamp(), beat_error = nullif($3, '') WHERE account = $1 AND name = $2`, s.Account, s.Name, failure)
	if request != "" {
		batch.Queue(`INSERT INTO iasql_internal.own_request (id) VALUES ($1) ON CONFLICT DO NOTHING`, request)
	}
	return d.pool.SendBatch(ctx, batch).Close()
}

// mayCall reports whether anything may be changed in the cloud at all.
func (d database) mayCall(ctx context.Context) (may bool, err error) {
	err = d.pool.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM public.iasql_mode WHERE table_name IS NULL AND mode IN ('TRACK', 'PAUSE'))`).Scan(&may)
	return may, err
}

// keep keeps what messages are worth, and queues cycles that look into it. It reports
// whether an event has ever come through the source.
func (d database) keep(ctx context.Context, s *source, h *batchOfEvents) (proven bool, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		events, doubles := 0, 0
		if len(h.kept) > 0 {
			queueEvents(batch, h.kept, &events)
			if err := tx.SendBatch(ctx, batch).Close(); err != nil {
				return fmt.Errorf("keep events: %w", err)
			}
			doubles = len(h.kept) - events
			batch = &pgx.Batch{}
		}
		queueCaughtUp(batch, s, h)
		// A quiet source writes its row every quarter of a minute at most.
		batch.Queue(`
			UPDATE iasql_internal.event_source SET
				answered = clock_timestamp(), error = NULL, behind = make_interval(secs => $3), heard = CASE WHEN $4 THEN clock_timestamp() ELSE heard END, proven = proven OR $4,
				events = events + $5, doubles = doubles + $6, foreign_ = foreign_ + $7, malformed = malformed + $8, dropped = dropped + $9,
				limited = CASE WHEN $9 > 0 THEN clock_timestamp() ELSE limited END
			WHERE account = $1 AND name = $2`,
			s.Account, s.Name, h.behind.Seconds(), len(h.regions) > 0, events, doubles, h.foreign,
			h.malformed, h.dropped)
		batch.Queue(`SELECT coalesce(bool_or(proven), false) FROM iasql_internal.event_source WHERE account = $1 AND name = $2`, s.Account, s.Name).
			QueryRow(func(row pgx.Row) error { return row.Scan(&proven) })
		return tx.SendBatch(ctx, batch).Close()
	})
	return proven, err
}

// queueEvents queues that events are kept that are new, with their hints about tables that
// are installed, and cycles that look into those.
func queueEvents(batch *pgx.Batch, list []kept, events *int) {
	var accounts, ids, regions, services, calls, requests, actors, sessions, addresses, agents []string
	var times []time.Time
	var hintAccounts, hintEvents, tables, places, columns, values []string
	var portions []string
	var existing []bool
	for _, k := range list {
		e := k.event
		accounts, ids, regions, services, calls = append(accounts, k.account), append(ids, e.ID),
			append(regions, e.Region), append(services, e.Source), append(calls, e.Name)
		requests, times = append(requests, e.RequestID), append(times, e.Time)
		actors, sessions = append(actors, e.Actor.String()), append(sessions, e.Actor.Person())
		addresses, agents = append(addresses, e.Actor.Address), append(agents, e.Actor.UserAgent)
		for _, h := range k.hints {
			hintAccounts, hintEvents, tables = append(hintAccounts, k.account), append(hintEvents, e.ID),
				append(tables, h.Table)
			places, columns, values, existing = append(places, h.Scope.Region), append(columns, h.Column),
				append(values, h.ID), append(existing, h.Known)
			portions = append(portions, string(h.Extent))
		}
	}
	batch.Queue(`
		WITH told AS (
			INSERT INTO iasql_internal.cloud_event (account, id, region, service, call, at, request_id, actor, actor_session, source_address, user_agent)
			SELECT e.account, e.id, e.region, e.service, e.call, e.at, nullif(e.request, ''), nullif(e.actor, ''), nullif(e.session, ''), nullif(e.address, ''), nullif(e.agent, '')
			FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
				e (account, id, region, service, call, at, request, actor, session, address, agent)
			ON CONFLICT DO NOTHING
			RETURNING account, id
		), hints AS (
			INSERT INTO iasql_internal.hint (account, event, table_name, region, column_name, value, existing, portion)
			SELECT h.account, h.event, h.table_name, h.region, nullif(h.column_name, ''), CASE WHEN h.column_name <> '' THEN h.value END, h.existing, nullif(h.portion, '')
			FROM unnest($12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::boolean[], $19::text[])
				h (account, event, table_name, region, column_name, value, existing, portion)
			JOIN told t ON t.account = h.account AND t.id = h.event
			JOIN iasql_internal.managed_table m ON m.name = h.table_name AND NOT m.settings
			RETURNING account
		), woken AS MATERIALIZED (
			SELECT iasql_internal.enqueue('push', w.account) FROM (SELECT DISTINCT account FROM hints ORDER BY 1) w
		)
		SELECT (SELECT count(*) FROM told) FROM (SELECT count(*) FROM woken) w`,
		accounts, ids, regions, services, calls, times, requests, actors, sessions, addresses, agents,
		hintAccounts, hintEvents, tables, places, columns, values, existing, portions).
		QueryRow(func(row pgx.Row) error { return row.Scan(events) })
}

// queueCaughtUp queues that accounts and regions were heard of.
func queueCaughtUp(batch *pgx.Batch, s *source, h *batchOfEvents) {
	var accounts, regions []string
	for of := range h.regions {
		accounts, regions = append(accounts, of[0]), append(regions, of[1])
	}
	if len(accounts) == 0 {
		return
	}
	batch.Queue(`
		INSERT INTO iasql_internal.event_source_region AS r (account, name, of_account, region)
		SELECT s.account, s.name, h.account, h.region FROM unnest($3::text[], $4::text[]) h (account, region), iasql_internal.event_source s
		WHERE s.account = $1 AND s.name = $2 ORDER BY h.account, h.region
		ON CONFLICT (account, name, of_account, region) DO UPDATE SET heard = excluded.heard WHERE r.heard < excluded.heard - interval '1 minute'`,
		s.Account, s.Name, accounts, regions)
}

// mark returns up to when a trail's files have been read, "" if none have.
func (d database) mark(ctx context.Context, s *source) (mark string, err error) {
	err = d.pool.QueryRow(ctx, `SELECT coalesce(max(mark), '') FROM iasql_internal.event_source WHERE account = $1 AND name = $2`, s.Account, s.Name).Scan(&mark)
	return mark, err
}

// setMark notes up to when a trail's files have been read.
func (d database) setMark(ctx context.Context, s *source, mark string) error {
	_, err := d.pool.Exec(ctx, `UPDATE iasql_internal.event_source SET mark = $3 WHERE account = $1 AND name = $2`,
		s.Account, s.Name, mark)
	return err
}
