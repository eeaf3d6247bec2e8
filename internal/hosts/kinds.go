package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Kind describes things of a host that are no files, which the runner has as values of type T.
type Kind[T any] struct {
	Name  string // what the runner calls the kind
	Scope string // the kind of the scopes that name its things
	// Key returns what names a thing. Scoped returns what the patterns of scopes are matched with; nil: Key.
	Key, Scoped func(*T) string
	// Prefix is what Scoped begins with, of a kind that shares the kind of its scopes with others; "" if it does not.
	Prefix string
	// Passing: a record goes with the scope that names it. Its identity need not say what Scoped is.
	Passing bool
	// Guard says why a change must not be made, by what the tables say of the host; nil: all may be.
	Guard func(settings *Settings, want, have *T) error
	// WayIn says how a change touches the way into the host, which arms it; nil, or what returns nil: not at all.
	WayIn func(want, have *T) *WayIn
	// File is the file that a change writes, which touches the way in as a change of the file itself does; nil: WayIn
	// says all.
	File func(*T) string
}

func (k *Kind[T]) scoped(thing *T) string {
	if k.Scoped == nil {
		return k.Key(thing)
	}
	return k.Scoped(thing)
}

// maxThings bounds the things of a kind of one host, and maxThing one of them.
const (
	maxThings = 50_000
	maxThing  = 256 << 10
)

// Reader is the resource of a table whose rows are things of a kind that are read and not changed. The identity of a
// row says the key of its thing.
type Reader[T any] struct {
	Hosts *Hosts
	Kind  Kind[T]
	Of    *modules.Table
	// Row returns a thing as a row.
	Row func(*T) modules.Row
	// Thing returns a row as the runner has it: of the columns that are no part of the identity only those that are
	// given; nil: all.
	Thing func(r modules.Row, columns []string) *T
}

// Writer is the resource of a table whose rows are things of a kind that users write.
type Writer[T any] struct{ Reader[T] }

// Table implements [modules.Resource].
func (r *Reader[T]) Table() *modules.Table { return r.Of }

// collector gathers what a host answers about a kind.
type collector[T any] struct {
	reader *Reader[T]
	host   string
	scopes []Scope
	asked  func(*T) bool
	seen   map[string]bool
	found  []modules.Observation
	missed []modules.UnreadObject
}

func (c *collector[T]) take(a runner.Answer) error {
	kind := &c.reader.Kind
	if a.Kind != kind.Name && (len(a.Items) > 0 || len(a.Unread) > 0) {
		return refused(c.host, "the kind", fmt.Sprintf("%.200q", a.Kind))
	}
	for _, item := range a.Items {
		thing := new(T)
		if len(item) > maxThing || json.Unmarshal(item, thing) != nil {
			return refused(c.host, "what is no "+kind.Name, fmt.Sprintf("%.200q", item))
		}
		key := kind.Key(thing)
		row := c.reader.Row(thing)
		within := named(c.scopes, kind.scoped(thing))
		switch {
		case !within && kind.Passing && c.asked(thing):
			continue
		case !within || !c.asked(thing) || c.seen[key]:
			return refused(c.host, "the "+kind.Name, fmt.Sprintf("%.200q", key))
		case len(c.found) >= maxThings:
			return refused(c.host, "things", fmt.Sprintf("more than %d of kind %s", maxThings, kind.Name))
		case bytes.Contains(item, []byte(`\u0000`)):
			return refused(c.host, "a text with NUL", fmt.Sprintf("%s %.200q", kind.Name, key))
		}
		c.seen[key] = true
		o := modules.Observation{Row: row}
		if !PrunedName(c.scopes, kind.scoped(thing)) {
			o.Manager = Others
		}
		c.found = append(c.found, o)
	}
	for i := range a.Unread {
		u := &a.Unread[i]
		if u.Error == nil || len(c.missed) >= maxThings {
			return refused(c.host, "what was not read", fmt.Sprintf("%.200q", u.Name))
		}
		if u.Name == "" {
			return Failed(c.host, u.Error)
		}
		c.missed = append(c.missed, modules.UnreadObject{Identity: c.unread(u.Name), Err: Failed(c.host, u.Error)})
	}
	return nil
}

// unread is the identity of a thing of which its name alone is known.
func (c *collector[T]) unread(name string) modules.Row {
	columns := c.reader.Of.Identity()
	if len(columns) == 1 {
		return modules.Row{columns[0]: modules.Text(clean(name))}
	}
	// The runner joins the parts of a key by a slash.
	row := modules.Row{}
	for i, part := range strings.SplitN(clean(name), "/", len(columns)) {
		row[columns[i]] = modules.Text(part)
	}
	return row
}

func (c *collector[T]) all() ([]modules.Observation, error) {
	if len(c.missed) > 0 {
		return c.found, &modules.Unread{Objects: c.missed}
	}
	return c.found, nil
}

func (r *Reader[T]) collector(host string, scopes []Scope, asked func(*T) bool) *collector[T] {
	return &collector[T]{reader: r, host: host, scopes: scopes, asked: asked, seen: map[string]bool{}}
}

