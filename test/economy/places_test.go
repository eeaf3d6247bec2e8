package economy

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/testaws"
)

// An account whose calls are never answered has one place of all the engines' together: that of the cycle that waits for
// the answer. Others of its cycles, which are queued again and again, do not wait for that one in a place, and come when
// it has ended.
func TestHangingAccountHasOnePlace(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	hanging := testaws.NewAccount(t)
	var hangs, held atomic.Int64
	release := make(chan struct{})
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if accountOf(c) != hanging.ID || hangs.Load() == 0 {
			return faultproxy.Fault{}
		}
		held.Add(1)
		defer held.Add(-1)
		<-release
		return faultproxy.Fault{Cut: true}
	})
	heal := func() {
		if hangs.Swap(0) == 1 {
			close(release)
		}
	}
	t.Cleanup(heal) // before the proxy ends, which waits for calls
	for range 3 {
		w.Serve()
	}
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(fmt.Sprintf(`INSERT INTO aws_account (name, account_id, access_key_id, secret_access_key) VALUES ('hanging', '%s', '%s', '%s')`,
		hanging.ID, hanging.AccessKeyID, hanging.SecretAccessKey))
	w.Becomes(fleetPatience, "1", `SELECT count(*) FROM aws_regions WHERE account = 'hanging' AND region = 'us-east-1'`)
	w.PSQL(`UPDATE aws_regions SET is_enabled = true WHERE account = 'hanging' AND region = 'us-east-1'`,
		`INSERT INTO queue (account, region, name) VALUES ('hanging', 'us-east-1', 'slow'), ('default', 'us-east-1', 'quick')`,
		`SELECT iasql_wait_for_all(60)`)

	hangs.Store(1)
	w.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'slow'`)
	w.Eventually(fleetPatience, "a call to hang", func() bool { return held.Load() > 0 })
	const running = ` FROM iasql_river.river_job WHERE state = 'running' AND queue = 'iasql' AND args ->> 'account' = 'hanging'`
	// Each of these is taken by an engine that is free.
	for _, kind := range []string{"push", "sync", "push", "sync", "push", "sync"} {
		w.Admin(`SELECT iasql_internal.enqueue('` + kind + `', 'hanging')`)
	}
	w.Eventually(fleetPatience, "all but the cycle that hangs to give way", func() bool {
		return w.Admin(`SELECT count(*)`+running) == "1" && w.Admin(`SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind)
			FROM iasql_river.river_job WHERE state = 'scheduled' AND args ->> 'account' = 'hanging'`) == "push sync"
	})
	w.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'quick'`)
	w.Becomes(fleetPatience, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled AND account = 'default'`)
	if held.Load() == 0 {
		t.Error("no call hangs any more")
	}

	begun := w.Admin(`SELECT clock_timestamp()`)
	heal()
	w.Becomes(fleetPatience, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.Becomes(fleetPatience, "t", `SELECT count(*) > 0 FROM iasql_cycles WHERE account = 'hanging' AND kind = 'full' AND ended IS NOT NULL AND message IS NULL AND started > '`+begun+`'`)
	if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'slow'`); strings.TrimSpace(got) != "5" {
		t.Errorf("the edit that waited became %s", got)
	}
}
