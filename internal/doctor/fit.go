package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"iasql/internal/modules"
)

// The kinds of misfits.
const (
	// UnknownValue: a value that the column's list does not have. The table
	// refuses it, unless the cloud assigns the column.
	UnknownValue = "unknown value"
	// NullRequired: NULL where the column is NOT NULL.
	NullRequired = "NULL in a required column"
	// NotSaid: the answer says nothing of a required column.
	NotSaid = "required column not said"
	// WrongType: a text that is no value of the column's type.
	WrongType = "wrong type"
	// NotDescribed: a column that the table does not have.
	NotDescribed = "column that is not described"
	// NoIdentity: an object that nothing identifies.
	NoIdentity = "no identity"
	// Twice: a listing has an object twice.
	Twice = "listed twice"
	// Differs: a direct read says something else than the listing, and says so
	// again. Such a column would be written time and again.
	Differs = "second read differs"
	// Vanished: a direct read does not find what the listing has.
	Vanished = "second read does not find it"
	// CheckFails: a CHECK constraint of the column refuses the value.
	CheckFails = "CHECK refuses it"
)

// misfit is one object's.
type misfit struct{ column, kind, found, wanted string }

// misfitsOf compares a row, in cloud terms, with the description of its table.
// forming says that the cloud is still making the object, which does not say
// everything of itself meanwhile.
func misfitsOf(t *modules.Table, row modules.Row, forming bool) []misfit {
	var found []misfit
	if _, ok := t.Key(row); !ok {
		found = append(found, misfit{"", NoIdentity, "NULL", strings.Join(t.Identity(), ", ")})
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		v, known := row[c.Name]
		switch {
		case c.Name == modules.ColumnAccount, c.Name == modules.ColumnRegion, c.Local, c.WriteOnly, c.Identity &&
			(!known || v.IsNull()):
		case !known:
			if c.Required && c.Default == "" && !forming {
				found = append(found, misfit{c.Name, NotSaid, "nothing", wanted(c)})
			}
		case v.IsNull():
			if c.Required && !forming {
				found = append(found, misfit{c.Name, NullRequired, "NULL", wanted(c)})
			}
		default:
			if m, bad := misfitOf(c, v); bad {
				found = append(found, m)
			}
		}
	}
	for name := range row {
		if t.Column(name) == nil && name != modules.ColumnAccount && name != modules.ColumnRegion {
			found = append(found, misfit{name, NotDescribed, shapeOf(row[name]), "a column of the table"})
		}
	}
	return found
}

// misfitOf compares a value that is not NULL with its column.
func misfitOf(c *modules.Column, v modules.Value) (misfit, bool) {
	if len(c.Enum) > 0 && !slices.Contains(c.Enum, v.String()) {
		return misfit{c.Name, UnknownValue, wordOrShape(v), wanted(c)}, true
	}
	if c.References != nil && !c.References.ByKey { // what the cloud calls the other object
		return misfit{}, false
	}
	_, err := c.Type.Canonical(v.String())
	if err == nil && c.Type == modules.TypeInteger {
		n, _ := strconv.ParseInt(v.String(), 10, 64)
		if n > math.MaxInt32 || n < math.MinInt32 {
			err = fmt.Errorf("out of range")
		}
	}
	if err != nil {
		return misfit{c.Name, WrongType, shapeOf(v), wanted(c)}, true
	}
	return misfit{}, false
}

// wanted says what a column takes.
func wanted(c *modules.Column) string {
	switch {
	case len(c.Enum) > 0 && c.Computed: // what is newer than the list the table takes, too
		return list(c.Enum) + ", or what AWS adds"
	case len(c.Enum) > 0:
		return list(c.Enum)
	case c.Required:
		return string(c.Type) + " NOT NULL"
	}
	return string(c.Type)
}

// difference lists the columns in which a second read differs from the first.
// What one of them does not say is unknown, and no difference.
func difference(t *modules.Table, first, second modules.Row) []misfit {
	var found []misfit
	for i := range t.Columns {
		c := &t.Columns[i]
		a, in := first[c.Name]
		b, too := second[c.Name]
		if in && too && !c.Local && !c.WriteOnly && !c.Same(a, b) {
			found = append(found, misfit{c.Name, Differs, shapeOf(b), shapeOf(a)})
		}
	}
	return found
}

// misfits gathers those of all objects.
type misfits struct {
	lock sync.Mutex
	all  map[string]*Misfit
}

func (m *misfits) add(table, region string, found ...misfit) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.all == nil {
		m.all = map[string]*Misfit{}
	}
	for _, f := range found {
		shape := f.found
		if f.kind == Differs { // of many lengths
			shape = ""
		}
		key := strings.Join([]string{table, f.column, f.kind, shape}, "\x1f")
		one := m.all[key]
		if one == nil {
			one = &Misfit{Table: table, Column: f.column, Kind: f.kind, Found: f.found, Wanted: f.wanted}
			m.all[key] = one
		}
		one.Objects++
		if region != "" && !slices.Contains(one.Regions, region) {
			one.Regions = append(one.Regions, region)
		}
	}
}

// sorted returns them by table, column and kind.
func (m *misfits) sorted() []Misfit {
	m.lock.Lock()
	defer m.lock.Unlock()
	var all []Misfit
	for _, one := range m.all {
		slices.Sort(one.Regions)
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Misfit) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Found, b.Found))
	})
	return all
}

// String says it in one line.
func (m Misfit) String() string {
	name := m.Column
	if name == "" {
		name = "object"
	}
	text := fmt.Sprintf("%s: %s: %s, wanted %s", name, m.Kind, m.Found, m.Wanted)
	if m.Kind == Differs {
		text = fmt.Sprintf("%s: %s: the listing says %s, the direct read %s", name, m.Kind, m.Wanted, m.Found)
	}
	text += " (" + count(m.Objects, "object")
	if len(m.Regions) > 0 {
		text += " in " + list(m.Regions)
	}
	return text + ")"
}

// objects makes a check for each table that objects do not fit.
func (d *doctor) objects() {
	d.report.Misfits = d.misfits.sorted()
	byTable := map[string][]string{}
	var tables []string
	for _, m := range d.report.Misfits {
		if byTable[m.Table] == nil {
			tables = append(tables, m.Table)
		}
		byTable[m.Table] = append(byTable[m.Table], m.String())
	}
	for _, table := range tables {
		d.report.add(Check{ID: "objects." + table, Status: Warning, Message: "some objects do not fit the table",
			Details: byTable[table],
			Advice: "report this to the project, with this report; until then the engine says of each such record " +
				"why it is not imported"})
	}
	if len(tables) == 0 {
		d.report.add(Check{ID: "objects.all", Status: OK, Message: "every object that was read fits its table"})
	}
}