// List implements [modules.Resource]. What tables of one host are listed at once is asked by one request.
func (r *Reader[T]) List(ctx context.Context, q modules.ListRequest, page func([]modules.Observation) error) error {
	host := q.Scope.Account
	settings, err := r.Hosts.settings(ctx, host, true) // anew, as those of files are
	if err != nil {
		return err
	}
	scopes := slices.DeleteFunc(settings.Of(r.Kind.Scope),
		func(s Scope) bool { return !mayName(s.Pattern, r.Kind.Prefix) })
	if len(scopes) == 0 {
		return nil
	}
	c := r.collector(host, scopes, func(*T) bool { return true })
	part := runner.Part{Kind: r.Kind.Name, Patterns: patterns(scopes)}
	if err := r.Hosts.list(ctx, host, r.Kind.Name, func(q *runner.Request) { q.Parts = append(q.Parts, part) },
		c.take); err != nil {
		return err
	}
	found, unread := c.all()
	for some := range slices.Chunk(found, 1000) {
		if err := page(some); err != nil {
			return err
		}
	}
	return unread
}

// Get implements [modules.Resource]. What no scope names is not read, and says so.
func (r *Reader[T]) Get(ctx context.Context, q modules.GetRequest) ([]modules.Observation, error) {
	host := q.Scope.Account
	settings, err := r.Hosts.settings(ctx, host, false)
	if err != nil {
		return nil, err
	}
	scopes := settings.Of(r.Kind.Scope)
	asked := map[string]bool{}
	c := r.collector(host, scopes, func(thing *T) bool { return asked[r.Kind.Key(thing)] })
	part := runner.Part{Kind: r.Kind.Name}
	for _, identity := range q.Identities {
		thing := r.Thing(identity, []string{})
		key, scoped := r.Kind.Key(thing), r.Kind.scoped(thing)
		switch {
		case asked[key]:
		case !r.Kind.Passing && !named(scopes, scoped):
			c.missed = append(c.missed, modules.UnreadObject{Identity: identity,
				Err: outOfScope(host, r.Kind.Scope, scoped)})
		default:
			asked[key] = true
			part.Names = append(part.Names, key)
		}
	}
	if len(part.Names) > 0 {
		request := &runner.Request{Verb: runner.Check, Parts: []runner.Part{part}}
		if err := r.Hosts.ask(ctx, host, request, c.take); err != nil {
			return nil, err
		}
	}
	return c.all()
}

// Create implements [modules.Creator]. It takes over nothing that is there already.
func (w *Writer[T]) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	made := modules.Row{}
	for _, column := range w.Of.Identity() {
		made[column] = m.Want[column]
	}
	return made, w.apply(ctx, &m, "Create", w.Thing(m.Want, nil), nil)
}

// Update implements [modules.Updater]. It changes nothing that is not what it was when it was read.
func (w *Writer[T]) Update(ctx context.Context, m modules.Mutation) error {
	want := m.Want.Clone()
	for _, column := range w.Of.Identity() {
		want[column] = m.Have[column]
	}
	return w.apply(ctx, &m, "Change", w.Thing(want, m.Columns), w.Thing(m.Have, nil))
}

// Delete implements [modules.Deleter].
func (w *Writer[T]) Delete(ctx context.Context, m modules.Mutation) error {
	return w.apply(ctx, &m, "Delete", nil, w.Thing(m.Have, nil))
}

func (w *Writer[T]) apply(ctx context.Context, m *modules.Mutation, action string, want, have *T) error {
	name, kind := m.Scope.Account, &w.Kind
	change := &runner.Change{Kind: kind.Name}
	of := want
	for _, side := range []struct {
		thing *T
		to    *json.RawMessage
	}{{want, &change.Want}, {have, &change.Have}} {
		if side.thing == nil {
			continue
		}
		item, err := json.Marshal(side.thing)
		if err != nil {
			return err
		}
		*side.to = item
	}
	if of == nil {
		of = have
	}
	call := modules.Call{Service: Provider, Action: action + strings.ToUpper(kind.Name[:1]) + kind.Name[1:]}
	return m.Permit.Do(ctx, call, func(entry modules.Entry) error {
		settings, err := w.Hosts.writable(ctx, name)
		if err != nil {
			return err
		}
		scoped := kind.scoped(of)
		if !named(settings.Of(kind.Scope), scoped) {
			return outOfScope(name, kind.Scope, scoped)
		}
		if kind.Guard != nil {
			if err := kind.Guard(&settings, want, have); err != nil {
				return err
			}
		}
		if entry.Late() {
			return errLate
		}
		var way *WayIn
		if kind.WayIn != nil {
			way = kind.WayIn(want, have)
		}
		if kind.File != nil {
			file := kind.File(of)
			if way = wayOf(file, w.Hosts.home(name)); way != nil {
				way.Files = []string{file}
			}
		}
		return w.Hosts.change(ctx, name, &settings, &runner.Request{Verb: runner.Apply, Change: change}, way)
	})
}

// mayName reports whether a pattern may name something that begins so.
func mayName(pattern, prefix string) bool {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		pattern = pattern[:i]
		return strings.HasPrefix(prefix, pattern) || strings.HasPrefix(pattern, prefix)
	}
	return strings.HasPrefix(pattern, prefix)
}

