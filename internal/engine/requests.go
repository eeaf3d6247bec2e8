package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

type requestArgs struct {
	Request int64 `json:"request"`
}

// Kind implements river.JobArgs; iasql_internal.submit inserts these jobs.
func (requestArgs) Kind() string { return "request" }

// workRequest answers a request of a blocking SQL function.
func (e *Engine) workRequest(ctx context.Context, job *river.Job[requestArgs]) error {
	if !e.requests.begin(job.Args.Request) {
		return nil
	}
	defer e.requests.end(job.Args.Request)
	var kind string
	var args json.RawMessage
	err := e.pool.QueryRow(ctx, `
		WITH taken AS (
			SELECT id, kind, args FROM iasql_internal.request WHERE id = $1 AND started IS NULL FOR UPDATE
		)
		UPDATE iasql_internal.request r
		SET started = clock_timestamp(), engine = $2,
		    args = CASE r.kind WHEN 'call' THEN r.args - 'arguments' ELSE r.args END -- which may be secrets, such as a private key
		FROM taken t WHERE r.id = t.id
		RETURNING t.kind, t.args`,
		job.Args.Request, e.id).Scan(&kind, &args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read request %d: %w", job.Args.Request, err)
	}
	return e.work(ctx, job.Args.Request, kind, args)
}

// work answers a request, unless that has to go on later.
func (e *Engine) work(ctx context.Context, request int64, kind string, args json.RawMessage) (err error) {
	var result any
	failure := e.learnTypes(ctx)
	if failure == nil {
		result, failure = e.answer(ctx, request, kind, args)
	}
	if failure != nil && (kind == "commit" || kind == "revert") && e.goesOn(ctx, request, failure) {
		e.log.WarnContext(ctx, "a batch goes on later", withCycle(failure, "request", request, "kind", kind)...)
		return nil
	}
	e.requests.forget(request)
	var text, problem []byte
	if failure == nil {
		if text, err = json.Marshal(result); err != nil {
			failure = err
		}
	}
	if failure != nil {
		e.log.WarnContext(ctx, "request failed", withCycle(failure, "request", request, "kind", kind)...)
		if problem, err = json.Marshal(describe(failure)); err != nil {
			return err
		}
	}
	_, err = e.pool.Exec(context.WithoutCancel(ctx), `UPDATE iasql_internal.request SET ended = clock_timestamp(), result = $2, error = $3 WHERE id = $1 AND ended IS NULL`,
		request, text, problem)
	return err
}

type problem struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

func describe(err error) problem {
	var user *platform.UserError
	if errors.As(err, &user) {
		return problem{Code: user.Code, Message: err.Error(), Hint: user.Hint}
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return problem{Message: err.Error(), Detail: pg.Detail, Hint: pg.Hint}
	}
	return problem{Message: err.Error()}
}

func (e *Engine) answer(ctx context.Context, request int64, kind string, args json.RawMessage) (any, error) {
	switch kind {
	case "install":
		return e.install(ctx, request, args)
	case "types":
		return e.offered(ctx, args)
	case "uninstall":
		return e.uninstall(ctx, args)
	case "sync":
		return e.syncNow(ctx, args)
	case "preview", "commit", "revert":
		return e.answerBatch(ctx, request, kind, args)
	case "call":
		return e.call(ctx, request, args)
	}
	return nil, &platform.UserError{Code: "IA013", Message: "this engine does not know the request " + kind, Hint: "Upgrade the engine: it is older than the database."}
}

type moduleArgs struct {
	Modules []string `json:"modules"`
}

type installedTable struct {
	Module string `json:"module_name"`
	Table  string `json:"created_table_name"`
	Count  int64  `json:"record_count"`
}

