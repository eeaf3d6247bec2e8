package events

import (
	"encoding/json"
	"slices"
	"strings"

	"iasql/internal/modules"
)

// Bounds of the hints of one event.
const (
	maxNamed = 100  // objects of one table; where it names more, the table is listed
	maxHints = 1000 // of all tables
	maxSteps = 5000 // that looking for the names takes
)

// Hint says where to look: at the objects of a table that have a value in a column, or at
// all of a scope.
type Hint struct {
	Table string
	Scope modules.Scope
	// Column is a column and ID its value, in cloud terms. It is the identity, another
	// column that is one object's alone (an ARN), or what the object is a part of, of which
	// there may be several: a reference, or the first column of an identity. "" means that
	// the event does not name the objects.
	// [modules.ColumnIdentity] is the whole of an identity of several columns.
	Column, ID string
	// Known says that the event is about another table where no record has that value.
	Known bool
	// Extent is what of the objects the call has changed at most.
	Extent modules.Extent
}

// whole is the hint to list the table in the scope.
func (h Hint) whole() Hint { return Hint{Table: h.Table, Scope: h.Scope} }

// Hints says what an event touches, by what the tables declare, parents before what
// refers to them. account is what the database calls the event's account. What AWS has
// refused touches nothing.
func Hints(registry *modules.Registry, account string, e *Event) []Hint {
	if e.Failed() {
		return nil
	}
	var hints []Hint
	found := finder{e: e, left: maxSteps}
	for touched := registry.Touched(e.Source, e.Name); len(touched) > 0; {
		of := len(touched) // those of one table
		if at := slices.IndexFunc(touched, func(t modules.Touching) bool {
			return t.Table != touched[0].Table
		}); at > 0 {
			of = at
		}
		hints = append(hints, found.hints(account, touched[:of])...)
		touched = touched[of:]
	}
	if len(hints) > maxHints {
		for i := range hints {
			hints[i] = hints[i].whole()
		}
		hints = slices.Compact(hints)
	}
	return hints
}

// hints returns the hints of one table.
func (f *finder) hints(account string, touched []modules.Touching) []Hint {
	t := touched[0].Table
	at := Hint{Table: t.Name, Scope: modules.Scope{Account: account}}
	if t.Reach == modules.PerRegion {
		at.Scope.Region = f.e.Region
	}
	names, others, portion := f.first(touched)
	switch {
	case len(names) == 0 && (others || touched[0].EventMapping.Known):
		return nil
	case len(names) == 0, len(names) > maxNamed:
		return []Hint{at}
	}
	hints := make([]Hint, len(names))
	for i, n := range names {
		hints[i] = at
		hints[i].Column, hints[i].ID, hints[i].Known = n.column, n.value, n.known
		hints[i].Extent = portion
	}
	return hints
}

// name is a value of a column.
type name struct {
	column, value string
	known         bool
}

// finder looks for names in an event, within a bound.
type finder struct {
	e    *Event
	left int
}

// first returns what the first of a table's touches finds that finds anything, and what of
// those objects the call has changed.
func (f *finder) first(mappings []modules.Touching) (names []name, others bool, portion modules.Extent) {
	for _, t := range mappings {
		found, elsewhere := f.names(t)
		if others = others || elsewhere; len(found) > 0 {
			return found, others, t.EventMapping.Extent
		}
	}
	return nil, others, modules.Everything
}

// names returns what the event names of a table's objects, and whether it names others
// that are of another table.
func (f *finder) names(t modules.Touching) (names []name, others bool) {
	if len(t.EventMapping.Identity) > 0 {
		return f.whole(t), false
	}
	for _, path := range t.EventMapping.At {
		for _, value := range f.find(path) {
			switch n, ok := column(t, value); {
			case !ok:
				others = true
			case !slices.Contains(names, n):
				names = append(names, n)
			}
			if len(names) > maxNamed {
				return names, others
			}
		}
	}
	return names, others
}

// whole returns the identities of several columns that the event names. Where one of them
// is not complete it names none.
func (f *finder) whole(t modules.Touching) (names []name) {
	for _, path := range t.EventMapping.At {
		for _, object := range f.at(path) {
			parts := t.EventMapping.Identity
			text, ok := t.Table.IdentityText(func(*modules.Column) modules.Value {
				part := parts[0]
				parts = parts[1:]
				return f.part(part, object)
			})
			switch n := (name{modules.ColumnIdentity, text, t.EventMapping.Known}); {
			case !ok, len(text) > maxText:
				return nil
			case !slices.Contains(names, n):
				names = append(names, n)
			}
			if len(names) > maxNamed {
				return names
			}
		}
	}
	return names
}

