package decide

import (
	"cmp"
	"fmt"
	"slices"

	"iasql/internal/modules"
)

// Op is one operation on the cloud.
type Op struct {
	Kind    OpKind
	Subject *Subject
	// Columns are what an update pushes; nil otherwise.
	Columns []string
	// Omit are optional reference columns that a create leaves out because
	// their targets are created from this record in turn; a later update sets
	// them.
	Omit []string
	// Replaces: the create makes the successor of an existing object, or the
	// delete makes room for one.
	Replaces bool
	// After are the operations that must have succeeded first.
	After []*Op
}

// Partial reports whether the operation creates an object that an update has still
// to complete: others wait for that. (An optional reference that is left out to
// break a circle they cannot wait for.)
func (op *Op) Partial() bool {
	return op.Kind == OpCreate && slices.ContainsFunc(op.Subject.Table.Columns, func(c modules.Column) bool {
		return c.Deferred && !c.IsDefault(op.Subject.Record.Row[c.Name]) && !slices.Contains(op.Omit, c.Name)
	})
}

// completes reports whether the operation gives an object that was just created
// what its creation has left out, besides references to the table t.
func (op *Op) completes(t *modules.Table) bool {
	return op.Kind == OpUpdate && op.Subject.bound() &&
		slices.ContainsFunc(op.Subject.Table.Columns, func(c modules.Column) bool {
			return c.Deferred && slices.Contains(op.Columns, c.Name) &&
				(c.References == nil || c.References.Table != t.Name)
		})
}

// Incomplete reports whether the record's object has been created, and what an
// update has still to give it is not there: it is on its way, or has failed.
func (s *Subject) Incomplete() bool {
	return s.Table.Defers() && s.bound() && s.State.Name != StateWaiting
}

// Waiting is a step that cannot be taken yet.
type Waiting struct {
	Subject *Subject
	On      RecordRef
	Reason  string
	// Going: what it waits for is removed before its successor comes.
	Going bool
}

// Plan is a directed acyclic graph of operations.
type Plan struct {
	Ops     []*Op // every operation after those it depends on
	Waiting []Waiting
}

// NewPlan orders the pushes among steps: parents are created before their
// children, children deleted before their parents, and whatever does not
// depend on each other may run side by side. Cycles among records are broken
// by creating without an optional reference and updating afterwards. It is
// pure, and its result does not depend on the order of steps. What is known to have to
// wait is in waiting: whatever depends on it waits along.
func NewPlan(steps []Step, waiting ...Waiting) Plan {
	b := builder{
		waiting:  slices.Clone(waiting),
		byRecord: map[RecordRef]*Op{},
		byKey:    map[objectRef][]*Op{},
		byName:   map[objectRef][]*Op{},
		first:    destroyedFirst(steps),
	}
	for _, step := range steps {
		b.add(step)
	}
	slices.SortFunc(b.ops, func(x, y *Op) int {
		return cmp.Or(cmp.Compare(x.Subject.Table.Name, y.Subject.Table.Name),
			cmp.Compare(x.Subject.RecordID, y.Subject.RecordID),
			cmp.Compare(key(x.Subject), key(y.Subject)), cmp.Compare(x.Kind, y.Kind))
	})
	for _, op := range b.ops {
		b.link(op)
		b.follow(op)
	}
	b.breakCycles()
	b.dropWaiting()
	return Plan{Ops: b.sorted(), Waiting: b.waiting}
}

type objectRef struct {
	table string
	scope modules.Scope
	key   string // the cloud's name
}

type builder struct {
	first    map[RecordRef]bool // replaced by deleting before creating
	ops      []*Op
	byRecord map[RecordRef]*Op      // creates and updates
	byKey    map[objectRef][]*Op    // deletes, by every column others may name the object by
	byName   map[objectRef][]*Op    // creates, by user-chosen identity columns
	edges    map[*Op]map[*Op]string // op → what it comes after → by which column
	soft     map[[2]*Op]bool        // edges that may be dropped
	waiting  []Waiting
}

