package sync

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	gosync "sync"
	"time"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// The resync policy: a listing costs calls, and most objects never change. So a scheduled full
// cycle lists a table in a region the less often the longer nothing has changed there, but at
// least every max_staleness. A cycle that somebody waits for lists everything.

// resync is what a full cycle knows of listings, and what it adds.
type resync struct {
	known map[place]store.Listing
	// settings are those that the listings began with: what is pushed between two of their pages may have newer ones,
	// by which they have not been looked at.
	settings store.Settings
	// within says, of tables whose objects are listed within some records only, which.
	within map[string]*parents
	// due are the places that are listed by this cycle; nil: all are.
	due map[place]bool
	// gone are the places that are known and not looked at any more.
	gone []store.Listing

	lock  gosync.Mutex
	ended []store.Listing
	// failed are listings that were neither complete nor denied.
	failed []store.Listing
	// missing are places that are not listed, of objects that new ones name and that have no
	// record, and lacking those where the new ones are.
	missing, lacking map[place]bool
}

// readListings reads what is remembered of listings, and says which tables are to be
// listed where: what is due, and with it the tables that it refers to, whose new
// objects it may name.
func (c *cycle) readListings(ctx context.Context) error {
	err := c.readKnown(ctx)
	if err != nil {
		return err
	}
	due, there := map[place]bool{}, map[place]bool{}
	for _, t := range slices.Backward(c.catalog.tables) { // children first
		scopes, err := c.scopes(ctx, t)
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			at := place{t.Name, scope}
			there[at] = true
			if len(c.hinted[at]) > 0 && !due[at] && !c.isDue(at) {
				due[at] = true // by itself: of what it refers to events tell as well
				continue
			}
			if due[at] = due[at] || c.isDue(at); due[at] {
				for _, name := range t.Parents() {
					if parent := c.Registry.Table(name); parent != nil {
						due[place{name, within(parent, scope)}] = true
					}
				}
			}
		}
	}
	for at, l := range c.resync.known {
		if c.catalog.has(at.table) && !there[at] {
			c.resync.gone = append(c.resync.gone, l)
			delete(c.resync.known, at)
		}
	}
	if c.Sparing || c.Hinted || len(c.Only) > 0 {
		c.resync.due = due
	}
	return nil
}

// readKnown reads what is remembered of listings.
func (c *cycle) readKnown(ctx context.Context) error {
	list, err := c.Store.Listings(ctx, c.lease.Account)
	if err != nil {
		return fmt.Errorf("read when tables were listed: %w", err)
	}
	c.resync.settings = c.settings
	c.resync.known = make(map[place]store.Listing, len(list))
	for _, l := range list {
		c.resync.known[place{l.Table, l.Scope}] = l
	}
	c.resync.within, err = c.readWithin(ctx)
	return err
}

// within returns the scope in which a table is listed whose objects one of that scope
// may name.
func within(t *modules.Table, scope modules.Scope) modules.Scope {
	if t.Reach == modules.PerAccount {
		scope.Region = ""
	}
	return scope
}

// isDue reports whether a table is to be listed in a scope for its own sake.
func (c *cycle) isDue(at place) bool {
	if c.Hinted {
		return false
	}
	if len(c.Only) > 0 {
		return slices.Contains(c.Only, at.table)
	}
	l, known := c.resync.known[at]
	return !known || !c.looksAsBefore(at) || due(&l, c.resync.settings.Version, c.interval(at), c.Rest)
}

// readAlways is of how many objects of a place all are read.
const readAlways = 20

// rounds is in how many listings everything of a table has had its turn, where objects have
// turns.
const rounds = 20

// interval is how long a place is left alone at most: it is read within its staleness, by one
// listing or by several that each read a part.
func (c *cycle) interval(at place) time.Duration {
	if c.inTurn(at) {
		return c.staleness(at) / rounds
	}
	return c.staleness(at)
}

// inTurn reports whether a place's listings read objects in turn.
func (c *cycle) inTurn(at place) bool {
	r, turns := c.Registry.Resource(at.table).(modules.Paced)
	return turns && r.IsPaced() && c.resync.known[at].Objects > readAlways
}

