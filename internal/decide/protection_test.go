package decide

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// What a decision comes to, where rules keep something as it is.
type kept struct {
	action Action
	state  StateName
	review bool
	held   string
}

func keptOf(d Decision) kept {
	k := kept{action: d.Action, state: d.State, review: d.Review}
	if d.Held != nil {
		k.held = d.Held.Why
	}
	return k
}

// R25: nothing that would destroy what is protected is decided.
func TestDecideProtected(t *testing.T) {
	protected := Protection{{"widget", 1}: true}
	whole := Protection{{Table: "widget"}: true}
	exception := Protection{{Table: "widget"}: true, {"widget", 1}: false}
	deleted := func() *Subject { return changed(subject(nil, row(), nil), "delete") }
	replaced := func() *Subject { return subject(row("shape", "b"), row("shape", "a"), row("shape", "a")) }
	failed := func() *Subject {
		s := changed(subject(row(), row(), nil), "insert")
		s.Failure, s.State = "no capacity", &State{Due: true, Attempts: 1, Binding: Binding{Identity: row()}}
		return s
	}
	deposed := func() *Subject {
		s := subject(nil, row(), nil)
		s.Deposed, s.State = true, &State{Due: true}
		return s
	}
	unrecorded := func() *Subject {
		s := subject(nil, row(), nil)
		s.RecordID = 0
		return s
	}
	removing, updating := kept{state: StateRemovingFailed, review: true}, kept{state: StateUpdatingFailed, review: true}
	for name, c := range map[string]struct {
		s    *Subject
		mode modes.Mode
		p    Protection
		want kept
	}{
		"deleted":            {deleted(), modes.Normal, protected, removing},
		"deleted, its table": {deleted(), modes.Normal, whole, removing},
		"deleted, an exception": {deleted(), modes.Normal, exception,
			kept{action: Delete, state: StateRemoving}},
		"deleted, another": {deleted(), modes.Normal, Protection{{"widget", 2}: true},
			kept{action: Delete, state: StateRemoving}},
		"replaced": {replaced(), modes.Normal, protected, updating},
		"replaced by ENFORCE": {subject(row("shape", "b"), row("shape", "a"), nil), modes.Enforce,
			protected, updating},
		"replaced, its table": {replaced(), modes.Normal, whole, updating},
		"updated in place": {subject(row("size", "b"), row("size", "a"), row("size", "a")), modes.Normal,
			protected, kept{action: Update, state: StateUpdating}},
		"gone from the cloud": {subject(row(), nil, nil), modes.Normal, protected,
			kept{action: DeleteRecord}},
		"replaced, an exception": {replaced(), modes.Normal, exception,
			kept{action: Replace, state: StateReplacing}},
		"its old object": {deposed(), modes.Normal, protected,
			kept{state: StateReplacing, review: true}},
		"without a record": {unrecorded(), modes.Enforce, whole, kept{action: InsertRecord}},
		"without a record, another": {unrecorded(), modes.Enforce, protected,
			kept{action: Delete, state: StateRemoving}},
		"the cloud could not make it": {failed(), modes.Normal, protected,
			kept{action: Replace, state: StateReplacing}},
		"inserted and not yet there": {inserted(), modes.Normal, protected,
			kept{action: Create, state: StateCreating}},
		"nothing to be done, in passing": {subject(row(), row(), nil), modes.Normal, whole, kept{}},
	} {
		p := mode(c.mode)
		p.Protection = c.p
		d := Decide(c.s, p)
		if got := keptOf(d); got != c.want {
			t.Errorf("%s: %+v (%s), want %+v", name, got, d.Reason, c.want)
		}
		if d.Review && (d.Code != CodeRule || !strings.Contains(d.Reason, "iasql_unprotect('widget', 1)")) {
			t.Errorf("%s: %s %s", name, d.Code, d.Reason)
		}
	}
}