func key(s *Subject) string {
	k, _ := s.Table.Key(s.Object)
	return k
}

func (b *builder) add(step Step) {
	s, d := step.Subject, step.Decision
	op := &Op{Subject: s}
	switch d.Action {
	case Create:
		op.Kind = OpCreate
	case Update:
		op.Kind, op.Columns = OpUpdate, d.Push
	case Delete:
		op.Kind = OpDelete
	case Replace:
		op.Kind, op.Replaces = OpCreate, true
		if b.first[s.Ref()] {
			op.Kind = OpDelete
		}
	default:
		return
	}
	b.ops = append(b.ops, op)
	if op.Kind != OpDelete {
		b.byRecord[s.Ref()] = op
		for i := range s.Table.Columns {
			c := &s.Table.Columns[i]
			if v := s.Record.Row[c.Name]; op.Kind == OpCreate && c.Identity && !c.Computed && !v.IsNull() {
				ref := objectRef{s.Table.Name + "." + c.Name, modules.Scope{Account: s.Scope.Account}, v.String()}
				b.byName[ref] = append(b.byName[ref], op)
			}
		}
		return
	}
	for i := range s.Table.Columns {
		if v := s.Cloud[s.Table.Columns[i].Name]; !v.IsNull() {
			ref := objectRef{s.Table.Name + "." + s.Table.Columns[i].Name, s.Scope, v.String()}
			b.byKey[ref] = append(b.byKey[ref], op)
		}
	}
}

// destroyedFirst returns the replaced records whose old object goes before the
// new one comes: those that have to, and those that are in one of them by a
// column that is fixed at creation. They are created anew by a later pass, when
// what they are in is there again.
func destroyedFirst(steps []Step) map[RecordRef]bool {
	first := map[RecordRef]bool{}
	for grew := true; grew; {
		grew = false
		for _, step := range steps {
			s := step.Subject
			if step.Decision.Action != Replace || first[s.Ref()] {
				continue
			}
			follows := false
			for i := range s.Table.Columns {
				c := &s.Table.Columns[i]
				if ref := c.References; ref != nil && !ref.ByKey && c.CreateOnly && s.Record != nil {
					follows = follows || first[RecordRef{ref.Table, s.Record.Row[c.Name].Int()}]
				}
			}
			if follows || destroysFirst(s) {
				first[s.Ref()], grew = true, true
			}
		}
	}
	return first
}

// destroysFirst reports whether a replacement has to remove the old object
// before it creates the new one: the table says so, both would have what is one
// object's alone, or both would have the same user-chosen identity.
func destroysFirst(s *Subject) bool {
	if s.Table.DestroyBeforeCreate || s.Failure != "" {
		return true
	}
	if s.Record == nil {
		return false
	}
	for i := range s.Table.Columns {
		if c := &s.Table.Columns[i]; c.Exclusive &&
			slices.ContainsFunc(s.Record.Row[c.Name].Strings(), func(one string) bool {
				return slices.Contains(s.Object[c.Name].Strings(), one)
			}) {
			return true
		}
	}
	if s.Table.ComputedIdentity() {
		return false
	}
	was, _ := s.Table.Key(s.Object)
	wants, _ := s.Table.Key(s.Record.Row)
	return was == wants
}

func (b *builder) edge(op, after *Op, column string) {
	if op == after {
		return
	}
	if b.edges == nil {
		b.edges = map[*Op]map[*Op]string{}
	}
	if b.edges[op] == nil {
		b.edges[op] = map[*Op]string{}
	}
	if _, dup := b.edges[op][after]; !dup {
		b.edges[op][after] = column
	}
}

// soften marks an edge between deletions that may be dropped to break a circle:
// the cloud may delete what another object names by such a column, and says so
// if it does not.
func (b *builder) soften(op, after *Op) {
	if op.Kind == OpDelete && after.Kind == OpDelete {
		b.drop(op, after)
	}
}

