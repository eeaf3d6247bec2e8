package modules

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Module is a named set of resources that is installed, upgraded and
// uninstalled as one.
type Module struct {
	Name         string // "aws_vpc"
	Version      int    // 1, 2, …; raising it upgrades installed modules in place
	Doc          string
	Dependencies []string // modules that must be installed first
	Resources    []Resource
	// Functions are what the module can do besides keeping its tables. One that
	// goes or takes other parameters is dropped by a migration.
	Functions []*Function
	// Settings are tables that configure the module and have no counterpart in
	// the cloud (aws_account).
	Settings []*Table
	// Migrations are the statements that bring an installed module to a
	// version, by version, beyond the columns that Column.Since adds by itself.
	// Those of version 1 run after the tables have been made; those of version
	// 0 before, on the first install: functions that columns default to.
	Migrations map[int]string
	// Drop is run after the tables have been dropped: it removes what Migrations
	// made besides tables.
	Drop string
}

// Tables returns the descriptions of all tables of the module, settings first.
func (m *Module) Tables() []*Table {
	tables := slices.Clone(m.Settings)
	for _, r := range m.Resources {
		tables = append(tables, r.Table())
	}
	return tables
}

// Provider returns whose accounts the module's tables are of, [Table.Provider]; "" of a module without tables.
func (m *Module) Provider() string {
	for _, t := range m.Tables() {
		return t.Provider
	}
	return ""
}

// Registry holds the modules that an engine knows: those it was built with, and
// resource types that it has been told of since ([Registry.Extend]). It is safe for
// concurrent use, and forgets nothing.
type Registry struct {
	extend  sync.Mutex
	content atomic.Pointer[content]
	ordered sync.Map // by provider: the *Ordering that was asked last
	names   []TypeName

	compositions []*Composition
}

// Ordering are tables of which every one comes after those that it references (see [Order]).
// Nobody changes it.
type Ordering struct {
	Tables []*Table
	Rank   map[string]int // places in Tables, by name

	of    *content
	names []string
}

// Ordered returns the provider's tables of these names that have a resource in their order. The last
// answer is kept, because every cycle asks, mostly for the same.
func (r *Registry) Ordered(provider string, names []string) *Ordering {
	c := r.content.Load()
	if kept, _ := r.ordered.Load(provider); kept != nil {
		if known := kept.(*Ordering); known.of == c && slices.Equal(known.names, names) {
			return known
		}
	}
	var tables []*Table
	for _, name := range names {
		if res := c.resources[name]; res != nil && res.Table().Provider == provider {
			tables = append(tables, res.Table())
		}
	}
	o := &Ordering{Tables: Order(tables), Rank: map[string]int{}, of: c, names: slices.Clone(names)}
	for i, t := range o.Tables {
		o.Rank[t.Name] = i
	}
	r.ordered.Store(provider, o)
	return o
}

// content is what a registry holds; it is not changed any more once it is there.
type content struct {
	modules   []*Module // in dependency order
	byName    map[string]*Module
	resources map[string]Resource // by table
	tables    map[string]*Table
	owner     map[string]*Module // by table
	functions map[string]*Function
	touched   map[call][]Touching
	sources   map[string]bool // services that have touches
}

// NewRegistry checks the modules' descriptions and their dependencies and
// returns a registry of them. Its errors are defects of the modules.
func NewRegistry(list ...*Module) (*Registry, error) {
	r := &Registry{}
	c, err := newContent(list, nil)
	r.content.Store(c)
	return r, err
}

// Extend adds modules; one of a name that is known already takes that one's place.
// If something is wrong with one of them, nothing is added.
func (r *Registry) Extend(list ...*Module) error {
	r.extend.Lock()
	defer r.extend.Unlock()
	newer := make(map[string]bool, len(list))
	for _, m := range list {
		newer[m.Name] = true
	}
	all := slices.DeleteFunc(slices.Clone(r.Modules()), func(m *Module) bool { return newer[m.Name] })
	c, err := newContent(append(all, list...), r.content.Load().byName)
	if err != nil {
		return err
	}
	r.content.Store(c)
	return nil
}

