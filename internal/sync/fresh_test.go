package sync

import (
	"context"
	"fmt"
	"testing"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// names is a resource that enumerates its objects.
type names struct {
	modules.Resource
	table *modules.Table
	there []string
	err   error
}

func (r *names) Table() *modules.Table { return r.table }
func (*names) Enumerates() bool        { return true }
func (r *names) Enumerate(_ context.Context, _ modules.Scope, page func([]modules.Row) error) error {
	var rows []modules.Row
	for _, name := range r.there {
		rows = append(rows, modules.Row{"name": modules.Text(name)})
	}
	if r.err != nil {
		return r.err
	}
	return page(rows)
}

// Before many objects are created by name, those are read whose names are taken, and those that somebody knows more of;
// where enumerating fails or would cost more, all are.
func TestUntaken(t *testing.T) {
	t.Parallel()
	table := &modules.Table{Name: "thing", Doc: "Things.", Provider: "aws", Creation: modules.ByName,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "Account.", Required: true, CreateOnly: true},
			{Name: "name", Type: modules.TypeText, Doc: "Name.", Identity: true, Required: true, CreateOnly: true}}}
	others := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("other", i))
		}
		return all
	}
	for what, c := range map[string]struct {
		n, known int
		there    []string
		err      error
		read     int
	}{
		"none is taken":          {n: 30, read: 0},
		"two are taken":          {n: 30, there: []string{"n3", "n7", "x"}, read: 2},
		"some were tried before": {n: 30, known: 5, read: 5},
		"a few":                  {n: 5, read: 5},
		"it may not be listed": {n: 30, err: &modules.Error{Class: modules.Denied, Code: "AccessDenied"},
			read: 30},
		"there are very many others": {n: 30, there: others(30*leastOfPage + 1), read: 30},
	} {
		registry, err := modules.NewRegistry(&modules.Module{Name: "m", Version: 1, Doc: "Things.",
			Resources: []modules.Resource{&names{table: table, there: c.there, err: c.err}}})
		if err != nil {
			t.Fatal(err)
		}
		cycle := &cycle{Reconciler: &Reconciler{Registry: registry}}
		var subjects []*decide.Subject
		var identities []modules.Row
		for i := range c.n {
			row := modules.Row{"name": modules.Text(fmt.Sprint("n", i))}
			s := &decide.Subject{Table: table, RecordID: int64(i + 1), Record: &decide.Record{Row: row},
				Change: &auditlog.Change{AuditIDs: []int64{1}, Insert: true}}
			if i < c.known {
				s.State = &decide.State{Name: decide.StateCreatingFailed}
			}
			subjects, identities = append(subjects, s), append(identities, row)
		}
		if got := len(cycle.untaken(t.Context(), modules.Scope{Account: "a"}, subjects, identities)); got != c.read {
			t.Errorf("%s: %d are read, wanted %d", what, got, c.read)
		}
	}
}
