package cfn

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"iasql/internal/modules"
)

// Layout says what a type's table and its columns are called. It is kept with the schema,
// so that names stay what they are when a later schema has other properties.
type Layout struct {
	Table   string   `json:"table"`
	Columns []Placed `json:"columns"`
}

// Placed is a column.
type Placed struct {
	Name     string       `json:"name"`
	Property string       `json:"property"` // of the type itself
	Part     string       `json:"part,omitempty"`
	Type     modules.Type `json:"type"`
	Since    int          `json:"since"`          // the revision that added it
	Gone     bool         `json:"gone,omitempty"` // the schema has the property no more
	Refers   *Target      `json:"refers,omitempty"`
}

// Target is a table that has a record of what a property names, and its column by which.
type Target struct {
	Table string `json:"table"`
	Key   string `json:"key"`
}

// Around is what there is besides a type when its columns get their names.
type Around struct {
	// Taken tells the names of tables that something else has.
	Taken func(table string) bool
	// Refer returns the table that has records of the objects of a type, and the column that
	// holds a property of theirs by which others may name them; false for none. regional
	// tells whether the names are those of a region.
	Refer func(typeName, property string, regional bool) (Target, bool)
}

// A property may have up to three columns besides its own: for the secrets in it, for the part that identifies
// the object (a [Path]), and for the record that it names.
const (
	partSecrets = "*"
	partRecord  = "->" // the record of what the property names
)

// Lay gives the columns of a type names. Those of an earlier layout keep theirs; a
// property that has another type now gets another column, and what is not in the schema
// any more is marked. What names objects of a type that is a table gets a reference to
// that beside it.
func Lay(s *Schema, earlier Layout, revision int, around Around) (Layout, error) {
	l := Layout{Table: earlier.Table}
	if l.Table == "" {
		names := TableNames(s.Name)
		free := slices.IndexFunc(names, func(name string) bool { return !around.Taken(name) })
		if free < 0 {
			return l, fmt.Errorf("a table %s exists already", names[len(names)-1])
		}
		l.Table = names[free]
	}
	used := map[string]bool{}
	for _, name := range ours {
		used[name] = true
	}
	for _, p := range earlier.Columns {
		used[p.Name], p.Gone = true, true
		l.Columns = append(l.Columns, p)
	}
	tags := false
	for _, want := range s.placed() {
		at := slices.IndexFunc(l.Columns, func(p Placed) bool {
			return p.Property == want.Property && p.Part == want.Part && p.Type == want.Type
		})
		if at >= 0 {
			l.Columns[at].Gone = false
			tags = tags || l.Columns[at].Name == modules.ColumnTags
			continue
		}
		if want.Name != modules.ColumnTags || tags {
			want.Name = unused(want.Name, used)
		}
		tags = tags || want.Name == modules.ColumnTags
		used[want.Name], want.Since = true, revision
		l.Columns = append(l.Columns, want)
	}
	l.refer(s, around, revision, used)
	return l, l.check(s, earlier)
}

// refer adds the columns with the records that properties name.
func (l *Layout) refer(s *Schema, around Around, revision int, used map[string]bool) {
	if around.Refer == nil {
		return
	}
	for _, name := range sorted(s.properties()) {
		main := slices.IndexFunc(l.Columns, func(p Placed) bool {
			return p.Property == name && p.Part == "" && p.Type == modules.TypeText && !p.Gone
		})
		if main < 0 || !s.mayRefer(name) {
			continue
		}
		at := slices.IndexFunc(l.Columns, func(p Placed) bool { return p.Property == name && p.Part == partRecord })
		target, found := s.target(name, around.Refer)
		switch {
		case at >= 0 && found && l.Columns[at].Refers != nil && *l.Columns[at].Refers == target:
			l.Columns[at].Gone = false
		case at >= 0 || !found: // what it once referred to is kept, and marked
		default:
			p := Placed{Name: unused(bounded(l.Columns[main].Name+"_record", maxColumn), used), Property: name,
				Part: partRecord, Type: modules.TypeBigint, Since: revision, Refers: &target}
			used[p.Name] = true
			l.Columns = append(l.Columns, p)
		}
	}
}

// mayRefer reports whether a property may have a column with the record that it names
// beside it. What identifies an object has its name alone.
func (s *Schema) mayRefer(property string) bool {
	return !s.identifies(Path{property}) && !s.secret(property) && property != s.TagProperty
}