// newContent returns what a registry of these modules holds; those among valid have been
// checked before.
func newContent(list []*Module, valid map[string]*Module) (*content, error) {
	c := &content{
		byName:    map[string]*Module{},
		resources: map[string]Resource{},
		tables:    map[string]*Table{},
		owner:     map[string]*Module{},
		functions: map[string]*Function{},
		touched:   map[call][]Touching{},
		sources:   map[string]bool{},
	}
	for _, m := range list {
		if err := c.add(m, valid[m.Name] == m); err != nil {
			return nil, err
		}
	}
	ordered, err := c.closure(slices.Sorted(maps.Keys(c.byName))...)
	if err != nil {
		return nil, err
	}
	c.modules = ordered
	if err := c.addFunctions(); err != nil {
		return nil, err
	}
	c.addEventMappings()
	return c, c.checkReferences()
}

// add registers a module's tables and resources.
func (c *content) add(m *Module, valid bool) error {
	if c.byName[m.Name] != nil {
		return fmt.Errorf("module %s is registered twice", m.Name)
	}
	c.byName[m.Name] = m
	for _, t := range m.Settings {
		t.settings = true
	}
	for _, t := range m.Tables() {
		if valid {
			c.tables[t.Name], c.owner[t.Name] = t, m
			continue
		}
		if err := t.Validate(); err != nil {
			return fmt.Errorf("module %s: %w", m.Name, err)
		}
		if c.tables[t.Name] != nil {
			return fmt.Errorf("module %s: table %s is described twice", m.Name, t.Name)
		}
		c.tables[t.Name], c.owner[t.Name] = t, m
	}
	for _, res := range m.Resources {
		c.resources[res.Table().Name] = res
		if valid {
			continue
		}
		if declared, ok := res.(Validator); ok {
			if err := declared.Validate(); err != nil {
				return fmt.Errorf("module %s: %w", m.Name, err)
			}
		}
		if _, finds := res.(Finder); res.Table().Creation == ByTag && !finds {
			return fmt.Errorf("module %s: table %s is created ByTag and its resource cannot FindCreated", m.Name,
				res.Table().Name)
		}
	}
	return nil
}

func (c *content) addFunctions() error {
	for _, m := range c.modules {
		for _, f := range m.Functions {
			if err := f.validate(c.tables[f.Table]); err != nil {
				return fmt.Errorf("module %s: %w", m.Name, err)
			}
			if c.functions[f.Name] != nil {
				return fmt.Errorf("module %s: function %s is described twice", m.Name, f.Name)
			}
			c.functions[f.Name] = f
		}
	}
	return nil
}

// checkReferences checks that every reference is to a column of a table there is
// by which others may name its objects.
func (c *content) checkReferences() error {
	for _, t := range c.tables {
		for i := range t.Columns {
			ref := cmp.Or(t.Columns[i].References, t.Columns[i].Records)
			if ref == nil {
				continue
			}
			target := c.tables[ref.Table]
			if target == nil {
				return fmt.Errorf("table %s: column %s references the unknown table %s", t.Name,
					t.Columns[i].Name, ref.Table)
			}
			if err := NamesObjects(target, ref.Key); err != nil {
				return fmt.Errorf("table %s: column %s references %s.%s, which %w", t.Name, t.Columns[i].Name,
					ref.Table, ref.Key, err)
			}
			if c := target.Column(ref.ListedIf); ref.ListedIf != "" && (c == nil || !c.Local || c.Type != TypeBool) {
				return fmt.Errorf("table %s: column %s: ListedIf: %s.%s is no Local column of type boolean", t.Name,
					t.Columns[i].Name, ref.Table, ref.ListedIf)
			}
		}
	}
	return nil
}

// NamesObjects checks that others may name the table's objects by the column key.
// That is the identity where it is one column: the engine keeps it of objects
// whose records have been deleted, or stand for a successor. Another column has
// to be assigned by the cloud and unique, and the successor of an object of the
// table must come when it has gone: its records alone tell what is named.
func NamesObjects(t *Table, key string) error {
	c := t.Column(key)
	if c == nil {
		return errors.New("does not exist")
	}
	switch identity := t.Identity(); {
	case len(identity) == 1 && identity[0] == key:
		return nil
	case !c.Computed:
		return errors.New("is neither the table's identity nor assigned by the cloud")
	case !t.DestroyBeforeCreate:
		return errors.New("is not the table's identity, and the table lacks DestroyBeforeCreate")
	}
	want := append(t.scopeColumns(), key)
	if !slices.ContainsFunc(t.Uniques, func(u []string) bool { return slices.Equal(u, want) }) {
		return fmt.Errorf("is not the table's identity, and not unique: its Uniques lack {%s}",
			strings.Join(want, ", "))
	}
	return nil
}