// PAUSE: neither side is written, and what waits says so.
func TestDecidePaused(t *testing.T) {
	record := modes.Rule{Mode: modes.Pause}
	column := modes.Rule{Table: "widget", Column: "size", Mode: modes.Pause}
	unrecorded := subject(nil, row(), nil)
	unrecorded.RecordID = 0
	for name, c := range map[string]struct {
		s    *Subject
		rule modes.Rule
		want kept
		push []string
		pull []string
	}{
		"equal": {subject(row("size", "a"), row("size", "a"), nil), record, kept{}, nil, nil},
		"changed in the cloud": {subject(row("size", "a"), row("size", "b"), nil), record,
			kept{state: StatePaused, held: HeldPaused}, nil, nil},
		"changed here": {subject(row("size", "b"), row("size", "a"), row("size", "a")), record,
			kept{state: StatePaused, review: true, held: HeldPaused}, nil, nil},
		"fixed, changed here": {subject(row("shape", "b"), row("shape", "a"), row("shape", "a")), record,
			kept{state: StatePaused, review: true, held: HeldPaused}, nil, nil},
		"inserted": {inserted(), record, kept{state: StatePaused, review: true}, nil, nil},
		"deleted": {changed(subject(nil, row(), nil), "delete"), record,
			kept{state: StatePaused, review: true}, nil, nil},
		"gone from the cloud": {subject(row(), nil, nil), record, kept{state: StatePaused, held: HeldPaused}, nil,
			nil},
		"found in the cloud": {unrecorded, record, kept{held: HeldPaused}, nil, nil},
		"a column, and another": {subject(row("size", "b", "label", "y"), row("size", "a", "label", "x"),
			row("size", "a", "label", "x")), column, kept{action: Update, state: StateUpdating, held: HeldPaused},
			[]string{"label"}, nil},
		"a column, pulls another": {subject(row("size", "a", "label", "x"), row("size", "b", "label", "y"), nil),
			column, kept{state: StatePaused, held: HeldPaused}, nil, []string{"label"}},
		"the state of an object": {subject(row("status", "x"), row("status", "y"), nil),
			modes.Rule{Table: "widget", Column: "status", Mode: modes.Pause}, kept{action: UpdateRecord}, nil,
			[]string{"status"}},
	} {
		d := Decide(c.s, Policy{Rules: modes.New([]modes.Rule{c.rule}), Imported: true})
		var pull []string
		for n := range d.Pull {
			pull = append(pull, n)
		}
		if got := keptOf(d); got != c.want || !slices.Equal(d.Push, c.push) || !slices.Equal(pull, c.pull) {
			t.Errorf("%s: %+v, pushes %v, pulls %v (%s), want %+v", name, got, d.Push, pull, d.Reason, c.want)
		}
		if d.State == StatePaused && d.Settle && d.Review {
			t.Errorf("%s: what waits is settled", name)
		}
	}
}

func inserted() *Subject {
	s := changed(subject(row(), nil, nil), "insert")
	delete(s.Record.Row, "widget_id")
	return s
}

// drift = ask: what nobody has changed here is pulled once a person has said so.
func TestDecideAsksAboutDrift(t *testing.T) {
	said := func(s *Subject, how string) *Subject {
		s.State = &State{Name: StateConflict, Due: true, Resolution: how}
		return s
	}
	drifted := func() *Subject { return subject(row("size", "a"), row("size", "b"), nil) }
	gone := func() *Subject { return subject(row(), nil, nil) }
	unrecorded := subject(nil, row(), nil)
	unrecorded.RecordID = 0
	ask := kept{state: StateConflict, review: true, held: HeldAsk}
	for name, c := range map[string]struct {
		s    *Subject
		p    func(*Policy)
		want kept
	}{
		"a column":             {drifted(), nil, ask},
		"a column, cloud":      {said(drifted(), "cloud"), nil, kept{action: UpdateRecord}},
		"a column, database":   {said(drifted(), "database"), nil, kept{action: Update, state: StateUpdating}},
		"gone":                 {gone(), nil, ask},
		"gone, cloud":          {said(gone(), "cloud"), nil, kept{action: DeleteRecord}},
		"gone, database":       {said(gone(), "database"), nil, kept{action: Create, state: StateCreating}},
		"found":                {unrecorded, nil, kept{held: HeldAsk}},
		"found, and asked for": {unrecorded, func(p *Policy) { p.Adopted = true }, kept{action: InsertRecord}},
		"found by the import":  {unrecorded, func(p *Policy) { p.Imported = false }, kept{action: InsertRecord}},
		"TRACK does not ask": {drifted(), func(p *Policy) {
			p.Rules = modes.New([]modes.Rule{{Mode: modes.Track}})
		}, kept{action: UpdateRecord}},
		"ENFORCE does not ask": {drifted(), func(p *Policy) {
			p.Rules = modes.New([]modes.Rule{{Mode: modes.Enforce}})
		}, kept{action: Update, state: StateUpdating}},
		"a state is no drift": {subject(row("status", "a"), row("status", "b"), nil), nil,
			kept{action: UpdateRecord}},
		"what was changed here": {subject(row("size", "b"), row("size", "a"), row("size", "a")), nil,
			kept{action: Update, state: StateUpdating}},
		"and beside it": {subject(row("size", "b", "label", "x"), row("size", "a", "label", "y"),
			modules.Row{"size": modules.Text("a")}), nil, kept{action: Update, state: StateUpdating, held: HeldAsk}},
		"equal, after all of that": {subject(row(), row(), nil), nil, kept{}},
	} {
		p := Policy{Imported: true, AskDrift: true}
		if c.p != nil {
			c.p(&p)
		}
		if d := Decide(c.s, p); keptOf(d) != c.want {
			t.Errorf("%s: %+v (%s), want %+v", name, keptOf(d), d.Reason, c.want)
		} else if d.Held != nil && d.Action == UpdateRecord {
			t.Errorf("%s: pulls %v", name, d.Pull)
		}
	}
}

