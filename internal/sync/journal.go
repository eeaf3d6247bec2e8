package sync

import (
	"context"
	"fmt"
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// recoverJournal looks for the effect of every operation whose end is not
// known, because an engine died or an answer was lost (R6):
//
//   - A creation is looked for by its name or its tag, or is made again with
//     the same client token and the same values. Until the consistency window
//     has passed, not finding it proves nothing, and the record waits.
//   - A deletion that makes room for a replacement has happened if its object
//     is gone.
//   - Updates and other deletions are derived anew from what is observed.
func (c *cycle) recoverJournal(ctx context.Context) error {
	unfinished, err := c.Database.Unfinished(ctx, c.lease.Account)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if len(unfinished) == 0 || c.ReadOnly {
		for _, op := range unfinished {
			if op.Kind == OpCreate {
				c.undecide(op.Record, op.Scope)
			}
		}
		return nil
	}
	type group struct {
		table string
		scope modules.Scope
	}
	creations := map[group][]LoggedOp{}
	var order []group
	var resolved []Outcome
	for _, op := range unfinished {
		if _, installed := c.rank[op.Record.Table]; !installed {
			continue
		}
		switch {
		case op.Kind == OpCreate:
			g := group{op.Record.Table, op.Scope}
			if creations[g] == nil {
				order = append(order, g)
			}
			creations[g] = append(creations[g], op)
		case op.Kind == OpDelete && op.Replaces:
			out, err := c.recoverRoom(ctx, op)
			if err != nil {
				return err
			}
			if out != nil {
				resolved = append(resolved, *out)
			}
		default:
			resolved = append(resolved, Outcome{Calls: op.IDs, Kind: op.Kind, Result: ResultAbandoned})
		}
	}
	// Before any creation: one may be the second half of a replacement, and what
	// it leaves behind must not be overwritten by the first.
	if len(resolved) > 0 {
		if err := c.Database.Resolve(ctx, c.lease, resolved); err != nil {
			return fmt.Errorf("resolve the journal: %w", err)
		}
		resolved = nil
	}
	for _, g := range order {
		t := c.Registry.Table(g.table)
		if t.Creation == modules.ByToken {
			for _, op := range creations[g] {
				if err := c.repeatCreation(ctx, t, op); err != nil {
					return err
				}
			}
			continue
		}
		found, err := c.recoverCreations(ctx, t, g.scope, creations[g])
		if err != nil {
			return err
		}
		resolved = append(resolved, found...)
	}
	if len(resolved) > 0 {
		if err := c.Database.Resolve(ctx, c.lease, resolved); err != nil {
			return fmt.Errorf("resolve the journal: %w", err)
		}
	}
	return c.readOwnWrites(ctx)
}

// undecide leaves a record alone for this cycle, since a creation of it may
// have happened, and with it what its scope has no record of.
func (c *cycle) undecide(ref RecordRef, scope modules.Scope) {
	c.undecided[ref] = true
	c.holdBack(ref.Table, scope)
}

// holdBack leaves alone for this cycle what a scope has no record of.
func (c *cycle) holdBack(table string, scope modules.Scope) {
	c.hold[objectRef{table: table, scope: scope}] = true
}

// repeatCreation makes a creation again with the token and the values it was
// first made with, whatever has become of its record since: that is how to find
// out what it made. The journal keeps the first call open until that is known.
func (c *cycle) repeatCreation(ctx context.Context, t *modules.Table, op LoggedOp) error {
	s, err := c.subject(ctx, op)
	if err != nil {
		return err
	}
	was := s.Record
	row := modules.Row{modules.ColumnAccount: modules.Text(op.Scope.Account)}
	for i := range t.Columns {
		col := &t.Columns[i]
		if v, ok := op.Columns[col.Name]; ok && !col.WriteOnly {
			row[col.Name] = v.To
		} else if col.WriteOnly && was != nil { // secrets are not in the journal
			row[col.Name] = was.Row[col.Name]
		}
	}
	if !s.due() {
		c.undecide(op.Record, op.Scope)
		return nil
	}
	s.RefKeys = row.Clone()
	if err := c.Database.ToCloud(ctx, t, []modules.Row{s.RefKeys}); err != nil {
		return fmt.Errorf("translate a creation of %s: %w", t.Name, err)
	}
	s.Record, s.Scope = &Record{ID: op.Record.ID, Row: row}, op.Scope
	c.tokens[op.Record] = op.Token
	r := &running{Op: &Op{Kind: OpCreate, Subject: s, Replaces: op.Replaces}}
	out, _ := c.runOp(ctx, r, nil)
	delete(c.tokens, op.Record)
	c.describe(ctx, []finished{{run: r, outcome: out}})
	switch {
	case out == nil: // refused: TRACK has come, or a batch
		switch tracked := c.policy(s).Rules.Of(t.Name, op.Record.ID, "") == modes.Track; {
		case !op.Settled, !tracked:
			c.undecide(op.Record, op.Scope)
			return nil
		case was != nil && !op.Replaces:
			// The record goes before the doubt is given up: were it untracked in
			// between, it would be created again.
			c.holdBack(t.Name, op.Scope)
			return nil
		}
		out = &Outcome{Calls: op.IDs, Subject: s, Kind: OpCreate, Result: ResultAbandoned}
	case out.Result == ResultOK, op.Settled && modules.ClassOf(out.Err) == modules.Invalid:
		// Of all refusals only that of the values says what became of the first
		// call: it was refused for the same reason.
		out.Calls = append(out.Calls, op.IDs...)
	default:
		c.undecide(op.Record, op.Scope)
	}
	if out.Err != nil {
		c.report.fail(op.Record, op.Scope, out.Err)
	}
	if err := c.Database.Finish(ctx, c.lease, []Outcome{*out}); err != nil {
		return fmt.Errorf("record outcomes: %w", err)
	}
	return nil
}

// subject loads the subject of a journaled operation; one of a record that is
// gone with nothing pending has only its name.
func (c *cycle) subject(ctx context.Context, op LoggedOp) (*Subject, error) {
	t := c.Registry.Table(op.Record.Table)
	if op.Record.ID != 0 {
		loaded, err := c.Database.Load(ctx, t, []int64{op.Record.ID})
		if err != nil {
			return nil, fmt.Errorf("load %s %d: %w", t.Name, op.Record.ID, err)
		}
		if len(loaded) == 1 {
			s := loaded[0]
			c.complete(s)
			if s.Scope == (modules.Scope{}) { // a record that is gone does not say where it was
				s.Scope = op.Scope
			}
			return s, nil
		}
	}
	return &Subject{Table: t, Scope: op.Scope, RecordID: op.Record.ID}, nil
}

// recoverRoom finds out whether a deletion that was to make room happened; nil
// means that it cannot be told yet.
func (c *cycle) recoverRoom(ctx context.Context, op LoggedOp) (*Outcome, error) {
	s, err := c.subject(ctx, op)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Calls: op.IDs, Subject: s, Kind: op.Kind, Result: ResultAbandoned}
	identity, _ := s.Identity()
	if key, named := s.Table.Key(identity); s.Record == nil || !named || key != op.Key {
		return out, nil // the record has moved on
	}
	if err := c.observe(ctx, []*Subject{s}); err != nil {
		return nil, err
	}
	switch {
	case s.Presence == Unknown, s.Presence == Absent && s.createdLast(): // not visible yet (R13)
		return nil, nil
	case s.Presence == Absent:
		out.Result, out.Replaces = ResultOK, true
		out.State = s.remember(State{Name: StateReplacing, Due: true})
		out.State.Identity, out.State.Replacing = nil, true
	}
	return out, nil
}

