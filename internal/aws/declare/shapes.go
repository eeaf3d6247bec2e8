package declare

import "reflect"

// Member is a place in the API's shapes where a column lives.
type Member struct {
	Path string
	// Type is what the SDK has there. It is nil where a call of the module's own
	// takes the column, so that nothing binds it.
	Type reflect.Type
}

// Object returns the type that the table is declared by: what the API answers of
// an object.
func (r *Resource) Object() reflect.Type { return r.object }

// Made returns the columns that are made of what AWS publishes: see [Published].
func (r *Resource) Made() []string {
	var names []string
	for _, c := range r.columns {
		if c.made {
			names = append(names, c.Name)
		}
	}
	return names
}

// enumeration returns the values of one of the SDK's enumerations; nil of any
// other type.
func enumeration(t reflect.Type) []string {
	if t = deref(t); t.Kind() != reflect.String {
		return nil
	}
	method := reflect.Zero(t).MethodByName("Values")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil
	}
	all := method.Call(nil)[0]
	values := make([]string, all.Len())
	for i := range values {
		values[i] = all.Index(i).String()
	}
	return values
}

// Members returns where each column lives: first where it is read, then in the
// inputs of the calls that create and change the object. It is for tests that
// compare a declaration with what AWS publishes.
func (r *Resource) Members() map[string][]Member {
	members := map[string][]Member{}
	seen := map[[2]string]bool{}
	add := func(column string, m Member) {
		if key := [2]string{column, m.Path}; m.Path != "" && !seen[key] {
			seen[key] = true
			members[column] = append(members[column], m)
		}
	}
	targets := func(all []target) {
		for _, t := range all {
			if t.path != nil {
				add(t.column.Name, Member{t.path.text, t.path.leaf})
			}
		}
	}
	targets(r.direct)
	for _, reading := range r.apart {
		targets(reading.columns)
	}
	targets(r.created)
	for _, u := range r.updates {
		targets(u.targets)
	}
	for i := range r.columns {
		c := &r.columns[i]
		for _, path := range append([]string{c.member}, c.inputs...) {
			add(c.Name, Member{Path: path})
		}
	}
	return members
}
