package postgres

import (
	"context"
	"fmt"
	"time"
)

// Rest returns how long a full cycle of the account took that ended not long ago and took
// longer than the interval of the schedule, and than the ten seconds that listings are apart
// anyway: 0 if there was none, and as much time has passed since as it took.
func (db *Database) Rest(ctx context.Context, account string) (time.Duration, error) {
	var seconds float64
	err := db.Pool.QueryRow(ctx, `
		SELECT coalesce(max(extract(epoch FROM ended - started)), 0)::double precision
		FROM (SELECT started, ended FROM public.iasql_cycles WHERE account = $1 AND kind = 'full' AND ended IS NOT NULL ORDER BY ended DESC LIMIT 20) c
		WHERE ended - started > greatest(iasql_internal.setting('sync_interval')::interval, interval '10 seconds')
			AND clock_timestamp() BETWEEN ended AND ended + (ended - started)`, account).Scan(&seconds)
	if err != nil {
		return 0, fmt.Errorf("read how long the last cycles took: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