func (e *Engine) install(ctx context.Context, request int64, raw json.RawMessage) (any, error) {
	var args moduleArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	ours, types := e.split(args.Modules)
	made, err := platform.Install(ctx, e.pool, e.registry, ours)
	if err != nil {
		return nil, err
	}
	theirTypes, err := e.installTypes(ctx, request, types)
	if err != nil {
		return nil, err
	}
	maps.Copy(made, theirTypes)
	if len(made) > 0 {
		if err := e.relate(ctx); err != nil {
			return nil, fmt.Errorf("refer to new tables: %w", err)
		}
	}
	// An import that failed is made up for by installing the module again.
	if err := e.addNeverRead(ctx, ours, made); err != nil {
		return nil, err
	}
	tables := []installedTable{}
	if len(made) == 0 {
		return tables, nil
	}
	theirs := map[string]bool{}
	for _, list := range made {
		for _, table := range list {
			theirs[table] = true
		}
	}
	var regions []string // what is listed by region needs them first
	for table := range theirs {
		if e.registry.Table(table).DefinesRegions {
			regions = append(regions, table)
		}
	}
	ofTheirs := func(table string) bool { return theirs[table] }
	if len(regions) > 0 {
		if err := e.syncAll(ctx, postgres.CycleOptions{Only: regions}, ofTheirs); err != nil {
			return nil, err
		}
	}
	// What has never been listed is due.
	if err := e.syncAll(ctx, postgres.CycleOptions{Sparing: true}, ofTheirs); err != nil {
		return nil, err
	}
	for _, m := range e.registry.Modules() {
		for _, table := range made[m.Name] {
			t := installedTable{Module: m.Name, Table: table}
			if err := e.pool.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{"public", table}.Sanitize()).Scan(&t.Count); err != nil {
				return nil, err
			}
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// addNeverRead adds to made what modules, and those they depend on, have of tables
// that the cloud has never been read for completely.
func (e *Engine) addNeverRead(ctx context.Context, names []string, made map[string][]string) error {
	closure, err := e.registry.Closure(names...)
	if err != nil {
		return err
	}
	var of []string
	for _, m := range closure {
		if made[m.Name] == nil {
			of = append(of, m.Name)
		}
	}
	rows, err := e.pool.Query(ctx, `
		SELECT t.module, t."table" FROM public.iasql_tables t JOIN iasql_internal.managed_table m ON m.name = t."table"
		WHERE t.module = ANY ($1) AND t.last_seen IS NULL AND NOT m.settings
		ORDER BY t."table"`, of)
	if err != nil {
		return err
	}
	var module, table string
	_, err = pgx.ForEachRow(rows, []any{&module, &table}, func() error {
		made[module] = append(made[module], table)
		return nil
	})
	return err
}

func (e *Engine) uninstall(ctx context.Context, raw json.RawMessage) (any, error) {
	var args moduleArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	ours, types := e.split(args.Modules)
	types, err := e.installedTypes(ctx, types)
	if err != nil {
		return nil, err
	}
	return platform.Uninstall(ctx, e.pool, e.registry, append(ours, types...))
}

type syncNowArgs struct {
	Tables []string `json:"tables"`
}

// syncNow runs a full cycle of every account, of those tables or of all.
func (e *Engine) syncNow(ctx context.Context, raw json.RawMessage) (any, error) {
	var args syncNowArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	return nil, e.syncAll(ctx, postgres.CycleOptions{Only: args.Tables}, func(table string) bool { return len(args.Tables) == 0 || slices.Contains(args.Tables, table) })
}

// syncAll runs a full cycle of every account, as the options say, and fails if one
// could not run or could not read something of the tables that are asked about, unless
// it is of a service that need not be there. That some regions may not be read is no
// failure: the view iasql_listings shows it.
func (e *Engine) syncAll(ctx context.Context, options postgres.CycleOptions, asked func(table string) bool) error {
	options.Waited = true
	accounts, err := e.accounts(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		report, err := e.runCycle(ctx, account, store.Full, options)
		if err != nil {
			return fmt.Errorf("cycle of account %s: %w", account, err)
		}
		for _, problem := range report.Errors {
			if asked(problem.Record.Table) {
				if err := e.unread(problem); err != nil {
					return err
				}
			}
		}
		if err := e.deniedEverywhere(ctx, account, asked); err != nil {
			return err
		}
	}
	return nil
}

// unread returns the error of a problem that kept something from being read, nil for
// another.
func (e *Engine) unread(problem store.RecordError) error {
	var object *sync.ObjectError
	var stray *sync.StrayError
	switch {
	case errors.As(problem.Err, &stray): // everything has been read
		return nil
	case errors.As(problem.Err, &object):
		return &platform.UserError{Code: "IA013",
			Message: fmt.Sprintf("table %s in %s: %v", problem.Record.Table, problem.Scope, object),
			Hint:    "Everything else has been read. SELECT * FROM iasql_get_errors() shows every error."}
	case problem.Record.ID != 0, modules.NotPermitted(problem.Err): // see deniedEverywhere
		return nil
	}
	return e.couldNotRead(problem.Record.Table, problem.Scope, problem.Err.Error())
}

func (e *Engine) couldNotRead(table string, scope modules.Scope, why string) error {
	if t := e.registry.Table(table); t != nil && t.Optional {
		return nil
	}
	return &platform.UserError{Code: "IA013",
		Message: fmt.Sprintf("table %s could not be read in %s: %s", table, scope, why),
		Hint:    "Check the account's credentials, the endpoint and the network; what could be read is in the tables. SELECT * FROM iasql_get_errors() shows every error."}
}

// deniedEverywhere returns an error if there is a table that the engine may read in no
// region of the account.
func (e *Engine) deniedEverywhere(ctx context.Context, account string, asked func(table string) bool) error {
	rows, err := e.pool.Query(ctx, `
		SELECT DISTINCT ON (table_name) table_name, region, denied FROM iasql_internal.listing l
		WHERE account = $1 AND denied IS NOT NULL AND NOT partly
		  AND NOT EXISTS (SELECT FROM iasql_internal.listing o WHERE o.account = l.account AND o.table_name = l.table_name AND (o.denied IS NULL OR o.partly))
		ORDER BY table_name, region`, account)
	if err != nil {
		return fmt.Errorf("read what is denied: %w", err)
	}
	var table, region, why string
	var failure error
	_, err = pgx.ForEachRow(rows, []any{&table, &region, &why}, func() error {
		if failure == nil && asked(table) {
			failure = e.couldNotRead(table, modules.Scope{Account: account, Region: region}, why)
		}
		return nil
	})
	return errors.Join(failure, err)
}
