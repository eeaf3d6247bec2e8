package cells

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
)

// atOnce is how many cells are asked at the same time.
const atOnce = 32

// Account is an account as its cell describes it.
type Account struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`
	Identity *string    `json:"identity"`  // who it is pinned as; nil until it was first asked
	LastSeen *time.Time `json:"last_seen"` // all of it was looked at then or later; nil: something never was
	Held     *string    `json:"held"`      // why nothing is pushed to it; nil if it is
}

// elsewhere tells whether the account is another cell's, though this one has rows of it: it is about to arrive, or has
// left (iasql_internal.moving, as sql/views/iasql_worlds.sql tells it to readers).
func (a Account) elsewhere() bool {
	return a.Held != nil && (strings.HasPrefix(*a.Held, "it is moving here from cell ") ||
		strings.HasPrefix(*a.Held, "it has moved to cell "))
}

// Answer is what a cell has said, or why it said nothing.
type Answer struct {
	Cell      string     `json:"cell"`
	State     State      `json:"state"`
	Trouble   string     `json:"trouble,omitempty"` // why it did not answer; empty if it did
	Version   string     `json:"version,omitempty"` // of the engine that last migrated it
	Accounts  []Account  `json:"accounts"`
	Tables    int        `json:"tables"`     // managed tables
	Records   int64      `json:"records"`    // in all managed tables, as PostgreSQL's statistics estimate
	LastCycle *time.Time `json:"last_cycle"` // when the newest cycle that has ended did so
	Took      float64    `json:"seconds"`    // until it had answered
}

// Fleet is what all cells have said.
type Fleet struct {
	Cells   []Answer  `json:"cells"`
	Doubled []Doubled `json:"doubled"`
}

// Doubled is an account that more than one cell has.
type Doubled struct {
	Kind     string   `json:"kind"`
	Identity string   `json:"identity"`
	Cells    []string `json:"cells"` // the one that had it first at the beginning
}

// Look asks every active cell side by side, waits for none longer than the deadline, and notes in
// the registry what they say. A cell that does not answer is in the result with its trouble. It
// fails only if the registry does.
func (r *Registry) Look(ctx context.Context, deadline time.Duration) (*Fleet, error) {
	cells, err := r.Cells(ctx)
	if err != nil {
		return nil, err
	}
	fleet := &Fleet{Cells: make([]Answer, len(cells)), Doubled: []Doubled{}}
	each(cells, func(i int, cell Cell) { fleet.Cells[i] = *ask(ctx, cell, deadline) })
	err = pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		if err := note(ctx, tx, fleet.Cells); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `SELECT kind, identity, cells FROM iasql_cells.doubled ORDER BY kind, identity`)
		doubled, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Doubled])
		fleet.Doubled = append(fleet.Doubled, doubled...)
		return err
	})
	return fleet, err
}

// each does something about all cells side by side.
func each(cells []Cell, do func(i int, cell Cell)) {
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, cell := range cells {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			do(i, cell)
		})
	}
	all.Wait()
}

// lookQuery needs no more rights than a reader has. The settings tables of an installation are no
// records.
const lookQuery = `
SELECT jsonb_build_object(
    'version', (SELECT public.iasql_version()),
    'tables', (SELECT count(*) FROM public.iasql_tables),
    'records', (SELECT coalesce(sum(coalesce(nullif(s.n_live_tup, 0), greatest(c.reltuples, 0)::bigint)), 0)
        FROM iasql_internal.managed_table m JOIN pg_class c ON c.relname = m.name
            AND c.relnamespace = 'public'::regnamespace
        LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE NOT m.settings),
    'last_cycle', (SELECT c.ended FROM public.iasql_cycles c WHERE c.ended IS NOT NULL ORDER BY c.started DESC LIMIT 1),
    'accounts', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', w.account, 'kind', w.kind,
            'identity', w.pinned_as, 'last_seen', w.last_seen, 'held', w.held) ORDER BY w.account), '[]')
        FROM public.iasql_worlds w))`

// ask asks one cell.
func ask(ctx context.Context, cell Cell, deadline time.Duration) *Answer {
	answer := &Answer{Cell: cell.Name, State: cell.State, Accounts: []Account{}}
	if cell.State == Lost {
		answer.Trouble = "marked lost: not asked"
		return answer
	}
	began := time.Now()
	err := asked(ctx, cell, deadline, func(ctx context.Context, conn *pgx.Conn) error {
		var said []byte
		if err := conn.QueryRow(ctx, lookQuery).Scan(&said); err != nil {
			return err
		}
		return json.Unmarshal(said, answer)
	})
	answer.Took = time.Since(began).Seconds()
	if err != nil {
		answer.Trouble = trouble(err, deadline)
	}
	return answer
}

// asked runs queries in a cell, in one read-only transaction, for as long as the deadline lets it.
func asked(ctx context.Context, cell Cell, deadline time.Duration,
	query func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	config, err := pgx.ParseConfig(cell.Connection)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = "iasql cells"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		// A cell that no longer answers is not said good-bye to.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, postgres.PinSearchPath+fmt.Sprintf(
		`SET statement_timeout = %d; BEGIN READ ONLY`, deadline.Milliseconds())); err != nil {
		return err
	}
	return query(ctx, conn)
}

// trouble says in one line why a cell has not answered.
func trouble(err error, deadline time.Duration) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", deadline)
	case !errors.As(err, &pg):
	case slices.Contains([]string{pgerrcode.UndefinedTable, pgerrcode.UndefinedFunction,
		pgerrcode.InvalidSchemaName}, pg.Code):
		return text + " (it is no installation: engine migrate makes it one)"
	case pg.Code == pgerrcode.InvalidPassword:
		return text + " (check the password file, PGPASSFILE or ~/.pgpass)"
	case pg.Code == pgerrcode.InsufficientPrivilege:
		return text + " (GRANT iasql_reader to the login, and CONNECT on the database)"
	}
	return text
}
