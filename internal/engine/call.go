package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"iasql/internal/modules"
	"iasql/internal/platform"
)

// errorCall is the SQLSTATE of functions of modules that failed.
const errorCall = "IA030"

type callArgs struct {
	Function  string                     `json:"function"`
	Arguments map[string]json.RawMessage `json:"arguments"`
}

// call does what a function of a module does, once.
func (e *Engine) call(ctx context.Context, request int64, raw json.RawMessage) (any, error) {
	var args callArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	f := e.registry.Function(args.Function)
	if f == nil {
		return nil, &platform.UserError{Code: "IA013", Message: "this engine has no function " + args.Function,
			Hint: "Upgrade the engine: it is older than the database."}
	}
	t := e.registry.Table(f.Table)
	scope, given, err := f.Arguments(t, func(name string) json.RawMessage { return args.Arguments[name] })
	if err != nil {
		return nil, e.callError(f, err)
	}
	if err := e.identify(ctx, scope.Account, f.Acts()); err != nil {
		return nil, e.callError(f, err)
	}
	in := modules.Invocation{Scope: scope, Arguments: given}
	if f.Acts() {
		if err := e.endCalls(ctx); err != nil {
			return nil, err
		}
		in.Permit = &modules.Permit{Journal: &callJournal{engine: e, request: request, table: f.Table, scope: scope}}
	}
	below, end := e.span(ctx, "function "+f.Name, attribute.String("iasql.account", scope.Account),
		attribute.String("cloud.region", scope.Region),
		attribute.String("iasql.table", f.Table), attribute.Int64("iasql.request", request))
	rows, err := f.Call(below, in)
	end(err)
	if err != nil {
		return nil, e.callError(f, err)
	}
	if f.Acts() {
		// What it has made or changed is soon in the tables.
		if err := e.expect(ctx, f, scope.Account); err != nil {
			e.log.Warn("could not note what to look at", "account", scope.Account, "error", err)
		}
		if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.enqueue('sync', $1)`, scope.Account); err != nil {
			e.log.Warn("could not queue a cycle", "account", scope.Account, "error", err)
		}
	}
	return f.Rows(rows)
}

// expect has the tables of a function's module listed by the next full cycle, however
// seldom they change.
func (e *Engine) expect(ctx context.Context, f *modules.Function, account string) error {
	var tables []string
	for _, m := range e.registry.Modules() {
		if slices.ContainsFunc(m.Functions, func(o *modules.Function) bool { return o.Name == f.Name }) {
			for _, t := range m.Tables() {
				tables = append(tables, t.Name)
			}
		}
	}
	_, err := e.pool.Exec(ctx, `UPDATE iasql_internal.listing SET expected = clock_timestamp() WHERE account = $1 AND table_name = ANY ($2)`, account, tables)
	return err
}

// callError says what is to be done about a failure. Whatever it was, nothing is
// done again by itself.
func (e *Engine) callError(f *modules.Function, err error) error {
	var known *platform.UserError
	if errors.As(err, &known) {
		return err
	}
	var cloud *modules.Error
	if errors.As(err, &cloud) {
		err = cloud // without what the SDK says around it
	}
	failure := &platform.UserError{Code: errorCall, Message: fmt.Sprintf("%s: %v", f.Name, err)}
	switch modules.ClassOf(err) {
	case modules.MayHaveHappened:
		if f.Acts() {
			failure.Message += " (its outcome is unknown: it may have been done)"
			failure.Hint = "It is not done again by itself: look whether it was done before you call it again. " +
				"SELECT * FROM iasql_operations shows the call."
			break
		}
		failure.Hint = "Nothing was changed. Call it again."
	case modules.NotFound:
		failure.Hint = "Nothing was done. If it was inserted a moment ago, commit, SELECT iasql_wait_for_all(), and " +
			"call it again; the names, account and region must be right too."
	case modules.Invalid:
		failure.Hint = "Nothing was done. Correct the arguments."
	case modules.Denied:
		failure.Hint = "Nothing was done. The account's credentials must be allowed to do it"
		if _, accounts := e.registry.Accounts(e.registry.Table(f.Table).Provider); accounts != nil {
			failure.Hint += ": see " + accounts.Name
		}
		failure.Hint += "."
	case modules.ReadOnly:
		failure.Hint = "Nothing was done. This is a defect of the module: a function that only reads has tried to " +
			"change something."
	default:
		failure.Hint = "Nothing was done. Call it again later."
	}
	return failure
}

// endCalls closes the journal's lines of calls whose engine has gone, of which
// nobody knows what became, and forgets answers that have been given, which may
// be large and nobody else's business.
func (e *Engine) endCalls(ctx context.Context) error {
	if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.end_calls()`); err != nil {
		return fmt.Errorf("close the journal of calls: %w", err)
	}
	return nil
}

// callJournal is the journal of one call of a function: a line for every
// mutating call to the cloud, committed before it is made.
type callJournal struct {
	engine  *Engine
	request int64
	table   string
	scope   modules.Scope
}

// Begin implements [modules.Journal].
func (j *callJournal) Begin(ctx context.Context, call modules.Call) (func(error), error) {
	var id int64
	err := j.engine.pool.QueryRow(ctx, `
		INSERT INTO public.iasql_operations (cycle_id, account, region, table_name, kind, service, action, token)
		VALUES (0, $1, $2, $3, 'call', $4, $5, $6) RETURNING id`,
		j.scope.Account, j.scope.Region, j.table, call.Service, call.Action, strconv.FormatInt(j.request, 10)).Scan(&id)
	if err != nil {
		return nil, fmt.Errorf("journal the call: %w", err)
	}
	return func(failure error) {
		result, message := "ok", (*string)(nil)
		if failure != nil {
			text := failure.Error()
			result, message = "failed", &text
			if modules.ClassOf(failure) == modules.MayHaveHappened {
				result = "unknown"
			}
		}
		_, err := j.engine.pool.Exec(context.WithoutCancel(ctx),
			`UPDATE public.iasql_operations SET ended = clock_timestamp(), result = $2, error = $3 WHERE id = $1`, id,
			result, message)
		if err != nil {
			j.engine.log.Warn("could not note how a call ended", "operation", id, "error", err)
		}
	}, nil
}
