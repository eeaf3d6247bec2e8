package sync

import (
	"context"
	"fmt"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// recover looks for the effect of every intent in doubt, since an engine died or
// an answer was lost (R6):
//
//   - A creation is looked for by its name or its tag, or is made again with
//     the same idempotency token and the same values. Until the consistency
//     window has passed, not finding it proves nothing, and the record waits.
//   - A deletion that makes room for a replacement has happened if its object
//     is gone.
//   - Updates and other deletions are derived anew from what is observed.
//
// It reports whether the intent log may say something else now.
func (c *cycle) recover(ctx context.Context) (_ bool, err error) {
	ctx, end := c.span(ctx, "recover", &err)
	defer end()
	replayed, err := c.replayed(ctx)
	if err != nil {
		return false, err
	}
	if len(c.inDoubt)+len(replayed) == 0 || c.ReadOnly || c.pushesNothing() != "" {
		for _, s := range replayed {
			c.doubts.holdBack(s.Table.Name, s.Scope)
		}
		for i := range c.inDoubt {
			switch intent := &c.inDoubt[i]; {
			case intent.Kind == decide.OpCreate:
				c.doubts.undecided(intent.Record, intent.Scope)
			case intent.Kind == decide.OpDelete && intent.Replaces:
				c.doubts.makingRoom(intent)
			}
		}
		return false, nil
	}
	creations, err := c.recoverOthers(ctx, c.inDoubt)
	if err != nil {
		return false, err
	}
	if err := c.recoverCreations(ctx, creations); err != nil {
		return false, err
	}
	return true, c.recoverReplayed(ctx, replayed)
}

// place is where a table's objects are.
type place struct {
	table string
	scope modules.Scope
}

// inPlace are intents of one place.
type inPlace struct {
	place
	intents []decide.Intent
}

// recoverOthers deals with intents in doubt that are no creations, and returns those
// that are. It comes before any creation: one may be the second half of a
// replacement, and what it leaves behind must not be overwritten by the first.
func (c *cycle) recoverOthers(ctx context.Context, doubtful []decide.Intent) (creations []*inPlace, err error) {
	index := map[place]*inPlace{}
	var resolved []store.Outcome
	for i := range doubtful {
		intent := doubtful[i]
		switch {
		case !c.catalog.has(intent.Record.Table):
		case intent.Kind == decide.OpCreate:
			at := place{intent.Record.Table, intent.Scope}
			if index[at] == nil {
				index[at] = &inPlace{place: at}
				creations = append(creations, index[at])
			}
			index[at].intents = append(index[at].intents, intent)
		case intent.Kind == decide.OpDelete && intent.Replaces:
			out, known, err := c.recoverRoom(ctx, intent)
			if err != nil {
				return nil, err
			}
			if known {
				resolved = append(resolved, out)
			} else {
				c.doubts.makingRoom(&intent)
			}
		default:
			resolved = append(resolved, ended(intent, nil, decide.ResultAbandoned))
		}
	}
	return creations, c.resolve(ctx, resolved)
}

// recoverCreations deals with creations in doubt.
func (c *cycle) recoverCreations(ctx context.Context, creations []*inPlace) error {
	var resolved []store.Outcome
	for _, at := range creations {
		t := c.Registry.Table(at.table)
		if t.Creation == modules.ByToken {
			for _, intent := range at.intents {
				if err := c.repeatCreation(ctx, t, intent); err != nil {
					return err
				}
			}
			continue
		}
		found, err := c.lookForCreations(ctx, t, at.scope, at.intents)
		if err != nil {
			return err
		}
		resolved = append(resolved, found...)
	}
	return c.resolve(ctx, resolved)
}

// resolve writes what has been found out.
func (c *cycle) resolve(ctx context.Context, resolved []store.Outcome) error {
	if len(resolved) == 0 {
		return nil
	}
	if err := c.Store.Finish(ctx, c.lease, resolved); err != nil {
		return fmt.Errorf("resolve the intent log: %w", err)
	}
	return nil
}

// ended returns the outcome of an intent; s may be nil where nothing follows.
func ended(intent decide.Intent, s *decide.Subject, result decide.Result) store.Outcome {
	intent.Result = result
	return store.Outcome{Intent: intent, Subject: s}
}

// subject loads the subject of an intent.
func (c *cycle) subject(ctx context.Context, intent decide.Intent) (*decide.Subject, error) {
	subjects, err := c.subjects(ctx, c.Registry.Table(intent.Record.Table), []decide.Intent{intent})
	if err != nil {
		return nil, err
	}
	return subjects[0], nil
}

// subjects loads the subjects of intents of a table; one of a record that is gone with nothing
// pending has only its name.
func (c *cycle) subjects(ctx context.Context, t *modules.Table, intents []decide.Intent) ([]*decide.Subject, error) {
	var ids []int64
	for _, intent := range intents {
		if intent.Record.ID != 0 && !slices.Contains(ids, intent.Record.ID) {
			ids = append(ids, intent.Record.ID)
		}
	}
	loaded := map[int64]*decide.Subject{}
	if len(ids) > 0 {
		list, err := c.Store.Load(ctx, t, ids)
		if err != nil {
			return nil, fmt.Errorf("load %s %v: %w", t.Name, ids, err)
		}
		for _, s := range list {
			c.complete(s)
			loaded[s.RecordID] = s
		}
	}
	subjects := make([]*decide.Subject, len(intents))
	for i, intent := range intents {
		s := &decide.Subject{Table: t, Scope: intent.Scope, RecordID: intent.Record.ID}
		if known := loaded[intent.Record.ID]; known != nil {
			one := *known                               // of two intents of one record each has its own
			if s = &one; s.Scope == (modules.Scope{}) { // a record that is gone does not say where it was
				s.Scope = intent.Scope
			}
		}
		subjects[i] = s
	}
	return subjects, nil
}

// recoverRoom finds out whether a deletion that was to make room happened. It is
// not known if that cannot be told yet.
func (c *cycle) recoverRoom(ctx context.Context, intent decide.Intent) (out store.Outcome, known bool, err error) {
	s, err := c.subject(ctx, intent)
	if err != nil {
		return out, false, err
	}
	out = ended(intent, s, decide.ResultAbandoned)
	identity, _ := s.Identity()
	if key, named := s.Table.Key(identity); s.Record == nil || !named || key != intent.Key {
		return out, true, nil // the record has moved on
	}
	// The read comes after the request has ended: before, it would show what is going.
	follower, follows := c.Registry.Resource(s.Table.Name).(modules.Follower)
	if follows && intent.Request != "" {
		if ended, err := follower.Ended(ctx, intent.Scope, intent.Request); err != nil || !ended {
			c.doubts.leave(intent.Record)
			return out, false, nil
		}
	}
	if err := c.observe(ctx, []*decide.Subject{s}); err != nil {
		return out, false, err
	}
	switch {
	case follows && intent.Request == "" && s.Presence == decide.Present && !intent.Expired: // it may be going
		c.doubts.leave(intent.Record)
		return out, false, nil
	// not visible yet (R13)
	case s.Presence == decide.Unknown, s.Presence == decide.Absent && s.CreatedLast() &&
		!(follows && intent.Request != ""):
		return out, false, nil
	case s.Presence == decide.Absent, s.Presence == decide.Going:
		out.Result = decide.ResultOK
		out.State = s.Remember(decide.State{Name: decide.StateReplacing, Due: true})
		out.State.Identity, out.State.Replacing = nil, true
	}
	return out, true, nil
}

// repeatCreation makes a creation again with the token and the values it was
// first made with, whatever has become of its record since: that is how to find
// out what it made. The intent log keeps the first call in doubt until that is
// known.
func (c *cycle) repeatCreation(ctx context.Context, t *modules.Table, intent decide.Intent) error {
	s, err := c.subject(ctx, intent)
	if err != nil {
		return err
	}
	was := s.Record
	row := firstValues(t, intent, was)
	if !s.Due() {
		c.doubts.undecided(intent.Record, intent.Scope)
		return nil
	}
	s.RefKeys = row.Clone()
	if err := c.Store.ToCloud(ctx, t, []modules.Row{s.RefKeys}); err != nil {
		return fmt.Errorf("translate a creation of %s: %w", t.Name, err)
	}
	s.Record, s.Scope = &decide.Record{ID: intent.Record.ID, Row: row}, intent.Scope
	r := &running{Op: &decide.Op{Kind: decide.OpCreate, Subject: s, Replaces: intent.Replaces}, token: intent.Token,
		request: intent.Request}
	c.call(ctx, r, nil)
	c.describe(ctx, []*running{r})
	out := &r.outcome
	switch {
	case r.ending == refused: // TRACK has come, or a batch
		switch tracked := c.policy(s).Rules.Of(t.Name, intent.Record.ID, "").CloudWins(); {
		case !intent.Expired, !tracked:
			c.doubts.undecided(intent.Record, intent.Scope)
			return nil
		case was != nil && !intent.Replaces:
			// The record goes before the doubt is given up: were it untracked in
			// between, it would be created again.
			c.doubts.holdBack(t.Name, intent.Scope)
			return nil
		}
		*out = ended(intent, s, decide.ResultAbandoned)
	case out.Result == decide.ResultOK, modules.HasEnded(out.Err), intent.Expired &&
		modules.ClassOf(out.Err) == modules.Invalid:
		// Of all refusals only that of the values says what became of the first
		// call: it was refused for the same reason.
		out.IDs = append(out.IDs, intent.IDs...)
	default:
		c.doubts.undecided(intent.Record, intent.Scope)
	}
	if out.Err != nil {
		c.report.failIn(out.IDs, intent.Record, intent.Scope, out.Err)
	}
	if err := c.Store.Finish(ctx, c.lease, []store.Outcome{*out}); err != nil {
		return fmt.Errorf("record outcomes: %w", err)
	}
	return nil
}

// firstValues returns the values a creation was first made with; record is what
// there is now, nil for none.
func firstValues(t *modules.Table, intent decide.Intent, record *decide.Record) modules.Row {
	row := modules.Row{modules.ColumnAccount: modules.Text(intent.Scope.Account)}
	for i := range t.Columns {
		col := &t.Columns[i]
		if v, ok := intent.Columns[col.Name]; ok && !col.WriteOnly {
			row[col.Name] = v.To
		} else if col.WriteOnly && record != nil { // secrets are not in the intent log
			row[col.Name] = record.Row[col.Name]
		}
	}
	return row
}

// lookForCreations looks for creations in one place, by their names or their tags.
// Those that can be neither found nor given up yet stay in doubt.
func (c *cycle) lookForCreations(ctx context.Context, t *modules.Table, scope modules.Scope,
	intents []decide.Intent) ([]store.Outcome, error) {
	subjects, err := c.subjects(ctx, t, intents)
	if err != nil {
		return nil, err
	}
	found, err := c.find(ctx, t, scope, intents)
	if err != nil { // the cloud cannot be read: nothing is known yet
		c.report.fail(decide.RecordRef{Table: t.Name}, scope, err)
		for _, intent := range intents {
			c.doubts.undecided(intent.Record, intent.Scope)
		}
		return nil, nil
	}
	if err := c.translateFound(ctx, t, scope, found); err != nil {
		return nil, err
	}
	var resolved []store.Outcome
	for i, intent := range intents {
		s := subjects[i]
		object, ok := found[intent.Token]
		switch {
		case ok:
			resolved = append(resolved, foundCreation(s, intent, object))
		case intent.Expired:
			resolved = append(resolved, ended(intent, s, decide.ResultAbandoned))
		case t.Creation == modules.ByName && s.Record != nil && intent.AsksFor(t, s.Record.Row):
			// To ask for the name once more does no harm, while the record is there.
			c.doubts.repeatable(intent)
		default:
			c.doubts.undecided(intent.Record, intent.Scope)
		}
	}
	return resolved, nil
}

// translateFound puts rows of the database in place of objects that were found.
func (c *cycle) translateFound(ctx context.Context, t *modules.Table, scope modules.Scope,
	found map[string]modules.Row) error {
	var rows []modules.Row
	for token, object := range found {
		fillScope(t, scope, object)
		found[token] = object.Clone()
		rows = append(rows, found[token])
	}
	if len(rows) == 0 {
		return nil
	}
	if err := c.Store.ToDatabase(ctx, t, scope, rows); err != nil {
		return fmt.Errorf("translate recovered records of %s: %w", t.Name, err)
	}
	return nil
}

// foundCreation returns the outcome of a creation in doubt whose object, as the database names
// it, has been found.
func foundCreation(s *decide.Subject, intent decide.Intent, object modules.Row) store.Outcome {
	t := s.Table
	out := ended(intent, s, decide.ResultOK)
	out.Object, out.ByName = object, t.Creation == modules.ByName
	out.State = s.Remember(decide.State{Name: decide.StateCreating, Due: true})
	out.State.Identity, out.State.Replacing = decide.IdentityOf(t, object), false
	if old, named := s.Identity(); named && intent.Replaces {
		s.Object = old // the predecessor, which has to go
	}
	if t.Creation == modules.ByName && !intent.Replaces {
		// An object of that name, which need not be the one that was asked
		// for: it is adopted, not taken for our own. That may have happened
		// already, where the name was found to be taken.
		out.Result = decide.ResultAbandoned
		if s.SettledSince(&intent) {
			out.State = nil
		}
	}
	return out
}

// find returns the objects that creations in doubt have made, by token.
func (c *cycle) find(ctx context.Context, t *modules.Table, scope modules.Scope,
	intents []decide.Intent) (map[string]modules.Row, error) {
	switch t.Creation {
	case modules.ByTag:
		tokens := make([]string, len(intents))
		for i, intent := range intents {
			tokens[i] = intent.Token
		}
		return c.Registry.Resource(t.Name).(modules.Finder).FindCreated(ctx, scope, tokens)
	case modules.ByName:
		return c.findByName(ctx, t, scope, intents)
	}
	return nil, nil
}

// findByName looks for the names that creations asked for, whatever their records
// ask for by now.
func (c *cycle) findByName(ctx context.Context, t *modules.Table, scope modules.Scope,
	intents []decide.Intent) (map[string]modules.Row, error) {
	found := map[string]modules.Row{}
	var identities []modules.Row
	var tokens []string
	for _, intent := range intents {
		row := modules.Row{modules.ColumnAccount: modules.Text(scope.Account)}
		if t.Reach == modules.PerRegion {
			row[modules.ColumnRegion] = modules.Text(scope.Region)
		}
		for _, name := range t.Identity() {
			row[name] = intent.Columns[name].To
		}
		if _, ok := t.Key(row); ok {
			identities, tokens = append(identities, row), append(tokens, intent.Token)
		}
	}
	if len(identities) == 0 {
		return found, nil
	}
	if err := c.Store.ToCloud(ctx, t, identities); err != nil {
		return nil, err
	}
	objects, err := c.Registry.Resource(t.Name).Get(ctx,
		modules.GetRequest{Scope: scope, Identities: identities, Waited: c.waited})
	if err != nil {
		return nil, err
	}
	byKey := map[string]modules.Row{}
	for _, o := range objects {
		if key, ok := t.Key(o.Row); ok {
			byKey[key] = o.Row
		}
	}
	for i, row := range identities {
		if key, ok := t.Key(row); ok && byKey[key] != nil {
			found[tokens[i]] = byKey[key]
		}
	}
	return found, nil
}
