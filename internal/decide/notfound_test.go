package decide

import (
	"testing"

	"iasql/internal/modules"
)

// What names something that is not there heals for as long as AWS's reads may lag
// behind its writes, and then is the user's mistake. A deletion waits for ever:
// there it is something else that is not found.
func TestNotFoundEnds(t *testing.T) {
	t.Parallel()
	slowest := func() float64 { return 1 }
	missing := &modules.Error{Class: modules.NotFound, Code: "InvalidAMIID.NotFound"}
	for _, name := range []StateName{StateCreating, StateUpdating, StateRemoving} {
		s := nodeSubject(1, 0, 0)
		var waited float64
		for n := 1; n <= maxNotFound; n++ {
			st := s.Failed(name, missing, slowest)
			if ends := n == maxNotFound && name != StateRemoving; st.Review != ends || (st.Backoff == 0) != ends {
				t.Errorf("%s, failure %d: review %t, backoff %s", name, n, st.Review, st.Backoff)
			}
			waited += st.Backoff.Minutes()
			s.State = st
		}
		if name == StateCreating && (waited < 3 || waited > 5) {
			t.Errorf("it was tried for %.1f minutes", waited)
		}
	}
}
