package hostcontainers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// The calls of which the journal tells whether a container could be made and changed.
const (
	containerNoun = "Container"
	actionCreate  = "Create" + containerNoun
	actionChange  = "Change" + containerNoun
)

// recoveryTable says what is to be done about containers that fail again and again. How often one has failed is not in
// it: the journal, iasql_operations, has that.
var recoveryTable = &modules.Table{
	Name: "host_recovery",
	Doc: "What is done about containers of a host that cannot be started, made or changed, after so many failures in " +
		"succession. Of several patterns that name a container the longest counts, alone. Without a row it is tried " +
		"again, less and less often.",
	Provider: hosts.Provider,
	Columns: []modules.Column{
		hosts.AccountColumn(),
		{Name: "pattern", Type: modules.TypeText, Required: true, Identity: true,
			Check: `pattern <> '' AND pattern !~ '[[:cntrl:]/]' AND octet_length(pattern) <= 255`,
			Doc: "The containers, by name: * stands for any characters and ? for one. What it names has to be named " +
				"by host_scope, too."},
		{Name: "after", Type: modules.TypeInteger, Required: true, Identity: true,
			Check: "after BETWEEN 1 AND 1000",
			Doc: "After how many failures in succession. They are counted anew after a success, and after a change " +
				"of the container's row. That a host cannot be reached is no failure."},
		{Name: "action", Type: modules.TypeText, Required: true, Enum: hosts.RecoverActions,
			Doc: "retry: it is tried again, less and less often. restart_runtime: the unit docker.service or " +
				"podman.service is restarted once, with what that does to the other containers, and it is tried " +
				"again; no row of host_scope has to name the unit. reboot: the host is rebooted once, if its " +
				"may_reboot allows it. ask: it is not tried again before somebody changes its row or calls " +
				"iasql_retry; a retry that fails asks again."},
	},
}

// Querier is what [LoadRecovery] needs of a pool or a connection.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// LoadRecovery returns a function that reads what host_recovery says of a container, and what the journal says of its
// last failures: those after its last success and after the last change of its row by a user. A restart and a reboot
// count, for whichever container of the host they were made.
func LoadRecovery(db Querier) func(ctx context.Context, host, container string) (hosts.Recovery, error) {
	return func(ctx context.Context, host, container string) (hosts.Recovery, error) {
		var r hosts.Recovery
		err := db.QueryRow(ctx, `
			WITH tries AS (
				SELECT o.id, o.result, split_part(o.error, ':', 1) AS code
				FROM public.host_container AS c
				JOIN public.iasql_operations AS o ON o.table_name = 'host_container' AND o.record_id = c.id
				WHERE c.account = $1 AND c.name = $2 AND o.action = ANY ($3) AND o.ended IS NOT NULL
					AND o.up_to >= (SELECT coalesce(max(l.id), 0) FROM public.iasql_audit_log AS l
						WHERE l.table_name = 'host_container' AND l.record_id = c.id AND l.origin = 'user'
							AND l.change_type IN ('INSERT', 'UPDATE'))
			), failures AS (
				SELECT t.id FROM tries AS t
				WHERE t.result = 'failed' AND t.code = ANY ($4)
					AND t.id > (SELECT coalesce(max(s.id), 0) FROM tries AS s WHERE s.result = 'ok')
			), steps AS (
				SELECT o.action FROM public.iasql_operations AS o
				WHERE o.account = $1 AND o.action IN ($5, $6) AND o.id > (SELECT min(f.id) FROM failures AS f)
			)
			SELECT (SELECT count(*) FROM failures),
				(SELECT count(*) FROM steps WHERE action = $5), (SELECT count(*) FROM steps WHERE action = $6),
				(SELECT coalesce(jsonb_agg(jsonb_build_object('After', r.after, 'Action', r.action)
					ORDER BY r.after), '[]')
				 FROM public.host_recovery AS r
				 WHERE r.account = $1 AND r.pattern = (SELECT p.pattern FROM public.host_recovery AS p
					WHERE p.account = $1 AND $2 ~ iasql_internal.host_pattern(p.pattern)
					ORDER BY length(p.pattern) DESC, p.pattern LIMIT 1))`,
			host, container, []string{actionCreate, actionChange},
			[]string{hosts.CodeStart, hosts.CodeRuntime, codeAsk}, hosts.ActionRestartRuntime,
			hosts.ActionReboot,
		).Scan(&r.Failures, &r.Restarts, &r.Reboots, &r.Rungs)
		if err != nil {
			return hosts.Recovery{}, fmt.Errorf("load what is to be done after failures of container %s of host %s: %w",
				container, host, err)
		}
		return r, nil
	}
}

// codeAsk is the code of a failure after which a person is asked.
const codeAsk = "Ask"

// recovered takes the step that is due once a container could not be made or changed, and returns the error with what
// has become of that. Other errors it returns as they are.
func (r *containerResource) recovered(ctx context.Context, m *modules.Mutation, name string, err error) error {
	var failed *modules.Error
	if !errors.As(err, &failed) || !hosts.Recoverable(failed) {
		return err
	}
	host := m.Scope.Account
	known, unknown := r.hosts.RecoveryOf(ctx, host, name)
	if unknown != nil {
		return fmt.Errorf("%w; and %w", err, unknown)
	}
	told := *failed
	step := ""
	switch known.Step() {
	case hosts.RecoverAsk:
		told.Class, told.Code = modules.Invalid, codeAsk
		step = fmt.Sprintf("to ask: it is not tried again before its row is changed, or SELECT "+
			"iasql_retry('host_container', id) FROM host_container WHERE account = '%s' AND name = '%s'",
			strings.ReplaceAll(host, "'", "''"), name)
	case hosts.RecoverRuntime:
		unit, err := r.hosts.RestartRuntime(ctx, m)
		step = "to restart what runs it: " + unit + " was restarted"
		if err != nil {
			step = fmt.Sprintf("to restart what runs it, which has failed: %v", err)
		}
	case hosts.RecoverReboot:
		step = "to reboot it, which has begun"
		if err := r.hosts.Reboot(ctx, m); err != nil {
			step = fmt.Sprintf("to reboot it, which has failed: %v", err)
		}
	default:
		return err
	}
	told.Message += fmt.Sprintf(". It has failed %d times in succession, and host_recovery says %s", known.Failures+1,
		step)
	return &told
}