// typeName is what the name of a type looks like: that of a table.
var typeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,53}$`)

// NameTypes says by which names people know types that a [Source] can make modules of. It is
// called once, before the registry is used. Its errors are defects of the names.
func (r *Registry) NameTypes(names []TypeName) error {
	seen := map[string]bool{}
	for _, n := range names {
		switch {
		case !typeName.MatchString(n.Name) || n.Type == "" || n.Doc == "":
			return fmt.Errorf("the name %q of the type %q: %q is no name, no type, or says nothing", n.Name, n.Type,
				n.Doc)
		case seen[n.Name] || seen[n.Type]:
			return fmt.Errorf("the name %s of the type %s is given twice, or the type has two", n.Name, n.Type)
		case r.Module(n.Name) != nil || r.Table(n.Name) != nil || r.Function(n.Name) != nil:
			return fmt.Errorf("the name %s of the type %s is that of a module, of a table or of a function", n.Name,
				n.Type)
		}
		seen[n.Name], seen[n.Type] = true, true
	}
	r.names = names
	return nil
}

// TypeNames returns the names that people know types by.
func (r *Registry) TypeNames() []TypeName { return r.names }

// Modules returns every module, dependencies before dependents.
func (r *Registry) Modules() []*Module { return r.content.Load().modules }

// Of returns the modules of a provider, dependencies before dependents.
func (r *Registry) Of(provider string) []*Module {
	return slices.DeleteFunc(slices.Clone(r.Modules()), func(m *Module) bool { return m.Provider() != provider })
}

// Module returns the module of that name, nil if there is none.
func (r *Registry) Module(name string) *Module { return r.content.Load().byName[name] }

// Table returns the description of a table, nil if no module has it.
func (r *Registry) Table(name string) *Table { return r.content.Load().tables[name] }

// Resource returns a table's resource, nil for settings tables and unknown
// names.
func (r *Registry) Resource(table string) Resource { return r.content.Load().resources[table] }

// Function returns the function of that name, nil if no module has it.
func (r *Registry) Function(name string) *Function { return r.content.Load().functions[name] }

// Owner returns the module a table belongs to, nil if none does.
func (r *Registry) Owner(table string) *Module { return r.content.Load().owner[table] }

// Closure returns the named modules and all they depend on, dependencies
// first. It fails on unknown names and on circular dependencies.
func (r *Registry) Closure(names ...string) ([]*Module, error) {
	return r.content.Load().closure(names...)
}

func (c *content) closure(names ...string) ([]*Module, error) {
	var (
		ordered []*Module
		state   = map[string]int{} // 1: being visited, 2: done
		visit   func(name, from string) error
	)
	visit = func(name, from string) error {
		m := c.byName[name]
		switch {
		case m == nil && from != "":
			return fmt.Errorf("module %s depends on the unknown module %s", from, name)
		case m == nil:
			return fmt.Errorf("unknown module %s", name)
		case state[name] == 1:
			return fmt.Errorf("module %s depends on itself, through %s", name, from)
		case state[name] == 2:
			return nil
		}
		state[name] = 1
		for _, dep := range m.Dependencies {
			if err := visit(dep, name); err != nil {
				return err
			}
		}
		state[name] = 2
		ordered = append(ordered, m)
		return nil
	}
	for _, name := range names {
		if err := visit(name, ""); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// Order returns tables sorted so that every table comes after those it
// references; tables that reference each other keep their given order.
func Order(tables []*Table) []*Table {
	byName := make(map[string]*Table, len(tables))
	for _, t := range tables {
		byName[t.Name] = t
	}
	var (
		ordered []*Table
		seen    = map[string]bool{}
		visit   func(t *Table)
	)
	visit = func(t *Table) {
		if t == nil || seen[t.Name] {
			return
		}
		seen[t.Name] = true
		for _, parent := range t.Parents() {
			visit(byName[parent])
		}
		ordered = append(ordered, t)
	}
	for _, t := range tables {
		visit(t)
	}
	return ordered
}
