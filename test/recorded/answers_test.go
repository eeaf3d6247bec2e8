package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/postgres"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testdb"
)

// enough is how many distinct answers there are for today's readers at least.
const enough = 300

// TestAnswers has every answer read by the tables whose readers could get it, and
// the rows inserted.
func TestAnswers(t *testing.T) {
	t.Parallel()
	recorded, failures := recordings(t)
	r := newReading(t)
	left, replayed, rows := map[string]int{}, 0, 0
	for _, a := range distinct(recorded, answer.key) {
		switch why := r.replay(a); {
		case why == "":
			replayed++
		case !a.part:
			left[why]++
		}
	}
	for i := range readers {
		rows += r.rows[i]
		if r.count[i] == 0 {
			t.Errorf("%s: no answer of %s was recorded", readers[i].table, readers[i].op)
		}
		t.Logf("%4d answers of %s: %d rows of %s", r.count[i], readers[i].op, r.rows[i], readers[i].table)
	}
	for m := range misfits {
		if !r.misfit[m] {
			t.Errorf("nothing misfits as listed: %s", misfits[m].says)
		}
	}
	parts := len(slices.DeleteFunc(slices.Clone(recorded), func(a answer) bool { return !a.part }))
	t.Logf("%d answers recorded; %d distinct ones replayed, which made %d rows", len(recorded)-parts, replayed, rows)
	for _, why := range slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(left[b]-left[a], cmp.Compare(a, b))
	}) {
		t.Logf("left out: %d: %s", left[why], why)
	}
	if replayed < enough {
		t.Errorf("%d answers were replayed, and there are %d at least", replayed, enough)
	}
	r.failing(failures)
}

// reading is the state of the test.
type reading struct {
	*testing.T
	engine    *pgxpool.Pool
	cloud     *cloud
	registry  *modules.Registry
	byName    map[string]operation
	count     []int // of answers, by reader
	rows      []int
	sample    []any // by reader: the members of an answer with objects
	misfit    map[int]bool
	classes   map[string]modules.Class // of errors
	scopes    int
	operation []operation // by reader
}

func newReading(t *testing.T) *reading {
	t.Helper()
	r := &reading{T: t, cloud: newCloud(t), byName: map[string]operation{}, count: make([]int, len(readers)),
		rows:   make([]int, len(readers)),
		sample: make([]any, len(readers)),
		misfit: map[int]bool{}, classes: classes(), operation: make([]operation, len(readers))}
	var err error
	if r.registry, err = modules.NewRegistry(all.Modules(r.cloud.clients())...); err != nil {
		t.Fatal(err)
	}
	if r.engine, err = postgres.ConnectEngine(t.Context(), testdb.New(t), "recorded", 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.engine.Close)
	for _, o := range reads(operations(t)) {
		r.byName[o.String()] = o
	}
	for i, reader := range readers {
		o, ok := r.byName[reader.op]
		if !ok {
			t.Fatalf("%s: %s is no operation that a module reads by", reader.table, reader.op)
		}
		r.operation[i] = o
	}
	return r
}

// replay has an answer read by all readers that could get it. It returns why there
// is none, "" if there is one.
func (r *reading) replay(a answer) (why string) {
	if len(a.members) == 0 {
		return "it has no members"
	}
	if !a.telling() {
		return "its members tell nothing"
	}
	s, ours := byFolder(a.folder)
	found := 0
	for _, elsewhere := range []bool{false, true} {
		for i, reader := range readers {
			same := ours && r.operation[i].service.name == s.name
			members, ok := reader.members(a)
			if !ok || found > 0 && elsewhere || same == elsewhere || elsewhere && !reader.anywhere {
				continue
			}
			out, err := r.operation[i].decode(members, reader.at)
			if err != nil || reader.when != nil && !reader.when(out) {
				continue
			}
			found++
			r.read(a, i, members)
		}
	}
	switch {
	case found > 0:
		return ""
	case !ours:
		return "no module calls the service " + a.folder
	}
	return "of an operation of " + a.folder + " that no reader calls"
}

