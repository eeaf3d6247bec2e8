package decide

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// MaxUnconfirmed is how often a value is pushed that the cloud accepts and
// does not keep, before a person is asked.
const MaxUnconfirmed = 3

// decideColumns: record and object are both there; the decision falls column
// by column.
func decideColumns(s *Subject, p Policy) Decision {
	cs := columns{s: s, policy: p, rules: p.Rules.Any(), d: Decision{Pull: modules.Row{}}, given: modules.Row{}}
	for i := range s.Table.Columns {
		if c := &s.Table.Columns[i]; !c.Local && c.Name != modules.ColumnAccount {
			cs.look(c)
		}
	}
	cs.lists()
	return cs.conclude()
}

// columns gathers what each column asks for.
type columns struct {
	s       *Subject
	policy  Policy
	rules   bool // there are any
	d       Decision
	given   modules.Row // what the cloud has in columns that are left to it: pulled when nothing is to be pushed
	replace bool        // a column is to be pushed that is fixed at creation
	stale   bool        // a column was read as it was before this engine's own write
	held    bool        // a column waits for a person's word
	unnamed string      // a column that is to be pulled, and names an object without a record
	left    left        // what is left as it is
	// a column that only a replacement could change, which would destroy data that nobody has given up
	keeps string
}

// mode returns the mode of a column.
func (cs *columns) mode(c *modules.Column) modes.Mode {
	m := modes.Normal
	if cs.rules {
		m = cs.policy.modeOf(cs.s, c.Name)
	}
	if m.Pauses() && c.Computed && (c.Identity && cs.s.bound() || !cs.policy.modeOf(cs.s, "").Pauses()) {
		m = modes.Normal // nobody else could say what the object is, or which one this engine has made
	}
	// the record may have been made without what it names, which came later
	if m.DatabaseWins() && !cs.policy.Imported {
		m = modes.Normal
	}
	return m
}

// look looks at one column.
func (cs *columns) look(c *modules.Column) {
	s, m := cs.s, cs.mode(c)
	have, moved := s.Names(c) // D
	if c.WriteOnly {
		cs.secret(c, m, have)
		return
	}
	paused := m.Pauses()
	if paused { // compared as ever, and left as it is
		m = modes.Normal
	}
	cloud, known := s.cloudValue(c, m, have) // C
	if !known {
		switch {
		case !s.unread(c, m, have):
		case paused:
			cs.left.pending = true
			cs.left.held(&cs.left.paused, c.Name, modules.Null)
		default:
			cs.push(c, have, modules.Null)
		}
		return
	}
	if c.Asks && !cloud.IsNull() && !paused && !m.CloudWins() && s.Can.Update {
		cs.push(c, have, cloud)
	}
	v, base := compare(s, c, m, have, cloud, cs.policy.HoldConflicts)
	switch {
	case s.followsList(c) && !m.CloudWins() && !c.Replaces(cloud, have):
		v = verdictPush
	case moved:
		v = s.moveNames(c, m, v, have, cloud)
	}
	if cloud.IsUnrecorded() && v == verdictPull {
		return // the cloud may choose it, and the row has no word for it
	}
	if paused {
		cs.pause(c, v, have, cloud)
		return
	}
	if v == verdictPull && !c.Computed && cs.policy.asksDrift(m) && s.drifted(c) {
		v = cs.askDrift(c, have, cloud)
	}
	if v == verdictPush && c.Replaces(cloud, have) {
		v = cs.unasked(c, have)
	}
	if (v == verdictPush || v == verdictPushConflict) && s.Follows == nil && s.sameName(c) {
		v = verdictStale // somebody has adopted what it names since the record was read
	}
	conflict := Conflict{Column: c.Name, Database: have, Cloud: cloud, Base: base}
	switch v {
	case verdictPull:
		if m.LogDecides() && s.leftToCloud(c, have) || m.DatabaseWins() && c.OptionalComputed && have.IsNull() {
			cs.given[c.Name] = cloud
		} else {
			cs.d.Pull[c.Name] = cloud
		}
	case verdictPush:
		cs.push(c, have, cloud)
	case verdictPushConflict:
		cs.d.Conflicts = append(cs.d.Conflicts, conflict)
		cs.push(c, have, cloud)
	case verdictPullConflict:
		if cloud.IsUnrecorded() { // it may have a record before long
			cs.unnamed = c.Name
			return
		}
		conflict.PulledAnyway = true
		cs.d.Conflicts = append(cs.d.Conflicts, conflict)
		cs.d.Pull[c.Name] = cloud
	case verdictHold:
		conflict.Open, conflict.Drift = true, slices.Contains(cs.left.asked, c.Name)
		cs.d.Conflicts = append(cs.d.Conflicts, conflict)
		cs.held = true
	case verdictStale:
		cs.stale = true
	}
}

