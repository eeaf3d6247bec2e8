package postgres

import (
	"context"
	"fmt"
	"time"

	"iasql/internal/decide"
)

// A record that backs off has the time of its next attempt in next_attempt_at, by
// the server's clock; 'infinity' is for one that waits for a person. How long a
// record backs off is for package decide to say.

// nextAttempt computes next_attempt_at of the expressions of the backoff in
// seconds and of review; a record that needs a person and has no backoff is not
// tried again.
func nextAttempt(backoff, review string) string {
	return fmt.Sprintf(`CASE WHEN %s > 0 THEN clock_timestamp() + make_interval(secs => %s) WHEN %s THEN 'infinity'::timestamptz ELSE now() END`, backoff, backoff, review)
}

// putBack tells that an attempt was planned before the server's clock was put back.
func putBack(clock string) string {
	return fmt.Sprintf(`(next_attempt_at > %s + interval '%d seconds' AND next_attempt_at < 'infinity')`, clock,
		int(decide.LongestBackoff.Seconds()))
}

// dueNow tells whether the time of next_attempt_at has come.
var dueNow = `(next_attempt_at <= now() OR ` + putBack("now()") + `)`

// NextAttempt returns how long it is until a record of the account that backs off, an
// intent in doubt, a hint that is to be looked into, or what a database that has gone back asks
// for again (R30), is due, and whether there is one.
// Records that a batch has staged are that batch's to look after.
func (d *Database) NextAttempt(ctx context.Context, account string) (wait time.Duration, waits bool, err error) {
	var seconds *float64
	err = d.Pool.QueryRow(ctx, `
		SELECT extract(epoch FROM min(at) - clock_timestamp())::double precision FROM (
			SELECT min(CASE WHEN `+putBack("clock_timestamp()")+` THEN clock_timestamp() ELSE next_attempt_at END) AS at
			FROM (SELECT account, table_name, record_id, next_attempt_at FROM iasql_internal.record_state
			      UNION ALL SELECT account, table_name, record_id, next_attempt_at FROM iasql_internal.garbage) waiting
			WHERE account = $1 AND next_attempt_at < 'infinity'
			  AND NOT EXISTS (SELECT FROM iasql_internal.staged s WHERE s.record_id = waiting.record_id AND s.table_name = waiting.table_name)
			UNION ALL
			SELECT min(due) FROM iasql_internal.hint WHERE account = $1 AND due IS NOT NULL
			UNION ALL
			SELECT clock_timestamp() + min(greatest(make_interval(secs => `+window+` - greatest(coalesce($2 - elapsed, 0), 0)), '1 second'))
			FROM public.iasql_operations WHERE account = $1 AND ended IS NULL AND kind <> 'call'
			UNION ALL
			SELECT i.went_back_at + make_interval(secs => 2 * `+window+`) + interval '0.1 seconds'
			FROM iasql_internal.server_seen i
			WHERE i.restored_at IS NULL AND clock_timestamp() < i.went_back_at + make_interval(secs => 2 * `+window+`)
			  AND EXISTS (SELECT FROM public.iasql_audit_log l WHERE NOT l.settled AND l.account = $1 AND l.id <= i.went_back_audit)
		) due`, account, d.clocks.now(account)).Scan(&seconds)
	if err != nil || seconds == nil {
		return 0, false, err
	}
	return time.Duration(*seconds * float64(time.Second)), true, nil
}
