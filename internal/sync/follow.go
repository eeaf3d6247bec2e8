package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// followers gathers those who follow records that are replaced.
type followers struct {
	c       *cycle
	steps   []decide.Step
	at      map[decide.RecordRef]int  // places in steps
	asked   map[decide.RecordRef]bool // whose dependents have been read
	fetched map[decide.RecordRef]bool // only here, in this or an earlier round
	// kept is what is not replaced since something protected would have to follow.
	kept map[decide.RecordRef]decide.Decision
}

// newFollowers returns the steps without those that records of locked tables may
// have to follow.
func (c *cycle) newFollowers(steps []decide.Step) *followers {
	steps, left := c.catalog.withoutFollowers(steps)
	if left {
		c.report.locked()
	}
	f := &followers{c: c, steps: steps, at: map[decide.RecordRef]int{}, asked: map[decide.RecordRef]bool{},
		fetched: map[decide.RecordRef]bool{},
		kept:    map[decide.RecordRef]decide.Decision{}}
	for i, step := range steps {
		f.at[step.Subject.Ref()] = i
	}
	return f
}

// replaced returns the records that are replaced and whose dependents have not
// been read, by table. Nothing has to follow a record that is not going to move in
// this cycle.
func (f *followers) replaced() map[string][]int64 {
	replaced := map[string][]int64{}
	for _, step := range f.steps {
		s := step.Subject
		if step.Decision.Action == decide.Replace && f.c.pushable(s) && !f.asked[s.Ref()] {
			f.asked[s.Ref()] = true
			replaced[s.Table.Name] = append(replaced[s.Table.Name], s.RecordID)
		}
	}
	return replaced
}

// load loads the dependents of the replaced records that are not among the steps,
// and returns by which columns each dependent may name one of those.
func (f *followers) load(ctx context.Context, replaced map[string][]int64) (fresh []*decide.Subject,
	dangling map[decide.RecordRef][]string, err error) {
	dangling = map[decide.RecordRef][]string{}
	for _, table := range slices.Sorted(maps.Keys(replaced)) {
		refs, err := f.c.Store.Dependents(ctx, table, replaced[table])
		if err != nil {
			return nil, nil, fmt.Errorf("read what depends on %s: %w", table, err)
		}
		byTable := map[string][]int64{}
		for _, ref := range refs {
			res := f.c.Registry.Resource(ref.Table)
			if res == nil {
				continue
			}
			dangling[ref] = append(dangling[ref], columnsTo(res.Table(), table)...)
			if _, known := f.at[ref]; !known {
				byTable[ref.Table] = append(byTable[ref.Table], ref.ID)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(byTable)) {
			loaded, err := f.c.Store.Load(ctx, f.c.Registry.Table(name), byTable[name])
			if err != nil {
				return nil, nil, fmt.Errorf("load records of %s: %w", name, err)
			}
			for _, s := range loaded {
				if f.c.held(s) {
					f.wait(s, table, replaced)
					continue
				}
				f.c.complete(s)
				fresh = append(fresh, s)
			}
		}
	}
	return fresh, dangling, nil
}

// wait has the records of a table wait that a staged one would have to follow if they
// were replaced: nothing is done to it by the way (R21).
func (f *followers) wait(held *decide.Subject, table string, replaced map[string][]int64) {
	if held.Record == nil {
		return
	}
	for _, name := range columnsTo(held.Table, table) {
		id, named := anyOf(held.Table.Column(name).RecordsIn(held.Record.Row), replaced[table])
		if !named {
			continue
		}
		at := decide.RecordRef{Table: table, ID: id}
		i := f.at[at]
		replaced[table] = slices.DeleteFunc(replaced[table], func(id int64) bool { return id == at.ID })
		f.c.waits = append(f.c.waits, decide.Waiting{Subject: f.steps[i].Subject, On: held.Ref(),
			Reason: fmt.Sprintf("waits for %s %d, which refers to it and is staged in batch %d", held.Table.Name,
				held.RecordID, held.Batch)})
		f.steps[i].Decision = decide.Decision{}
	}
}

// anyOf returns one of the records that are replaced, too.
func anyOf(records, replaced []int64) (id int64, found bool) {
	i := slices.IndexFunc(records, func(id int64) bool { return slices.Contains(replaced, id) })
	if i < 0 {
		return 0, false
	}
	return records[i], true
}

// columnsTo returns the columns by which a table names records of another by id. (Of a list whose names are fixed at
// creation nobody asks that what has it be replaced along with one of them.)
func columnsTo(t *modules.Table, table string) (names []string) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Target() == table && (c.Records == nil || !t.Column(c.Records.NameColumn).CreateOnly) {
			names = append(names, c.Name)
		}
	}
	return names
}

