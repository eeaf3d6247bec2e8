package postgres_test

import (
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
	"iasql/internal/store/storetest"
)

// A settlement that both remembers and forgets forgets, in both stores.
func TestForgetWins(t *testing.T) {
	t.Parallel()
	f := newConforming(t)
	for name, open := range map[string]func(testing.TB) storetest.Store{
		"simulated": func(testing.TB) storetest.Store { return storetest.Model() }, "postgres": f.open,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			lease, err := s.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			e := elsewhere{T: t, s: s, lease: lease}
			table := e.table("name")
			id := e.pulled("name", simulate.Account, "", "ann")
			load := func() *decide.Subject {
				t.Helper()
				subjects, err := s.Load(t.Context(), table, []int64{id})
				if err != nil || len(subjects) != 1 {
					t.Fatal(subjects, err)
				}
				subjects[0].Scope = modules.Scope{Account: simulate.Account}
				return subjects[0]
			}
			settle := func(forget bool) {
				t.Helper()
				state := &decide.State{Name: decide.StateUpdatingFailed, Message: "it said no"}
				if err := s.Settle(t.Context(), lease,
					[]store.Settlement{{Subject: load(), State: state, Forget: forget}}); err != nil {
					t.Fatal(err)
				}
			}
			settle(true)
			if st := load().State; st != nil {
				t.Errorf("of a record of which nothing is remembered it remembers %+v", st)
			}
			settle(false)
			if load().State == nil {
				t.Error("it remembers nothing")
			}
			settle(true)
			if st := load().State; st != nil {
				t.Errorf("it has not forgotten %+v", st)
			}
		})
	}
}