// What matches a rule is left to others, but for what a user has asked for.
func TestIgnoreRules(t *testing.T) {
	named := &modules.Table{Name: "named", Columns: []modules.Column{
		{Name: "name", Type: modules.TypeText, Identity: true}, {Name: "tags", Type: modules.TypeJSON},
	}}
	at := modules.Scope{Account: "a", Region: "r"}
	for _, c := range []struct {
		table, match, name, tags string
		want                     bool
	}{
		{"", `{"name": "AWSReservedSSO_*"}`, "AWSReservedSSO_admin_1", `{}`, true},
		{"", `{"name": "AWSReservedSSO_*"}`, "mine", `{}`, false},
		{"", `{"name": "*-*"}`, "a-b", `{}`, true},
		{"", `{"name": "a*a"}`, "a", `{}`, false},
		{"", `{"name": "a*b*c"}`, "axbxbc", `{}`, true},
		{"", `{"name": "exact"}`, "exactly", `{}`, false},
		{"", `{"tags": {"kubernetes.io/*": "owned"}}`, "x", `{"kubernetes.io/cluster/one": "owned"}`, true},
		{"", `{"tags": {"kubernetes.io/*": "owned"}}`, "x", `{"kubernetes.io/cluster/one": "shared"}`, false},
		{"", `{"tags": {"a": "*", "b": "1"}}`, "x", `{"a": "2", "b": "1"}`, true},
		{"", `{"tags": {"a": "*", "b": "1"}}`, "x", `{"b": "1"}`, false},
		{"", `{"tags": {"a": "*"}, "name": "x*"}`, "y", `{"a": "2"}`, false},
		{"other", `{"name": "*"}`, "x", `{}`, false},
		{"named", `{"name": "*"}`, "x", `{}`, true},
	} {
		rule, err := ParseIgnoreRule(3, c.table, []byte(c.match))
		if err != nil {
			t.Fatal(err)
		}
		l := Exclusions{Rules: []IgnoreRule{rule}}
		object := modules.Row{"name": modules.Text(c.name), "tags": modules.Text(c.tags)}
		if got := l.Ignores(named, at, c.name, object); (got == "rule 3 of iasql_ignore") != c.want {
			t.Errorf("%s of %q with %s: %q", c.match, c.name, c.tags, got)
		}
		l.Forgotten, l.Adopted = map[ObjectName]bool{{"named", at, c.name}: true}, nil
		if l.Ignores(named, at, c.name, object) == "" {
			t.Errorf("%q was forgotten", c.name)
		}
		l.Adopted = map[ObjectName]bool{{Table: "named", Key: c.name}: true}
		if got := l.Ignores(named, at, c.name, object); got != "" {
			t.Errorf("%q was asked for: %s", c.name, got)
		}
	}
	// Neither imported nor deleted; and a record of it is never enforced.
	s := subject(nil, row(), nil)
	s.RecordID, s.Ignored = 0, "rule 1"
	recorded := subject(row("size", "a"), row("size", "b"), nil)
	recorded.Ignored = "rule 1"
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce, modes.Track} {
		if d := Decide(s, mode(m)); d.Action != Nothing {
			t.Errorf("%s: %s", m, d.Action)
		}
		if d := Decide(recorded, mode(m)); d.Action != UpdateRecord {
			t.Errorf("%s: %s", m, d.Action)
		}
	}
}