// recoverCreations looks for creations in one scope. Those that can be neither
// found nor given up yet are noted in c.undecided.
func (c *cycle) recoverCreations(ctx context.Context, t *modules.Table, scope modules.Scope, ops []LoggedOp) ([]Outcome, error) {
	subjects := make([]*Subject, len(ops))
	for i, op := range ops {
		s, err := c.subject(ctx, op)
		if err != nil {
			return nil, err
		}
		subjects[i] = s
	}
	found, err := c.findCreations(ctx, t, scope, ops)
	if err != nil { // the cloud cannot be read: nothing is known yet
		c.report.fail(RecordRef{Table: t.Name}, scope, err)
		for _, op := range ops {
			c.undecide(op.Record, op.Scope)
		}
		return nil, nil
	}
	var out []Outcome
	for i, op := range ops {
		o := Outcome{Calls: op.IDs, Subject: subjects[i], Kind: OpCreate, Replaces: op.Replaces}
		object, ok := found[op.Token]
		switch {
		case ok:
			fillScope(t, scope, object)
			db := object.Clone()
			if _, err := c.Database.ToDatabase(ctx, t, scope, []modules.Row{db}); err != nil {
				return nil, fmt.Errorf("translate a recovered %s: %w", t.Name, err)
			}
			o.Result, o.Object, o.ByName = ResultOK, db, t.Creation == modules.ByName
			o.State = subjects[i].remember(State{Name: StateCreating, Due: true})
			o.State.Identity, o.State.Replacing = identityOf(t, db), false
			if old, named := subjects[i].Identity(); named && op.Replaces {
				subjects[i].Object = old // the predecessor, which has to go
			}
			if t.Creation == modules.ByName && !op.Replaces {
				// An object of that name, which need not be the one that was asked
				// for: it is adopted, not taken for our own. That may have happened
				// already, where the name was found to be taken.
				o.Result = ResultAbandoned
				if subjects[i].settledSince(op) {
					o.State = nil
				}
			}
		case op.Settled:
			o.Result = ResultAbandoned
		case t.Creation == modules.ByName && subjects[i].Record != nil && asksFor(t, subjects[i].Record.Row, op):
			// To ask for the name once more does no harm, while the record is there.
			c.asked[op.Record] = true
			continue
		default:
			c.undecide(op.Record, op.Scope)
			continue
		}
		out = append(out, o)
	}
	return out, nil
}