// drop marks an edge that may be dropped to break a circle.
func (b *builder) drop(op, after *Op) {
	if b.soft == nil {
		b.soft = map[[2]*Op]bool{}
	}
	b.soft[[2]*Op{op, after}] = true
}

// link adds the edges that the operation's reference columns ask for.
func (b *builder) link(op *Op) {
	s := op.Subject
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if records := s.Table.RecordsOf(c); records != nil {
			b.linkList(op, c, records)
		}
		ref := c.References
		if ref == nil || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion {
			continue
		}
		if op.Kind != OpDelete && s.Record != nil && (op.Kind == OpCreate || slices.Contains(op.Columns, c.Name)) {
			b.linkParent(op, c)
		}
		// The object still names a parent that is to be deleted: leave first. What names it
		// by two columns may be unable to do without, and waits for the successor.
		if ref.NameColumn != "" && !ref.ByKey && op.Kind == OpUpdate {
			continue
		}
		if v := s.Cloud[c.Name]; !v.IsNull() && (op.Kind == OpDelete || slices.Contains(op.Columns, c.Name)) {
			scope := s.Scope
			for _, parent := range b.byKey[objectRef{ref.Table + "." + ref.Key, scope, v.String()}] {
				b.edge(parent, op, "")
				if !c.Required && !c.CreateOnly {
					b.soften(parent, op)
				}
			}
		}
	}
}

// follow adds the edges that the operation's table asks for by its rows. They give way where they close a circle.
func (b *builder) follow(op *Op) {
	s := op.Subject
	if s.Table.After == nil || s.Record == nil || op.Kind == OpDelete {
		return
	}
	for _, other := range b.ops {
		o := other.Subject
		row := o.Object
		if o.Record != nil {
			row = o.Record.Row
		}
		if o.Table != s.Table && o.Scope.Account == s.Scope.Account && s.Table.After(s.Record.Row, o.Table.Name, row) {
			b.edge(op, other, "")
			b.drop(op, other)
		}
	}
}

func (b *builder) linkParent(op *Op, c *modules.Column) {
	s := op.Subject
	want := s.Record.Row[c.Name]
	if want.IsNull() {
		return
	}
	if c.References.ByKey {
		name := objectRef{c.References.Table + "." + c.References.Key, modules.Scope{Account: s.Scope.Account},
			want.String()}
		for _, other := range b.byName[name] {
			b.edge(op, other, c.Name)
		}
		return
	}
	parent := RecordRef{c.References.Table, want.Int()}
	if other, ok := b.byRecord[parent]; ok && other.Kind == OpCreate {
		b.edge(op, other, c.Name)
		return
	}
	if other, ok := b.byRecord[parent]; ok && op.Kind == OpCreate && other.completes(s.Table) {
		b.edge(op, other, "")
		b.drop(op, other)
	}
	if c.References.NameColumn != "" && b.first[parent] {
		b.waiting = append(b.waiting, Waiting{Subject: s, On: parent, Going: true,
			Reason: fmt.Sprintf("waits for %s %d, which is being replaced", parent.Table, parent.ID)})
		return
	}
	if s.RefKeys[c.Name].IsNull() && parent != s.Ref() {
		b.waiting = append(b.waiting, Waiting{Subject: s, On: parent,
			Reason: fmt.Sprintf("waits for %s %d, which is not in the cloud yet", parent.Table, parent.ID)})
	}
}

// breakCycles removes edges by optional, changeable reference columns of
// creates until no cycle is left. A cycle without such a column leaves its
// operations waiting for each other.
func (b *builder) breakCycles() {
	for {
		cycle := b.findCycle()
		if cycle == nil {
			return
		}
		if !b.breakOne(cycle) {
			for i, op := range cycle {
				on := cycle[(i+1)%len(cycle)]
				b.waiting = append(b.waiting, Waiting{Subject: op.Subject, On: on.Subject.Ref(),
					Reason: fmt.Sprintf("waits for %s %d, which waits for it in turn", on.Subject.Table.Name,
						on.Subject.RecordID)})
				delete(b.edges[op], on)
			}
		}
	}
}

