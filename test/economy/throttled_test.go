package economy

import (
	"flag"
	"fmt"
	"testing"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

var throttled = flag.Int("throttled", 26, "how many objects there are of each kind at documented rates")

// An account is imported within what AWS documents of its rates: hardly a call is refused,
// and the first cycle reads everything.
func TestThrottled(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	rates := &likeness.Rates{}
	l := likeness.Start(t, w.AWS.Endpoint, rates)
	w.Endpoint = l.URL
	all := populate(t, w, *throttled)
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	n, list := calls(l.Proxy, func() { w.Install([]string{"us-east-1"}, holders...) })
	t.Logf("an import of %d objects of each kind: %d calls: %s", *throttled, n, list)
	made, refused := rates.Share()
	t.Logf("%d calls, %.1f%% refused: %v", made, 100*refused, rates.Refused())
	if refused > 0.05 {
		t.Errorf("%.1f%% of %d calls were refused: %v", 100*refused, made, rates.Refused())
	}
	for _, k := range all {
		if got := w.PSQL(`SELECT count(*) FROM ` + k.table); got != fmt.Sprint(k.count(*throttled)) {
			t.Errorf("%s of %d objects of kind %s were read", got, k.count(*throttled), k.name)
		}
	}
	// The emulator has no public repositories.
	if got := w.PSQL(`SELECT * FROM iasql_get_errors() WHERE table_name NOT LIKE 'public_repository%'`); got != "" {
		t.Errorf("the import has the errors %s", got)
	}
}
