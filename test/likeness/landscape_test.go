package likeness

import (
	"fmt"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// compressed is by how much AWS's time is compressed for landscapes.
const compressed = 60

// landscape is what comes up by one transaction, and goes by another.
type landscape struct {
	regions  []string
	modules  []string
	up, down []string
	// there is a query that prints yes once everything is as wanted.
	there string
	// gone is a query that prints 0 once nothing is left.
	gone string
}

// try brings a landscape up and down on everything that is known of AWS, with nothing
// for a person to do.
func (s landscape) try(t *testing.T) (*harness.World, *likeness.Likeness) {
	t.Helper()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, compressed)...)
	w.Endpoint = l.URL
	w.Serve()
	w.Install(s.regions, s.modules...)
	w.PSQL(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d seconds' WHERE name = 'consistency_window'`,
		likeness.Window(compressed)/time.Second))
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	begun := time.Now()
	s.pass(t, w, "come up", s.up)
	if got := w.PSQL(s.there); got != "yes" {
		t.Errorf("it came up otherwise: %s", got)
	}
	t.Logf("up in %s, %s operations failed at first", time.Since(begun).Round(time.Second),
		w.PSQL(`SELECT count(*) FROM iasql_operations WHERE result = 'failed'`))
	begun = time.Now()
	s.pass(t, w, "go", s.down)
	if got := w.PSQL(s.gone); got != "0" {
		t.Errorf("%s records are left", got)
	}
	t.Logf("down in %s, %s operations failed at first", time.Since(begun).Round(time.Second),
		w.PSQL(`SELECT count(*) FROM iasql_operations WHERE result = 'failed'`))
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(30*time.Second, "nothing to be left in the cloud", func() bool {
		return w.PSQL(s.gone) == "0" && w.PSQL(unsettled) == ""
	})
	return w, l
}

// pass commits one transaction and waits until nothing is pending. Nobody is asked
// meanwhile.
func (s landscape) pass(t *testing.T, w *harness.World, what string, statements []string) {
	t.Helper()
	w.PSQL(append(append([]string{"BEGIN"}, statements...), "COMMIT")...)
	w.Eventually(90*time.Second, "the landscape to "+what, func() bool {
		if asked := w.PSQL(`SELECT string_agg(concat_ws(' ', table_name, message), E'\n') FROM iasql_get_errors() e
			WHERE NOT EXISTS (SELECT FROM iasql_status s WHERE s.table_name = e.table_name AND s.record_id = e.record_id AND NOT s.review)`); asked != "" {
			t.Fatalf("somebody is asked while it is to %s: %s", what, asked)
		}
		return w.PSQL(unsettled) == "" && w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0"
	})
	w.Settled()
}
