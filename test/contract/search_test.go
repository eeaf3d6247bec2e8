package contract

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// indexed waits until the engine has indexed every change.
func indexed(w *harness.World) {
	w.Helper()
	w.Eventually(2*time.Minute, "the search has indexed everything", func() bool {
		w.Admin(`SELECT iasql_internal.index_search(100000)`)
		return w.AsAdmin(`SELECT NOT EXISTS (SELECT FROM iasql_internal.search_pending)
			AND (SELECT low = next AND low = (SELECT max(id) FROM iasql_audit_log) FROM iasql_internal.search_state)`) == "t"
	})
}