// pause leaves a column as it is on both sides.
func (cs *columns) pause(c *modules.Column, v verdict, have, cloud modules.Value) {
	switch v {
	case verdictSame:
	case verdictStale:
		cs.stale = true
	default:
		_, pending := cs.s.pendingBase(c, have)
		cs.left.pending = cs.left.pending || pending || cs.s.bound() || cs.s.inserted()
		cs.left.held(&cs.left.paused, c.Name, cloud)
	}
}

// drifted reports whether a column that differs has changed in the cloud, and nobody
// has said anything about it here.
func (s *Subject) drifted(c *modules.Column) bool {
	_, pending := s.pendingBase(c, s.Record.Row[c.Name])
	return !pending && !s.inserted() && s.bindingless() && !s.dangles(c)
}

// askDrift says what to do about drift that a person is to decide about.
func (cs *columns) askDrift(c *modules.Column, have, cloud modules.Value) verdict {
	switch cs.s.resolution() {
	case "database":
		return verdictPush
	case "cloud":
		return verdictPull
	}
	cs.left.held(&cs.left.asked, c.Name, cloud)
	return verdictHold
}

// unasked says what to do about a column that is fixed at creation, and that
// differs. Where no user asks for it, a replacement is only for what can be made
// again (R18): what the cloud may choose it may also choose anew (a failover), and
// about data a person decides.
func (cs *columns) unasked(c *modules.Column, have modules.Value) verdict {
	s := cs.s
	_, pending := s.pendingBase(c, have)
	switch {
	case pending:
		return verdictPush
	case c.OptionalComputed && !s.dangles(c):
		return verdictPull
	case !s.Table.HoldsData && s.Manager == "", s.resolution() == "database":
		return verdictPush
	case s.dangles(c) && s.Table.HoldsData:
		cs.keeps = c.Name
		return verdictSame
	case s.dangles(c): // the replacement that it would follow is asked for here
		return verdictPush
	case s.resolution() == "cloud":
		return verdictPull
	}
	return verdictHold
}

// push notes that a column is to be pushed.
func (cs *columns) push(c *modules.Column, have, cloud modules.Value) {
	cs.d.Push = append(cs.d.Push, c.Name)
	cs.replace = cs.replace || c.Replaces(cloud, have)
}

// secret looks at a column that can be written and not read. A secret waits in
// its row until it has been pushed, and is blanked then (R16).
func (cs *columns) secret(c *modules.Column, m modes.Mode, have modules.Value) {
	switch {
	case have.IsNull():
	case m.Pauses() && !cs.s.pushed(c):
		cs.left.pending = true
		cs.left.held(&cs.left.paused, c.Name, modules.Null)
	case cs.s.pushed(c), m.CloudWins(): // it went out, or is given up
		cs.d.Pull[c.Name] = modules.Null
	default:
		cs.d.Push = append(cs.d.Push, c.Name)
	}
}

// conclude says what all columns together come to.
func (cs *columns) conclude() Decision {
	s, d := cs.s, cs.d
	sort.Strings(d.Push)
	d = cs.left.note(d)
	if len(d.Push) > 0 {
		return cs.concludePush(d)
	}
	if !cs.stale && !cs.held && len(cs.left.paused) == 0 {
		// Not before the rest is there, for the cloud may then choose anew: a
		// route that is given a NAT gateway gives up its internet gateway.
		maps.Copy(d.Pull, cs.given)
	}
	switch {
	case cs.held:
		d.State, d.Review, d.Reason, d.Wait = StateConflict, true, "changed on both sides", true
		if len(cs.left.asked) > 0 {
			d.Code, d.Reason = CodeRule, "changed in the cloud: "+strings.Join(cs.left.asked, ", ")+
				"; drift is ask: resolve it in iasql_conflicts"
		}
	case cs.keeps != "":
		d = d.refuse("what its " + cs.keeps +
			" names is replaced, and it holds data: it is not replaced along with that. Move the data to a new " +
			"record, and delete this one")
	case cs.stale:
		d.State, d.Reason, d.Wait = StateUpdating, "pushed, not visible yet", true
	case cs.unnamed != "":
		d.State, d.Reason, d.Wait = StateWaiting, "its object's "+cs.unnamed+" is fixed, and is "+
			s.Cloud[cs.unnamed].String()+", which has no record", true
	case len(cs.left.paused) > 0:
		d = cs.left.concludePaused(d)
	case s.Forming && (s.inserted() || s.bound()):
		// It may fail yet, and then somebody has to know.
		d.State, d.Reason, d.Wait = StateCreating, "is being made", true
	case len(d.Pull) > 0:
		d.Action, d.Reason, d.Settle = UpdateRecord, "changed in the cloud", true
	default:
		d.Settle = true
	}
	return d
}