// asksFor reports whether a row has the identity that a creation was to give its
// object.
func asksFor(t *modules.Table, row modules.Row, op LoggedOp) bool {
	for _, name := range t.Identity() {
		if row[name] != op.Columns[name].To {
			return false
		}
	}
	return true
}

// findCreations returns the objects that creations made, by token.
func (c *cycle) findCreations(ctx context.Context, t *modules.Table, scope modules.Scope, ops []LoggedOp) (map[string]modules.Row, error) {
	res := c.Registry.Resource(t.Name)
	switch t.Creation {
	case modules.ByTag:
		tokens := make([]string, len(ops))
		for i, op := range ops {
			tokens[i] = op.Token
		}
		return res.(modules.Finder).FindCreated(ctx, scope, tokens)
	case modules.ByName:
		found := map[string]modules.Row{}
		var identities []modules.Row
		var tokens []string
		for _, op := range ops {
			// The name it asked for, whatever the record asks for by now.
			row := modules.Row{modules.ColumnAccount: modules.Text(scope.Account)}
			if t.Reach == modules.PerRegion {
				row[modules.ColumnRegion] = modules.Text(scope.Region)
			}
			for _, name := range t.Identity() {
				row[name] = op.Columns[name].To
			}
			if _, ok := t.Key(row); ok {
				identities, tokens = append(identities, row), append(tokens, op.Token)
			}
		}
		if len(identities) == 0 {
			return found, nil
		}
		if err := c.Database.ToCloud(ctx, t, identities); err != nil {
			return nil, err
		}
		objects, err := res.Get(ctx, scope, identities)
		if err != nil {
			return nil, err
		}
		byKey := map[string]modules.Row{}
		for _, o := range objects {
			if key, ok := t.Key(o); ok {
				byKey[key] = o
			}
		}
		for i, row := range identities {
			if key, ok := t.Key(row); ok && byKey[key] != nil {
				found[tokens[i]] = byKey[key]
			}
		}
		return found, nil
	}
	return nil, nil
}

// settledSince reports whether what the record was asked for when the operation
// began has been settled.
func (s *Subject) settledSince(op LoggedOp) bool {
	return s.State == nil && (s.Change == nil || !slices.ContainsFunc(s.Change.AuditIDs, func(id int64) bool { return id <= op.UpTo }))
}
