package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// What iasql_sync_now and iasql_install read: all accounts anew, and what of it could not be read.

type syncNowArgs struct {
	Tables []string `json:"tables"`
}

// syncNow runs a full cycle of every account, of those tables or of all.
func (e *Engine) syncNow(ctx context.Context, raw json.RawMessage) (any, error) {
	var args syncNowArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	warnings, err := e.syncAll(ctx, postgres.CycleOptions{Only: args.Tables}, func(table string) bool {
		return len(args.Tables) == 0 || slices.Contains(args.Tables, table)
	})
	return map[string]any{"warnings": warnings}, err
}

// syncAll runs a full cycle of every account of the worlds that are asked about, as the options say, some at a
// time, and returns what it could not read of the tables that are asked about, or give a record: everything else
// has been read. It fails if there is no account of which anything could be read; that one of them is silent, or
// held, is told with the rest. A service that need not be there is no failure, nor are regions that may not be
// read: the view iasql_listings shows them.
func (e *Engine) syncAll(ctx context.Context, options postgres.CycleOptions,
	asked func(table string) bool) (warnings []problem, err error) {
	options.Waited = true
	tables, err := e.askedTables(ctx, options, asked)
	if err != nil {
		return nil, err
	}
	accounts, err := e.accountsOf(ctx, tables)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		warnings []error
		failure  error // nothing could be read
	}
	outcomes := make([]outcome, len(accounts))
	group, reading := errgroup.WithContext(ctx)
	for i, account := range accounts {
		group.Go(func() error {
			select {
			case e.waited <- struct{}{}:
				defer func() { <-e.waited }()
			case <-reading.Done():
				return reading.Err()
			}
			out := &outcomes[i]
			out.warnings, out.failure = e.syncAccount(reading, account.Name, options, tables[account.Provider])
			return context.Cause(ctx)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var first error
	failed := 0
	for _, out := range outcomes {
		if out.failure != nil {
			failed++
			first = cmp.Or(first, out.failure)
			if len(out.warnings) == 0 {
				out.warnings = []error{out.failure}
			}
		}
		for _, warning := range out.warnings {
			warnings = append(warnings, describe(warning))
		}
	}
	if failed > 0 && failed == len(accounts) {
		return nil, first
	}
	return warnings, nil
}

// syncAccount runs a full cycle of an account, and returns what of the tables could not be read, and why, if nothing
// could.
func (e *Engine) syncAccount(ctx context.Context, account string, options postgres.CycleOptions,
	tables map[string]bool) (warnings []error, failure error) {
	report, err := e.runCycle(ctx, account, store.Full, options, nil)
	if err != nil {
		return nil, fmt.Errorf("cycle of account %s: %w", account, err)
	}
	if report.Held {
		return nil, heldError(account, report.Stopped)
	}
	failed := map[string]bool{} // tables
	var first error
	note := func(table string, err error, whole bool) {
		if err == nil || !tables[table] {
			return
		}
		if whole {
			failed[table] = true
			first = cmp.Or(first, err)
		}
		warnings = append(warnings, err)
	}
	for _, p := range report.Errors {
		whole, err := e.unread(p)
		note(p.Record.Table, err, whole)
	}
	denied, err := e.deniedEverywhere(ctx, account, func(table string) bool { return tables[table] })
	if err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(denied)) {
		note(table, denied[table], true)
	}
	if len(failed) > 0 && len(failed) >= len(tables) {
		return warnings, first
	}
	return warnings, nil
}

// askedTables returns the installed tables that are asked about, by their provider.
func (e *Engine) askedTables(ctx context.Context, options postgres.CycleOptions,
	asked func(table string) bool) (map[string]map[string]bool, error) {
	rows, err := e.pool.Query(ctx, `SELECT name FROM iasql_internal.managed_table WHERE NOT settings`)
	if err != nil {
		return nil, fmt.Errorf("read which tables there are: %w", err)
	}
	tables := map[string]map[string]bool{}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		t := e.registry.Table(name)
		if t == nil || !asked(name) || len(options.Only) > 0 && !slices.Contains(options.Only, name) {
			return nil
		}
		if tables[t.Provider] == nil {
			tables[t.Provider] = map[string]bool{}
		}
		tables[t.Provider][name] = true
		return nil
	})
	return tables, err
}

// provided is an account and what provides it.
type provided struct{ Name, Provider string }

// accountsOf returns the accounts that tables are of; all, if there are no tables.
func (e *Engine) accountsOf(ctx context.Context, tables map[string]map[string]bool) ([]provided, error) {
	rows, err := e.pool.Query(ctx, `
		SELECT name, provider FROM iasql_internal.account
		WHERE provider = ANY ($1) OR cardinality($1::text[]) = 0
		ORDER BY name`, slices.Collect(maps.Keys(tables)))
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[provided])
}

// unread returns the error of a problem that kept something from being read, nil for
// another, and whether that was a listing, and no single object.
func (e *Engine) unread(problem store.RecordError) (listing bool, err error) {
	var object *sync.ObjectError
	var stray *sync.StrayError
	switch {
	case errors.As(problem.Err, &stray): // everything has been read
		return false, nil
	case errors.As(problem.Err, &object):
		return false, &platform.UserError{Code: "IA013",
			Message: fmt.Sprintf("table %s in %s: %v", problem.Record.Table, problem.Scope, object),
			Hint:    "Everything else has been read. SELECT * FROM iasql_get_errors() shows every error."}
	case problem.Record.ID != 0, modules.NotPermitted(problem.Err): // see deniedEverywhere
		return false, nil
	}
	return true, e.couldNotRead(problem.Record.Table, problem.Scope, problem.Err.Error())
}

func (e *Engine) couldNotRead(table string, scope modules.Scope, why string) error {
	if t := e.registry.Table(table); t != nil && t.Optional {
		return nil
	}
	return &platform.UserError{Code: "IA013",
		Message: fmt.Sprintf("table %s could not be read in %s: %s", table, scope, why),
		Hint: "Check the account's credentials, the endpoint and the network; what could be read is in the " +
			"tables. SELECT * FROM iasql_get_errors() shows every error."}
}

// deniedEverywhere returns, by table, the errors of those that the engine may read in no region of
// the account.
func (e *Engine) deniedEverywhere(ctx context.Context, account string, asked func(table string) bool) (map[string]error,
	error) {
	rows, err := e.pool.Query(ctx, `
		SELECT DISTINCT ON (table_name) table_name, region, denied FROM iasql_internal.listing l
		WHERE account = $1 AND denied IS NOT NULL AND NOT partly
		  AND NOT EXISTS (SELECT FROM iasql_internal.listing o WHERE o.account = l.account AND o.table_name = l.table_name AND (o.denied IS NULL OR o.partly))
		ORDER BY table_name, region`, account)
	if err != nil {
		return nil, fmt.Errorf("read what is denied: %w", err)
	}
	var table, region, why string
	denied := map[string]error{}
	_, err = pgx.ForEachRow(rows, []any{&table, &region, &why}, func() error {
		if asked(table) {
			denied[table] = e.couldNotRead(table, modules.Scope{Account: account, Region: region}, why)
		}
		return nil
	})
	return denied, err
}