// concludePush says how columns are pushed: by an update or by a replacement,
// unless neither can be.
func (cs *columns) concludePush(d Decision) Decision {
	s := cs.s
	switch {
	case s.State != nil && s.State.Unconfirmed >= MaxUnconfirmed && s.Change.Latest() <= s.State.FailedAt:
		return d.refuse("the cloud accepts " + d.Push[0] + " but does not keep it")
	case cs.replace && !(s.Can.Create && s.Can.Delete), !cs.replace && !s.Can.Update:
		return d.refuse("column " + d.Push[0] + " of " + s.Table.Name + " cannot be changed from here")
	case cs.replace && cs.policy.Rules.Of(s.Table.Name, s.RecordID, "").CloudWins():
		return d.refuse("changing " + d.Push[0] + " replaces the object, and the record is tracked")
	case cs.replace && s.lacking() != "": // of which the old object might be gone when that shows
		return d.refuse("changing " + d.Push[0] + " replaces the object, and the new one needs " + s.lacking() +
			", which cannot be read from the old one: set it as well")
	case cs.replace && s.Forming: // what it says so far may not be all
		return Decision{Pull: d.Pull, Wait: true, State: StateCreating, Reason: "is being made"}
	case cs.replace:
		d.Action, d.State, d.Reason = Replace, StateReplacing, "a column that is fixed at creation changed"
	default:
		d.Action, d.State, d.Reason = Update, StateUpdating, "changed here"
		switch {
		case s.Change != nil:
		case s.asks(d.Push):
			d.Reason = "its object asks for it: " + strings.Join(d.Push, ", ")
		default:
			d.Reason = "ENFORCE: changed in the cloud"
		}
	}
	return d
}

// asks reports whether the object asks for all of an update.
func (s *Subject) asks(columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return !s.Table.Column(name).Asks })
}

// lacking returns a secret without which the record's object cannot be made anew, and that
// nobody has said again; "" for none.
func (s *Subject) lacking() string {
	for i := range s.Table.Columns {
		if c := &s.Table.Columns[i]; c.Needed && s.Record.Row[c.Name].IsNull() {
			return c.Name
		}
	}
	return ""
}

// refuse turns the decision into one that a person has to look at; what was to
// be pulled is kept, with the conflicts that remember what it overwrites.
func (d Decision) refuse(reason string) Decision {
	pulled, _ := d.SplitConflicts()
	return Decision{Pull: d.Pull, Held: d.Held, Conflicts: pulled, Wait: true, State: StateUpdatingFailed, Review: true,
		Reason: reason}
}

// leftToCloud reports whether a user has set the column to NULL, so that the
// cloud chooses. What it has now, pulled while other changes of the record are
// pending, would pass for what the user asks for (R4).
func (s *Subject) leftToCloud(c *modules.Column, have modules.Value) bool {
	if !c.OptionalComputed || !have.IsNull() || s.Change == nil || s.Change.Insert {
		return false
	}
	_, pending := s.Change.Base[c.Name]
	return pending
}

// unread reports whether a user asks for a value of a column of which a read does not say
// what it is: it is unknown, but not what the user wants (R22). It is pushed once, as a
// secret is. What is being made says more when it is done.
func (s *Subject) unread(c *modules.Column, m modes.Mode, have modules.Value) bool {
	_, told := s.Cloud[c.Name]
	if _, read := s.Object[c.Name]; told || read || c.Computed || c.CreateOnly || m.CloudWins() || s.Forming ||
		s.Change == nil || !s.Can.Update {
		return false
	}
	if _, said := s.Change.Base[c.Name]; !said && c.IsDefault(have) {
		return false
	}
	_, pending := s.pendingBase(c, have)
	return pending && !s.pushed(c)
}

// pushed reports whether the intent log shows that the column's newest value has gone out.
func (s *Subject) pushed(c *modules.Column) bool {
	for _, i := range s.Own {
		if i.Kind == OpCreate && c.Deferred { // which leaves it to the update
			continue
		}
		if _, ok := i.Columns[c.Name]; ok && !i.Unsure() && i.Record == s.Ref() && i.UpTo >= s.Change.Latest() {
			return true
		}
	}
	return false
}
