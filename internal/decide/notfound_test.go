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

// What is created in the same plan, or waits to be, may be what a call was told is not there.
func TestNamesWhatIsToCome(t *testing.T) {
	t.Parallel()
	key := modules.Table{Name: "key", Columns: []modules.Column{
		{Name: "name", Type: modules.TypeText, Identity: true}, {Name: "material", Type: modules.TypeText}}}
	machine := modules.Table{Name: "machine", Columns: []modules.Column{
		{Name: "machine_id", Type: modules.TypeText, Computed: true, Identity: true},
		{Name: "key_name", Type: modules.TypeText}}}
	subject := func(table *modules.Table, row modules.Row) *Subject {
		return &Subject{Table: table, RecordID: 1, Record: &Record{ID: 1, Row: row}}
	}
	named := subject(&key, modules.Row{"name": modules.Text("operators"), "material": modules.Text("ssh-ed25519")})
	missing := func(name string) error {
		return &modules.Error{Class: modules.NotFound, Message: "The keypair '" + name + "' does not exist"}
	}
	for name, c := range map[string]struct {
		plan     Plan
		asked    string
		mistyped bool
	}{
		"nothing of the name": {Plan{}, "operators", true},
		"created beside it":   {Plan{Ops: []*Op{{Kind: OpCreate, Subject: named}}}, "operators", false},
		"waits":               {Plan{Waiting: []Waiting{{Subject: named}}}, "operators", false},
		"changed beside it":   {Plan{Ops: []*Op{{Kind: OpUpdate, Subject: named}}}, "operators", true},
		"not by its name":     {Plan{Ops: []*Op{{Kind: OpCreate, Subject: named}}}, "ssh-ed25519", true},
	} {
		s := subject(&machine, modules.Row{"key_name": modules.Text(c.asked)})
		recent := NewIntents(nil)
		c.plan.Ops = append(c.plan.Ops, &Op{Kind: OpCreate, Subject: s}) // its own name for it does not count
		recent.Expect(c.plan)
		if got := s.Misnames(missing(c.asked), recent); got != c.mistyped {
			t.Errorf("%s: mistyped: %t", name, got)
		}
	}
}

// What a record names by a text, and the cloud does not know, is the user's mistake at once,
// unless something of that name was made here a moment ago. What it names by another record
// is waited for.
func TestMistypedEndsAtOnce(t *testing.T) {
	t.Parallel()
	table := modules.Table{Name: "machine", Columns: []modules.Column{
		{Name: "machine_id", Type: modules.TypeText, Computed: true, Identity: true},
		{Name: "image", Type: modules.TypeText}, {Name: "zone", Type: modules.TypeText}}}
	machine := func() *Subject {
		return &Subject{Table: &table, RecordID: 1,
			Record: &Record{ID: 1, Row: modules.Row{"image": modules.Text("ami-0bad"), "zone": modules.Text("a")}}}
	}
	missing := &modules.Error{Class: modules.NotFound, Code: "InvalidAMIID.NotFound",
		Message: "The image id '[ami-0bad]' does not exist"}
	made := func(intents ...*Intent) Intents { return NewIntents(intents) }
	image := RecordRef{"image", 7}
	for name, c := range map[string]struct {
		err    error
		recent Intents
		want   bool
	}{
		"a mistyped one": {missing, made(), true},
		"of no log":      {missing, Intents{}, true},
		"made a moment ago": {missing,
			made(&Intent{IDs: []int64{1}, Record: image, Kind: OpCreate, Key: "ami-0bad", Result: ResultOK}), false},
		"part of its key": {missing,
			made(&Intent{IDs: []int64{1}, Record: image, Kind: OpCreate, Key: "main\x1fami-0bad", Result: ResultOK}),
			false},
		"asked for by name": {missing,
			made(&Intent{IDs: []int64{1}, Record: image, Kind: OpCreate,
				Columns: map[string]ValueChange{"name": {To: modules.Text("ami-0bad")}}}), false},
		"another was made": {missing,
			made(&Intent{IDs: []int64{1}, Record: image, Kind: OpCreate, Key: "ami-0good", Result: ResultOK}), true},
		"another was changed": {missing,
			made(&Intent{IDs: []int64{1}, Record: image, Kind: OpUpdate, Key: "ami-0bad", Result: ResultOK}), true},
		"of what else it names": {&modules.Error{Class: modules.NotFound,
			Message: "The subnet 'subnet-1' does not exist"}, made(), false},
		"too short to tell": {&modules.Error{Class: modules.NotFound, Message: "There is no zone a"},
			made(), false},
		"another class": {&modules.Error{Class: modules.Throttled, Message: "ami-0bad"}, made(), false},
	} {
		s := machine()
		if got := s.Misnames(c.err, c.recent); got != c.want {
			t.Errorf("%s: %t", name, got)
			continue
		}
		s.Mistyped = c.want
		if st := s.Failed(StateCreating, c.err, func() float64 {
			return 1
		}); st.Review != c.want || c.want && (st.Name != StateCreatingFailed || st.Backoff != 0) {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