// part returns what the event says of a column of an object's identity.
func (f *finder) part(part modules.IdentityPart, object any) modules.Value {
	root, _, _ := strings.Cut(part.At, ".")
	var found []string
	if slices.Contains(modules.Roots, root) {
		found = f.find(part.At)
	} else {
		found = f.follow(object, strings.Split(part.At, "."), nil)
	}
	switch {
	case len(found) == 0 && part.Optional:
		return modules.Text("")
	case len(found) == 0:
		return modules.Null
	case part.As == nil:
		return modules.Text(found[0])
	}
	return modules.Text(part.As(found[0]))
}

// column returns the column that a value is one of, and the value as it has it; false where
// it is of another table.
func column(t modules.Touching, value string) (name, bool) {
	isARN := strings.HasPrefix(value, "arn:")
	if t.EventMapping.Prefix != "" {
		begins := value
		if parts := strings.SplitN(value, ":", 6); isARN && len(parts) == 6 {
			begins = parts[5]
		}
		if !strings.HasPrefix(begins, t.EventMapping.Prefix) {
			return name{}, false
		}
	}
	if t.EventMapping.After != "" {
		if at := strings.LastIndex(value, t.EventMapping.After); at >= 0 {
			value, isARN = value[at+len(t.EventMapping.After):], false
		}
	}
	c := t.EventMapping.Column
	if c == "" {
		c = t.Table.Identity()[0]
	}
	if arn := t.Table.GlobalName; isARN && arn != "" && t.Table.Column(c).References == nil {
		c = arn
	}
	return name{c, value, t.EventMapping.Known}, value != ""
}

// find returns the texts at a path of the event. A path has the names of members with dots
// between them; their case does not matter, as services disagree about it. It goes through
// lists by itself, and through what EC2 puts around them ({"items": […]}), around their
// members ({"tag": 1, "content": "vpce-1"}) and around whole requests and answers
// ("CreateNatGatewayRequest").
func (f *finder) find(path string) []string {
	in, steps := f.from(path)
	return f.follow(in, steps, nil)
}

// at returns the objects at a path.
func (f *finder) at(path string) []any {
	in, steps := f.from(path)
	for len(steps) > 0 {
		f.left--
		inner, ok := in.(map[string]any)
		if !ok {
			return nil
		}
		if in, ok = f.member(inner, steps[0]); !ok {
			return nil
		}
		steps = steps[1:]
	}
	return members(in)
}

// members returns what a list has, which EC2 and others wrap.
func members(in any) []any {
	switch in := in.(type) {
	case []any:
		return in
	case map[string]any:
		for _, wrapper := range []string{"items", "member", "content"} {
			if inner, ok := in[wrapper]; ok {
				return members(inner)
			}
		}
		return []any{in}
	}
	return nil
}

// from returns where a path begins, and the steps that follow.
func (f *finder) from(path string) (in any, steps []string) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "requestParameters":
		in = unwrapped(f.e.Request, f.e.Name+"Request")
	case "responseElements":
		in = unwrapped(f.e.Response, f.e.Name+"Response")
	case "serviceEventDetails":
		in = f.e.Details
	case "resources":
		in = f.e.Resources
	}
	if rest != "" {
		steps = strings.Split(rest, ".")
	}
	return in, steps
}

func unwrapped(m map[string]any, wrapper string) any {
	if inner, ok := m[wrapper].(map[string]any); ok {
		return inner
	}
	return m
}

func (f *finder) follow(in any, steps, found []string) []string {
	if f.left--; f.left < 0 || len(found) > maxNamed {
		return found
	}
	switch in := in.(type) {
	case []any:
		for _, member := range in {
			found = f.follow(member, steps, found)
		}
	case map[string]any:
		if len(steps) > 0 {
			if next, ok := f.member(in, steps[0]); ok {
				return f.follow(next, steps[1:], found)
			}
		}
		for _, wrapper := range []string{"items", "content"} {
			if inner, ok := in[wrapper]; ok {
				return f.follow(inner, steps, found)
			}
		}
	case string:
		if len(steps) == 0 && in != "" && len(in) < maxText && !strings.ContainsRune(in, '\uFFFD') {
			found = append(found, in)
		}
	case json.Number:
		if len(steps) == 0 {
			found = append(found, in.String())
		}
	}
	return found
}

// member returns the member of that name.
func (f *finder) member(in map[string]any, name string) (any, bool) {
	if v, ok := in[name]; ok {
		return v, true
	}
	if f.left -= len(in); f.left < 0 {
		return nil, false
	}
	first := "" // of several that differ in case, always the same one
	for key := range in {
		if strings.EqualFold(key, name) && (first == "" || key < first) {
			first = key
		}
	}
	v, ok := in[first]
	return v, ok && first != ""
}