// members returns what of an answer a reader gets.
func (r reader) members(a answer) (any, bool) {
	if a.part != r.part {
		return nil, false
	}
	if r.member == "" {
		return a.members, true
	}
	v, ok := a.members[r.member]
	return v, ok && len(a.members) == 1
}

// read has a reader read an answer, and its rows inserted.
func (r *reading) read(a answer, i int, members any) {
	reader := readers[i]
	resource := r.registry.Resource(reader.table)
	w, out, err := r.world(i, members)
	var rows []modules.Row
	if err == nil {
		rows, err = r.ask(reader, w, out)
	}
	if err == nil {
		err = insert(r.Context(), r.engine, resource.Table(),
			slices.DeleteFunc(slices.Clone(rows), func(row modules.Row) bool {
				phaser, ok := resource.(modules.Phaser)
				if !ok {
					return false
				}
				phase, _ := phaser.Phase(row)
				return phase == modules.Going // the engine makes no record of it
			}))
	}
	for _, row := range rows {
		err = errors.Join(err, wellFormed(resource.Table(), row))
	}
	r.count[i]++
	r.rows[i] += len(rows)
	if err == nil && len(rows) > 0 && r.sample[i] == nil {
		r.sample[i] = members
	}
	if err != nil && !r.listed(reader, err) {
		r.Errorf("%s by %s: %s, %s, %s:\n%v\n%.600s", reader.table, reader.op, a.folder, a.test, a.label, err,
			text(members))
	}
}

// world returns the world of an answer, and the answer.
func (r *reading) world(i int, members any) (*world, any, error) {
	reader := readers[i]
	w := &world{cloud: r.cloud, recorded: r.operation[i], around: map[string]any{}, asked: map[string]bool{},
		decode: func() (any, error) {
			out, err := r.operation[i].decode(members, reader.at)
			if err == nil {
				lastPage(out)
			}
			return out, err
		}}
	out, err := w.decode()
	if err != nil {
		return nil, nil, err
	}
	answers := []any{identity()}
	if reader.around != nil {
		answers = append(answers, reader.around(out)...)
	}
	for _, answer := range answers {
		err = errors.Join(err, w.set(answer))
	}
	return w, out, err
}

// ask lists or gets the objects of a world, whose recorded answer is needed for it.
func (r *reading) ask(reader reader, w *world, out any) ([]modules.Row, error) {
	rows, err := r.objects(reader, w, out)
	if err == nil && !w.asked[w.recorded.String()] {
		err = errors.New("the reader did not ask for the answer")
	}
	return rows, err
}

// objects lists or gets the objects of a world.
func (r *reading) objects(reader reader, w *world, out any) (rows []modules.Row, err error) {
	r.scopes++
	// The engine's rate is per account: that of another answer must not slow this one.
	scope := modules.Scope{Account: fmt.Sprintf("recorded-%d", r.scopes), Region: region}
	ctx := context.WithValue(r.Context(), worldKey{}, w)
	resource := r.registry.Resource(reader.table)
	if resource.Table().Reach == modules.PerAccount {
		scope.Region = ""
	}
	if reader.get == nil {
		asked := modules.ListRequest{Scope: scope, Selected: func(string) bool { return true }}
		err = awstest.ListAs(ctx, resource, asked, func(page []modules.Row) error {
			rows = append(rows, page...)
			return nil
		})
		return rows, err
	}
	return awstest.Get(ctx, resource, scope, []modules.Row{reader.get(out)})
}

// listed reports whether the list of misfits has it.
func (r *reading) listed(reader reader, err error) bool {
	for i, m := range misfits {
		if m.table == reader.table && strings.Contains(err.Error(), m.says) {
			r.misfit[i] = true
			return true
		}
	}
	return false
}

// misfits are answers that do not fit into a table, by what is said then, and why
// that is right.
var misfits = []struct{ table, says, why string }{}