// target returns the table that has a record of what a property names.
func (s *Schema) target(property string, refer func(typeName, property string, regional bool) (Target, bool)) (Target,
	bool) {
	of, keys := s.relations(s.resolve(s.properties()[property]))
	if of == "" || of == s.Name { // the table itself has its records only once it is made
		return Target{}, false
	}
	for _, key := range keys {
		if t, found := refer(of, key, !Global(s.Name)); found {
			return t, true
		}
	}
	return Target{}, false
}

// check fails for a schema whose objects are known by something else than before.
func (l *Layout) check(s *Schema, earlier Layout) error {
	if len(earlier.Columns) == 0 {
		return nil
	}
	for _, id := range s.Identifier {
		if p := l.identity(id); p == nil || !slices.ContainsFunc(earlier.Columns, func(e Placed) bool {
			return e.Name == p.Name
		}) {
			return errors.New("its newer schema knows its objects by another identifier: uninstall it, and install " +
				"it again")
		}
	}
	return nil
}

// identity returns the column of a part of the identifier.
func (l *Layout) identity(id Path) *Placed {
	part := ""
	if len(id) > 1 {
		part = strings.Join(id[1:], "/")
	}
	for i := range l.Columns {
		if p := &l.Columns[i]; p.Property == id[0] && p.Part == part && !p.Gone {
			return p
		}
	}
	return nil
}

func unused(name string, used map[string]bool) string {
	for n := 2; used[name]; n++ {
		base := bounded(name, maxColumn-4)
		if candidate := fmt.Sprintf("%s_%d", base, n); !used[candidate] {
			return candidate
		}
	}
	return name
}

// placed returns the columns that a schema asks for: what identifies an object first, then
// what has to be given, what may be, and what AWS says.
func (s *Schema) placed() []Placed {
	var names []string
	for name := range s.properties() {
		names = append(names, name)
	}
	rank := func(name string) int {
		switch {
		case s.identifies(Path{name}):
			return 0
		case s.is(s.ReadOnly, name):
			return 3
		case slices.Contains(s.Required, name):
			return 1
		}
		return 2
	}
	sort.Slice(names, func(i, j int) bool {
		if a, b := rank(names[i]), rank(names[j]); a != b {
			return a < b
		}
		return names[i] < names[j]
	})
	var out []Placed
	for _, id := range s.Identifier {
		if len(id) > 1 {
			out = append(out, Placed{Name: ColumnName(s.Name, strings.Join(id, "_")), Property: id[0],
				Part: strings.Join(id[1:], "/"), Type: modules.TypeText})
		}
	}
	for _, name := range names {
		p := Placed{Name: ColumnName(s.Name, name), Property: name, Type: s.kind(s.properties()[name], 0).column()}
		switch {
		case s.secret(name):
			p.Type = modules.TypeText
		case name == s.TagProperty && s.tagForm(name) != nil:
			p.Name, p.Type = modules.ColumnTags, modules.TypeJSON
		}
		out = append(out, p)
		if p.Type == modules.TypeJSON && p.Name != modules.ColumnTags && len(s.within(s.WriteOnly, name)) > 0 {
			out = append(out, Placed{Name: bounded(p.Name+"_write_only", maxColumn), Property: name, Part: partSecrets,
				Type: modules.TypeText})
		}
	}
	return out
}

// identifies reports whether a path is a part of the identifier.
func (s *Schema) identifies(p Path) bool {
	return slices.ContainsFunc(s.Identifier, func(q Path) bool { return slices.Equal(p, q) })
}

// is reports whether a list of paths has the property itself.
func (s *Schema) is(list []Path, property string) bool {
	return slices.ContainsFunc(list, func(p Path) bool { return len(p) == 1 && p[0] == property })
}

// secret reports whether the property can be written and not read.
func (s *Schema) secret(property string) bool {
	return s.is(s.WriteOnly, property) && !s.is(s.ReadOnly, property) && !s.identifies(Path{property})
}

// within returns what a list of paths has within a property, relative to it.
func (s *Schema) within(list []Path, property string) []Path {
	var out []Path
	for _, p := range list {
		if len(p) > 1 && p[0] == property {
			out = append(out, p[1:])
		}
	}
	return out
}