// decide adds the fresh subjects to the steps, and decides anew about the records
// that depend on a replaced one: their references dangle as soon as that has another
// object.
func (f *followers) decide(fresh []*decide.Subject, replaced map[string][]int64,
	dangling map[decide.RecordRef][]string) {
	for _, s := range fresh {
		f.fetched[s.Ref()] = true
		f.at[s.Ref()] = len(f.steps)
		f.steps = append(f.steps, decide.Step{Subject: s})
	}
	for ref, columns := range dangling {
		i, ok := f.at[ref]
		if !ok {
			continue
		}
		s := f.steps[i].Subject
		if s.Follows == nil {
			s.Follows = map[string]bool{}
		}
		for _, name := range columns {
			if s.Record == nil {
				continue
			}
			c := s.Table.Column(name)
			if _, named := anyOf(c.RecordsIn(s.Record.Row), replaced[c.Target()]); named {
				s.Follows[name] = true
			}
		}
		f.steps[i] = f.c.decide(s)
		if d := &f.steps[i].Decision; f.fetched[ref] && !d.Action.Pushes() && !d.Keeps() {
			*d = decide.Decision{} // the listing's: it knows whether it was complete (R5)
		}
	}
}

// keep takes back the replacements that something protected would have to follow
// (R25), and what follows those.
func (f *followers) keep() {
	for changed := len(f.c.settings.Protection) > 0; changed; {
		changed = false
		for _, step := range f.steps {
			if !step.Decision.Keeps() {
				continue
			}
			for name := range step.Subject.Follows {
				if at, replaced := f.replacedBy(step.Subject, name); replaced &&
					step.Subject.Table.Column(name).CreateOnly {
					of := f.steps[at].Subject.Ref()
					f.kept[of] = f.steps[at].Decision.KeptFor(step.Subject)
					f.steps[at].Decision, changed = f.kept[of], true
				}
			}
		}
		for i := range f.steps {
			changed = f.stay(i) || changed
		}
	}
}

// replacedBy returns the place of the record that a column names, and whether it is
// replaced.
func (f *followers) replacedBy(s *decide.Subject, column string) (at int, replaced bool) {
	c := s.Table.Column(column)
	for _, id := range c.RecordsIn(s.Record.Row) {
		at, known := f.at[decide.RecordRef{Table: c.Target(), ID: id}]
		if known && f.steps[at].Decision.Action == decide.Replace {
			return at, true
		}
	}
	return 0, false
}

// stay decides anew about a record if what it was to follow stays. It reports whether
// that is so.
func (f *followers) stay(i int) (stays bool) {
	s := f.steps[i].Subject
	ref := s.Ref()
	for name := range s.Follows {
		if _, replaced := f.replacedBy(s, name); !replaced {
			delete(s.Follows, name)
			stays = true
		}
	}
	if !stays {
		return false
	}
	if len(s.Follows) == 0 {
		s.Follows = nil
	}
	f.steps[i] = f.c.decide(s)
	if f.fetched[ref] && !f.steps[i].Decision.Action.Pushes() {
		f.steps[i].Decision = decide.Decision{}
	}
	if kept, ok := f.kept[ref]; ok && f.steps[i].Decision.Action == decide.Replace {
		f.steps[i].Decision = kept
	}
	return true
}
