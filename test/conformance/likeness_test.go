package conformance

import (
	"fmt"
	"time"

	"iasql/internal/test/likeness"
)

// factor is how much faster than AWS the likeness is.
const factor = 240

// distrust has reads believed that show what was before the engine's own write. On the
// likeness such reads are late ones: there the window passes instead.
func (s *suite) distrust() {
	s.t.Helper()
	if s.alike {
		time.Sleep(likeness.Window(factor))
		return
	}
	s.admin(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
}

// calm waits until what AWS takes its time for has come to rest, such as the status of what
// was changed.
func (s *suite) calm() {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		s.sync()
		did := s.sql(`SELECT pushes + pulls FROM iasql_cycles WHERE kind = 'full' ORDER BY id DESC LIMIT 1`)
		if did == "0" && s.sql(`SELECT count(*) FROM iasql_status WHERE state <> 'Present'`) == "0" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("not at rest: %s", s.sql(
				fmt.Sprintf(`SELECT table_name, record_id, state, message, %s AS writes FROM iasql_status WHERE state <> 'Present'`, did)))
		}
	}
}
