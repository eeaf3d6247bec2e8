package declare

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// What an object that is being made does not say is unknown: neither NULL, nor what
// AWS means by leaving it out later.
func TestForming(t *testing.T) {
	t.Parallel()
	z := newZoo()
	table := z.table()
	table.Forming, table.Failed = In("state", "building"), In("state", "collapsed", "burnt").Because("food")
	table.Columns = append(slices.Clone(table.Columns),
		Text("note", "Limits.Note", "A note.").Usual(modules.Text("none")))
	table.Updates = append(table.Updates, By(func(context.Context, *Step) error { return nil }, "note"))
	r := bind(t, table)
	name, arn := "a", "arn:zoo:a"
	cage := &Cage{CageName: &name, CageArn: &arn, State: "building"}
	z.cages["a"], z.tags[arn] = cage, map[string]string{}
	get := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(t.Context(), r, here, []modules.Row{{"name": modules.Text("a")}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	row := get()
	if got := slices.Sorted(maps.Keys(row)); !slices.Equal(got, []string{"arn", "food", "name", "state"}) ||
		phase(r, row) != modules.Forming {
		t.Errorf("knows %v of a cage that is being built", got)
	}
	cage.Size, cage.Limits = awssdk.Int32(4), &Limits{Note: awssdk.String("none")} // which is said
	if row = get(); row["size"] != modules.Int(4) || row["note"] != modules.Text("none") {
		t.Errorf("does not know what is said: %v", row)
	}
	cage.State, cage.Limits = "ready", nil
	row = get()
	if v, told := row["visitors"]; !told || !v.IsNull() || row["note"] != modules.Text("none") ||
		phase(r, row) == modules.Forming {
		t.Errorf("once it is built: %v", row)
	}
	cage.State = "burnt"
	if _, got := r.Phase(get()); got != `["hay","fish"]` {
		t.Errorf("failed because of %s", got)
	}
	if got := In("state", "burnt").Because("")(row); got != "" {
		t.Errorf("one that is ready has failed: %s", got)
	}
	cage.State = "empty" // where nobody is fed
	if got := In("state", "empty").Because("food")(get()); got != "its state is empty" {
		t.Errorf("failed because of %s", got)
	}
}

// Of an object that is on its way out nothing more is asked than its listing says.
func TestGoing(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(2)
	z.cages["c01"].State = "leaving"
	table := z.table()
	table.Columns[5] = Texts("food", "Food",
		"What is fed.").Computed().From(Call((*zoo).GetFood,
		Edit(func(_ context.Context, _ *Step, in *GetFoodInput) error {
			if *in.CageName == "c01" {
				return &modules.Error{Class: modules.Dependency, Code: "IncorrectState"}
			}
			return nil
		})))
	r := bind(t, table)
	rows, err := awstest.Get(t.Context(), r, here,
		[]modules.Row{{"name": modules.Text("c00")}, {"name": modules.Text("c01")}})
	if err != nil || len(rows) != 2 || phase(r, rows[0]) == phase(r, rows[1]) {
		t.Fatalf("got %v, %v", rows, err)
	}
	for _, row := range rows {
		if _, told := row["food"]; told == (phase(r, row) == modules.Going) {
			t.Errorf("got %v", row)
		}
	}
}

// colour is an enumeration of the SDK's form.
type colour string

func (colour) Values() []colour { return []colour{"red", "green"} }

// A state that there is not is a mistake in the declaration.
func TestStatesAreChecked(t *testing.T) {
	t.Parallel()
	type painted struct {
		Cage
		Colour colour
	}
	z := newZoo()
	of := z.table()
	declared := func(going, forming State) error {
		return New(nil, Table[painted]{
			Name: "cage", Service: of.Service,
			Columns: append(slices.Clone(of.Columns), Text("colour", "Colour", "").Computed()),
			List: Pages(newCagePages, "Cages", Convert(func(c Cage) painted {
				return painted{Cage: c}
			})), Get: of.Get, Delete: of.Delete, Going: going, Forming: forming,
			CreateBy: func(context.Context, *Step) (modules.Row, error) { return nil, nil }, Updates: of.Updates,
		}).Validate()
	}
	if err := declared(In("colour", "red"), In("state", "anything")); err != nil {
		t.Error(err)
	}
	err := declared(In("colour", "red", "blue"), In("nothing", "red"))
	if err == nil || !strings.Contains(err.Error(), `going: column colour: colour has no value "blue"`) ||
		!strings.Contains(err.Error(), "forming: there is no column nothing") {
		t.Errorf("got %v", err)
	}
}

// A deletion takes a snapshot, unless the record says otherwise. That outlives the
// reading of the object.
func TestFinalSnapshot(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(3)
	table := z.table()
	table.Columns, table.Reread = append(slices.Clone(table.Columns), SkipFinalSnapshot()), true
	var taken []string
	table.DeleteBy = func(ctx context.Context, s *Step) error {
		if name := s.FinalSnapshot(s.Have["name"].String()); name != nil {
			taken = append(taken, *name)
		}
		return s.Delete(ctx)
	}
	r := bind(t, table)
	for name, skip := range map[string]modules.Value{"c00": modules.Bool(true), "c01": modules.Bool(false),
		"c02": modules.Null} {
		if err := awstest.Delete(t.Context(), r, nil, here,
			modules.Row{"name": modules.Text(name), "skip_final_snapshot": skip}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(taken)
	if len(taken) != 2 || !regexp.MustCompile(`^c01-final-\d{14}$`).MatchString(taken[0]) ||
		!strings.HasPrefix(taken[1], "c02-final-") {
		t.Errorf("took %v", taken)
	}
}

func phase(r *Resource, row modules.Row) modules.Phase {
	phase, _ := r.Phase(row)
	return phase
}