// breakOne removes one edge of the cycle; cycle[i] comes after cycle[i+1].
func (b *builder) breakOne(cycle []*Op) bool {
	for i, op := range cycle {
		after := cycle[(i+1)%len(cycle)]
		name := b.edges[op][after]
		if name == "" {
			if b.soft[[2]*Op{op, after}] {
				delete(b.edges[op], after)
				return true
			}
			continue
		}
		c := op.Subject.Table.Column(name)
		if c.Required || c.CreateOnly || !op.Subject.Can.Update {
			continue
		}
		delete(b.edges[op], after)
		if op.Kind == OpCreate {
			op.Omit = append(op.Omit, name)
		} else {
			op.Columns = slices.DeleteFunc(slices.Clone(op.Columns), func(s string) bool { return s == name })
		}
		return true
	}
	return false
}

// findCycle returns the operations of one cycle, each after its successor; nil
// if there is none.
func (b *builder) findCycle() []*Op {
	state := map[*Op]int{}
	var stack, cycle []*Op
	var visit func(*Op) bool
	visit = func(op *Op) bool {
		state[op] = 1
		stack = append(stack, op)
		for _, next := range b.after(op) {
			if state[next] == 1 {
				cycle = slices.Clone(stack[slices.Index(stack, next):])
				return true
			}
			if state[next] == 0 && visit(next) {
				return true
			}
		}
		stack = stack[:len(stack)-1]
		state[op] = 2
		return false
	}
	for _, op := range b.ops {
		if state[op] == 0 && visit(op) {
			return cycle
		}
	}
	return nil
}

// after returns what op comes after, in the fixed order of b.ops.
func (b *builder) after(op *Op) []*Op {
	if len(b.edges[op]) == 0 {
		return nil
	}
	list := make([]*Op, 0, len(b.edges[op]))
	for other := range b.edges[op] {
		list = append(list, other)
	}
	slices.SortFunc(list, func(x, y *Op) int {
		return cmp.Or(cmp.Compare(x.Subject.Table.Name, y.Subject.Table.Name),
			cmp.Compare(x.Subject.RecordID, y.Subject.RecordID),
			cmp.Compare(key(x.Subject), key(y.Subject)), cmp.Compare(x.Kind, y.Kind))
	})
	return list
}

// dropWaiting removes the operations of waiting subjects and all that come
// after them.
func (b *builder) dropWaiting() {
	blocked := map[*Subject]RecordRef{}
	for _, w := range b.waiting {
		blocked[w.Subject] = w.On
	}
	for changed := len(blocked) > 0; changed; {
		changed = false
		for _, op := range b.ops {
			if _, gone := blocked[op.Subject]; gone {
				continue
			}
			for _, before := range b.after(op) {
				if _, gone := blocked[before.Subject]; gone {
					on := before.Subject.Ref()
					blocked[op.Subject] = on
					b.waiting = append(b.waiting, Waiting{Subject: op.Subject, On: on,
						Reason: fmt.Sprintf("waits for %s %d, which is waiting itself", on.Table, on.ID)})
					changed = true
					break
				}
			}
		}
	}
	b.ops = slices.DeleteFunc(b.ops, func(op *Op) bool {
		_, gone := blocked[op.Subject]
		return gone
	})
}

// sorted returns the operations in topological order and fills in After.
func (b *builder) sorted() []*Op {
	var (
		out   []*Op
		seen  = map[*Op]bool{}
		visit func(*Op)
	)
	visit = func(op *Op) {
		if seen[op] {
			return
		}
		seen[op] = true
		for _, before := range b.after(op) {
			visit(before)
			op.After = append(op.After, before)
		}
		out = append(out, op)
	}
	for _, op := range b.ops {
		visit(op)
	}
	return out
}