// named reports whether a scope names what is no path.
func named(scopes []Scope, name string) bool {
	return slices.ContainsFunc(scopes, func(s Scope) bool { return runner.MatchesName(s.Pattern, name) })
}

// PrunedName reports whether what has no record may be deleted of what is no path.
func PrunedName(scopes []Scope, name string) bool {
	return slices.ContainsFunc(scopes, func(s Scope) bool { return s.Prune && runner.MatchesName(s.Pattern, name) })
}

// outOfScope is the error of a thing that no scope of the host names.
func outOfScope(name, kind, pattern string) error {
	return &modules.Error{Class: modules.Invalid, Code: "OutOfScope",
		Message: fmt.Sprintf("%s %q is in no host_scope of %s: INSERT INTO host_scope (account, kind, pattern) VALUES "+
			"('%s', '%s', '%s')", kind, clean(pattern), name, strings.ReplaceAll(name, "'", "''"), kind,
			strings.ReplaceAll(clean(pattern), "'", "''"))}
}

// joinFor is how long a listing waits for others of the same host, which are asked for by the same request.
const joinFor = 2 * time.Millisecond

// listing is a request that lists for several.
type listing struct {
	request runner.Request
	takers  map[string]*taker // by kind
	ended   chan struct{}
	err     error
	cancel  context.CancelFunc
}

// taker is who has asked for one kind.
type taker struct {
	lock     sync.Mutex
	left     bool // it does not listen any more
	err      error
	answered func()
	each     func(runner.Answer) error
}

func (t *taker) take(a runner.Answer) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.left {
		return
	}
	t.answered()
	if t.err == nil {
		t.err = t.each(a)
	}
}

// list asks for all of a kind, along with whoever asks for another kind of the same host in the same moment.
func (h *Hosts) list(ctx context.Context, name, kind string, ask func(*runner.Request),
	each func(runner.Answer) error) error {
	k := h.host(name)
	own := &taker{answered: traced(ctx), each: each}
	k.lock.Lock()
	l := k.joining
	if l == nil || l.takers[kind] != nil {
		var limit context.Context
		l = &listing{request: runner.Request{Verb: runner.List}, takers: map[string]*taker{},
			ended: make(chan struct{})}
		limit, l.cancel = context.WithCancel(context.Background())
		k.joining = l
		time.AfterFunc(joinFor, func() { h.run(limit, k, l) })
	}
	l.takers[kind] = own
	ask(&l.request)
	k.lock.Unlock()
	select {
	case <-l.ended:
		if own.err != nil {
			return own.err
		}
		return l.err
	case <-ctx.Done():
	}
	own.lock.Lock()
	own.left = true
	own.lock.Unlock()
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, other := range l.takers {
		other.lock.Lock()
		left := other.left
		other.lock.Unlock()
		if !left {
			return ctx.Err()
		}
	}
	l.cancel() // nobody listens
	return ctx.Err()
}

// run makes a request that lists for several. What is wrong with the answers about one kind concerns no other.
func (h *Hosts) run(ctx context.Context, k *host, l *listing) {
	defer close(l.ended)
	defer l.cancel()
	k.lock.Lock()
	if k.joining == l {
		k.joining = nil
	}
	k.lock.Unlock()
	l.err = h.ask(ctx, k.name, &l.request, func(a runner.Answer) error {
		kind := a.Kind
		switch {
		case kind == "" && len(a.Files) > 0:
			kind = KindFile
		case kind == "": // it is still at it
			for _, t := range l.takers {
				t.take(a)
			}
			return nil
		}
		t := l.takers[kind]
		if t == nil {
			return refused(k.name, "the kind", fmt.Sprintf("%.200q", kind))
		}
		t.take(a)
		return nil
	})
}

// Given are those columns of a row that a change is about: of any other it says nothing.
type Given struct {
	Row     modules.Row
	Columns []string // nil: all
}

func (g Given) has(column string) bool { return g.Columns == nil || slices.Contains(g.Columns, column) }

// Text returns a column's text, "" of NULL; nil if nothing is said of it.
func (g Given) Text(column string) *string {
	if !g.has(column) {
		return nil
	}
	text := g.Row[column].String()
	return &text
}

// Chosen returns a column's text; nil if nothing is said of it, or NULL leaves it to the host.
func (g Given) Chosen(column string) *string {
	if g.Row[column].IsNull() {
		return nil
	}
	return g.Text(column)
}

// Bool returns a column's value; nil if nothing is said of it, or it is NULL.
func (g Given) Bool(column string) *bool {
	if !g.has(column) || g.Row[column].IsNull() {
		return nil
	}
	is := g.Row[column].Bool()
	return &is
}

// Int returns a column's number; nil if nothing is said of it, or it is NULL.
func (g Given) Int(column string) *int64 {
	if !g.has(column) || g.Row[column].IsNull() {
		return nil
	}
	n := g.Row[column].Int()
	return &n
}

// Beyond is the error of a thing that no scope of the host names.
func Beyond(name, kind, thing string) error { return outOfScope(name, kind, thing) }
