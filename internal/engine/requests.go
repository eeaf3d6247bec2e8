package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
)

type requestArgs struct {
	Request int64 `json:"request"`
}

// Kind implements river.JobArgs; iasql_internal.submit inserts these jobs.
func (requestArgs) Kind() string { return "request" }

// workRequest answers a request of a blocking SQL function. River may run a job twice:
// "this can result in repeat or duplicate execution of a job" (River v0.51.1, client.go,
// Config.RescueStuckJobsAfter). So the row of the request says whether somebody has begun.
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
	if kind == "preview" || kind == "sync" || kind == "types" {
		if gone, err := e.askerHasGone(ctx, args); err != nil {
			return err
		} else if gone {
			_, err := e.pool.Exec(ctx, `UPDATE iasql_internal.request SET ended = clock_timestamp(), error = '{"message": "who asked has gone"}' WHERE id = $1`, job.Args.Request)
			return err
		}
	}
	return e.work(ctx, job.Args.Request, kind, args)
}

// askerHasGone reports whether the session has ended that waits for the answer to a request that changes nothing. (If
// another has got its process id, the answer is made for nobody.)
func (e *Engine) askerHasGone(ctx context.Context, args json.RawMessage) (gone bool, err error) {
	var asker struct {
		PID *int32 `json:"asker"`
	}
	if err := json.Unmarshal(args, &asker); err != nil || asker.PID == nil {
		return false, err
	}
	err = e.pool.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM pg_stat_get_activity($1))`, *asker.PID).Scan(&gone)
	return gone, err
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
	_, err = e.pool.Exec(context.WithoutCancel(ctx),
		`UPDATE iasql_internal.request SET ended = clock_timestamp(), result = $2, error = $3 WHERE id = $1 AND ended IS NULL`,
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
	return nil, &platform.UserError{Code: "IA013", Message: "this engine does not know the request " + kind,
		Hint: "Upgrade the engine: it is older than the database."}
}

type moduleArgs struct {
	Modules []string `json:"modules"`
}

type installedTable struct {
	Module string `json:"module_name"`
	Table  string `json:"created_table_name"`
	Count  int64  `json:"record_count"`
}

// installation is the answer to an install.
type installation struct {
	Tables   []installedTable `json:"tables"`
	Warnings []problem        `json:"warnings,omitempty"`
}

func (e *Engine) install(ctx context.Context, request int64, raw json.RawMessage) (any, error) {
	var args moduleArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	compositions, names, err := platform.Compositions(ctx, e.pool, args.Modules)
	if err != nil {
		return nil, err
	}
	composed, needs, err := e.composed(compositions)
	if err != nil {
		return nil, err
	}
	answer, err := e.installModules(ctx, request, append(names, needs...))
	if err != nil {
		return nil, err
	}
	for _, c := range composed {
		made, err := platform.InstallComposition(ctx, e.pool, c)
		if err != nil {
			return nil, err
		}
		if made {
			answer.Tables = append(answer.Tables, installedTable{Module: c.Name, Table: c.Name})
		}
	}
	return answer, nil
}

// composed returns the compositions of these names that the engine brings, and which modules they need.
func (e *Engine) composed(names []string) (list []*modules.Composition, needs []string, err error) {
	for _, name := range names {
		c := e.registry.Composition(name)
		if c == nil {
			return nil, nil, &platform.UserError{Code: "IA016", Message: fmt.Sprintf(
				"composition %s is installed already, from a folder", name),
				Hint: "engine compose install installs what is in a folder."}
		}
		list, needs = append(list, c), append(needs, c.Needs...)
	}
	return list, needs, nil
}

// installModules installs modules and resource types, and imports what the cloud has.
func (e *Engine) installModules(ctx context.Context, request int64, names []string) (answer installation, err error) {
	answer.Tables = []installedTable{}
	ours, types := e.split(names)
	made, err := platform.Install(ctx, e.pool, e.registry, ours)
	if err != nil {
		return answer, err
	}
	theirTypes, err := e.installTypes(ctx, request, types)
	if err != nil {
		return answer, err
	}
	maps.Copy(made, theirTypes)
	if len(made) > 0 {
		if err := e.relate(ctx); err != nil {
			return answer, fmt.Errorf("refer to new tables: %w", err)
		}
	}
	// An import that failed is made up for by installing the module again.
	if err := e.addNeverRead(ctx, ours, made); err != nil {
		return answer, err
	}
	if len(made) == 0 {
		return answer, nil
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
		if _, err := e.syncAll(ctx, postgres.CycleOptions{Only: regions}, ofTheirs); err != nil {
			return answer, err
		}
	}
	// What has never been listed is due.
	if answer.Warnings, err = e.syncAll(ctx, postgres.CycleOptions{Sparing: true}, ofTheirs); err != nil {
		return answer, err
	}
	for _, m := range e.registry.Modules() {
		for _, table := range made[m.Name] {
			t := installedTable{Module: m.Name, Table: table}
			if err := e.pool.QueryRow(ctx,
				`SELECT count(*) FROM `+pgx.Identifier{"public", table}.Sanitize()).Scan(&t.Count); err != nil {
				return answer, err
			}
			answer.Tables = append(answer.Tables, t)
		}
	}
	return answer, nil
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
	compositions, names, err := platform.Compositions(ctx, e.pool, args.Modules)
	if err != nil {
		return nil, err
	}
	all := []platform.Dropped{}
	for _, name := range compositions {
		dropped, err := platform.UninstallComposition(ctx, e.pool, name)
		if err != nil {
			return nil, err
		}
		all = append(all, dropped)
	}
	if len(names) == 0 {
		return all, nil
	}
	ours, types := e.split(names)
	types, err = e.installedTypes(ctx, types)
	if err != nil {
		return nil, err
	}
	dropped, err := platform.Uninstall(ctx, e.pool, e.registry, append(ours, types...))
	return append(all, dropped...), err
}