// staleness is how old the newest listing of a place may become: where events tell of
// changes, older than elsewhere.
func (c *cycle) staleness(at place) time.Duration {
	settings := &c.resync.settings
	limit := settings.MaxStaleness
	if limit == 0 || !settings.Watched[at.scope.Region] || len(c.Registry.Table(at.table).EventMappings) == 0 {
		return limit
	}
	return max(limit, settings.WatchedStaleness)
}

// soonest is how long what was listed is left alone, unless somebody waits.
const soonest = 10 * time.Second

// due reports whether what was listed is to be listed again. After a long cycle, which took
// as long as rest says, there is none of that length again before as much time has passed.
func due(l *store.Listing, rules string, limit, rest time.Duration) bool {
	if l.Age < 0 || l.Rules != rules {
		return true
	}
	wait := limit
	if (l.Denied == "" || l.Partly) && l.Quiet >= 0 && rest == 0 {
		wait = min(limit, max(l.Quiet/2, soonest))
	}
	// Regions take turns, so that not everything is listed by the same cycle.
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.Scope.Region))
	return l.Age >= max(wait-wait/4*time.Duration(h.Sum32()%16)/16, 2*rest)
}

// rarely is in how many times its staleness what seldom changes of a place's objects is read once.
const rarely = 24

// turns returns functions that tell whether it is the turn of a key's object to be read, and what seldom changes of it,
// by a listing that nobody waits for; nil if it is everybody's. The turns are spread evenly over the time within which
// everything is to be looked at.
func (c *cycle) turns(t *modules.Table, scope modules.Scope, now time.Time) (due, rarelyDue func(key string) bool) {
	at := place{t.Name, scope}
	last, known := c.resync.known[at]
	if c.resync.due == nil || len(c.Only) > 0 || len(c.hinted[at]) > 0 || !known || last.Objects <= readAlways ||
		!last.Complete || last.Age < 0 || last.Rules != c.resync.settings.Version {
		return nil, nil
	}
	limit := c.staleness(at)
	if c.inTurn(at) {
		due = turn(now, last.Age, limit)
	}
	return due, turn(now, last.Age, rarely*limit)
}

// turn returns a function that tells whether the turn of a key's object has come since the last listing, which began
// so long ago, if each has one within that time; nil if all have had theirs.
func turn(now time.Time, since, within time.Duration) func(key string) bool {
	if since >= within {
		return nil
	}
	age := since + min(since/20, 2*time.Second) // it was measured by another clock
	from := uint64(now.Add(-age).UnixNano()) % uint64(within)
	return func(key string) bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(key))
		turn := h.Sum64() % uint64(within)
		return (turn+uint64(within)-from)%uint64(within) < uint64(age)
	}
}

// lists reports whether the cycle lists a table in a scope.
func (c *cycle) lists(at place) bool { return c.resync.due == nil || c.resync.due[at] }

// listed notes that a listing came to its end, but for what may not be read, and reports
// whether something may not that might before.
func (c *cycle) listed(l *listing, begun time.Time, unread *modules.Unread) (news bool) {
	ended := store.Listing{Table: l.table.Name, Scope: l.scope, Age: time.Since(begun), Complete: unread == nil ||
		!unread.Whole(),
		// What events have told is no reason to list more often.
		Objects: l.seen.objects, News: l.seen.news && len(c.hinted[place{l.table.Name, l.scope}]) == 0,
		Rules: c.resync.settings.Version, Within: c.resync.within[l.table.Name].digest()}
	ended.Expected = c.resync.known[place{l.table.Name, l.scope}].Expected
	if unread != nil {
		ended.Denied, ended.Partly = unread.Error(), true
		news = c.resync.known[place{l.table.Name, l.scope}].Denied != ended.Denied
	}
	c.resync.end(ended)
	return news
}

// denied notes that a listing was not permitted, and reports whether that is new: what
// is denied is no error of every cycle.
func (c *cycle) denied(l *listing, begun time.Time, err error) (news bool) {
	known := c.resync.known[place{l.table.Name, l.scope}]
	c.resync.end(store.Listing{Table: l.table.Name, Scope: l.scope, Age: time.Since(begun),
		Rules: c.resync.settings.Version, Denied: err.Error(), Expected: known.Expected,
		Within: c.resync.within[l.table.Name].digest()})
	return known.Denied != err.Error()
}

// spelledPlace is a place of an account, for people.
func spelledPlace(at place) string {
	if at.scope.Region == "" {
		return at.table
	}
	return at.table + " in " + at.scope.Region
}

// tellDenied reports which places the cloud has begun to deny since the last listing of each, and which it has ceased
// to.
func (c *cycle) tellDenied() {
	var denied, permitted []string
	for _, l := range c.resync.ended {
		at := place{l.Table, l.Scope}
		switch before := c.resync.known[at].Denied; {
		case before == "" && l.Denied != "":
			denied = append(denied, spelledPlace(at))
		case before != "" && l.Denied == "":
			permitted = append(permitted, spelledPlace(at))
		}
	}
	slices.Sort(denied)
	slices.Sort(permitted)
	c.report.count(func(r *store.Report) { r.Denied, r.Permitted = denied, permitted })
}

// fail notes that a listing failed (R32).
func (d *resync) fail(at place, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.failed = append(d.failed, store.Listing{Table: at.table, Scope: at.scope, Failed: err.Error()})
}

func (d *resync) end(l store.Listing) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if i := slices.IndexFunc(d.ended, func(e store.Listing) bool {
		return e.Table == l.Table && e.Scope == l.Scope
	}); i >= 0 {
		d.ended[i] = l
		return
	}
	d.ended = append(d.ended, l)
}

// misses notes what a new object names that has no record, and is in a place that this cycle
// does not list: an event may have told of the object alone.
func (c *cycle) misses(t *modules.Table, scope modules.Scope, cloud, object modules.Row) {
	d := &c.resync
	if d.due == nil {
		return
	}
	for i := range t.Columns {
		col := &t.Columns[i]
		ref := cmp.Or(col.References, col.Records)
		if ref == nil || ref.ByKey || ref.AnyScope {
			continue
		}
		switch _, has := object[col.Name]; {
		case col.Records != nil && !slices.Contains(object[col.Name].IDs(), 0):
			continue
		case col.Records == nil && (has || cloud[col.Name].IsNull()):
			continue
		}
		parent := c.Registry.Table(ref.Table)
		if parent == nil || !c.catalog.has(parent.Name) || c.catalog.rank[parent.Name] >= c.catalog.rank[t.Name] {
			continue
		}
		at := place{parent.Name, within(parent, scope)}
		d.lock.Lock()
		if !d.due[at] && !slices.ContainsFunc(d.ended, func(e store.Listing) bool {
			return e.Table == at.table && e.Scope == at.scope
		}) {
			if d.missing == nil {
				d.missing, d.lacking = map[place]bool{}, map[place]bool{}
			}
			d.missing[at], d.lacking[place{t.Name, scope}] = true, true
		}
		d.lock.Unlock()
	}
}

// further makes a second listing due in the same cycle: of the missing parents, and of the places where something
// lacks them. It returns those places; nil if no parent is missing.
func (d *resync) further() map[place]bool {
	lacking := d.lacking
	if lacking != nil {
		d.due = d.missing
		maps.Copy(d.due, lacking)
		d.missing, d.lacking = nil, nil
	}
	return lacking
}

// knows reports whether a table has been listed in a scope by an earlier cycle, as far
// as that is permitted, and within the same records.
func (c *cycle) knows(at place) bool {
	l, known := c.resync.known[at]
	return known && (l.Complete || l.Denied != "") && c.looksAsBefore(at)
}

// looksAsBefore reports whether a table is listed within the same records as the last time.
func (c *cycle) looksAsBefore(at place) bool {
	return c.resync.known[at].Within == c.resync.within[at.table].digest()
}
