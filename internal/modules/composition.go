package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Composition is a module in SQL alone: a table, its interface, each row of which stands for
// records of other modules' tables. It is read from a folder; see [ReadComposition].
type Composition struct {
	Name    string            `json:"name"`
	Version int               `json:"version"`
	Needs   []string          `json:"needs"` // the modules that have the tables of its parts
	Doc     string            `json:"doc"`
	Parts   []CompositionPart `json:"parts"`
	// Interface is the statements that make the table and describe its columns.
	Interface string `json:"-"`
	// Upgrades are the statements that bring the table of an installed version to a later one, by that.
	Upgrades map[int]string `json:"-"`
}

// CompositionPart says which records of one table a row of the interface stands for. Parts are in
// the order in which records are made: each after those that it refers to.
type CompositionPart struct {
	Name  string `json:"part"`
	Table string `json:"table"`
	// Select is a SELECT over the relations named as the composition, which has the row, and part,
	// which has the records of the parts before. Its column key tells the records apart, and the others
	// are columns of the table.
	Select string `json:"-"`
}

var compositionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)

// ReadComposition reads a composition from a folder: manifest.json, interface.sql, parts/NAME.sql for each part, and
// upgrade_N.sql for versions whose interface is another.
func ReadComposition(folder fs.FS) (*Composition, error) {
	manifest, err := fs.ReadFile(folder, "manifest.json")
	if err != nil {
		return nil, fmt.Errorf("read a composition: %w", err)
	}
	c := &Composition{}
	decoder := json.NewDecoder(bytes.NewReader(manifest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	text, err := fs.ReadFile(folder, "interface.sql")
	if err != nil {
		return nil, fmt.Errorf("read composition %s: %w", c.Name, err)
	}
	c.Interface, c.Upgrades = string(text), map[int]string{}
	for v := 2; v <= c.Version; v++ {
		text, err := fs.ReadFile(folder, fmt.Sprintf("upgrade_%d.sql", v))
		if err == nil {
			c.Upgrades[v] = string(text)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read composition %s: %w", c.Name, err)
		}
	}
	for i := range c.Parts {
		text, err := fs.ReadFile(folder, "parts/"+c.Parts[i].Name+".sql")
		if err != nil {
			return nil, fmt.Errorf("read composition %s: %w", c.Name, err)
		}
		c.Parts[i].Select = strings.TrimSuffix(strings.TrimSpace(string(text)), ";")
	}
	files, err := fs.Glob(folder, "parts/*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "parts/"), ".sql")
		if !slices.ContainsFunc(c.Parts, func(p CompositionPart) bool { return p.Name == name }) {
			return nil, fmt.Errorf("composition %s: manifest.json has no part %s, and there is %s", c.Name, name, file)
		}
	}
	return c, nil
}

func (c *Composition) check() error {
	switch {
	case !compositionName.MatchString(c.Name):
		return fmt.Errorf("name %q is not made of at most 30 lower-case letters, digits and _", c.Name)
	case c.Version < 1:
		return fmt.Errorf("version %d is not 1 or more", c.Version)
	case c.Doc == "":
		return fmt.Errorf("doc is missing: a sentence that says what a row stands for")
	case len(c.Parts) == 0:
		return fmt.Errorf("there are no parts")
	}
	seen := map[string]bool{}
	for _, p := range c.Parts {
		if !compositionName.MatchString(p.Name) || p.Table == "" || seen[p.Name] {
			return fmt.Errorf("part %q of table %q has no name of its own, or no table", p.Name, p.Table)
		}
		seen[p.Name] = true
	}
	return nil
}

// TriggerDDL returns the triggers of the interface.
func (c *Composition) TriggerDDL() []string {
	name := quote(c.Name)
	statements := []string{
		"CREATE TRIGGER iasql_refuse_truncate BEFORE TRUNCATE ON public." + name +
			" FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.refuse_truncate()",
		"CREATE TRIGGER iasql_mention BEFORE INSERT ON public." + name +
			" FOR EACH ROW WHEN (current_setting('iasql.batch', true) <> '') EXECUTE FUNCTION " +
			"iasql_internal.mention_conflicting()",
	}
	for _, on := range []struct{ verb, rows string }{
		{"INSERT", "NEW TABLE AS new_rows"},
		{"UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows"},
		{"DELETE", "OLD TABLE AS old_rows"},
	} {
		for _, f := range []string{"audit", "compose"} { // in this order, by the triggers' names
			statements = append(statements,
				fmt.Sprintf("CREATE TRIGGER iasql_%s_%s AFTER %s ON public.%s REFERENCING %s "+
					"FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.%s()", f, strings.ToLower(on.verb), on.verb,
					name,
					on.rows, f))
		}
	}
	return statements
}

// FunctionName returns the name of the function of a part, in schema iasql_composition.
func (c *Composition) FunctionName(p *CompositionPart) string { return quote(c.Name + "." + p.Name) }

// ProbeDDL returns the statement that makes a view with the columns of a part.
func (c *Composition) ProbeDDL(p *CompositionPart, view string) string {
	return fmt.Sprintf("CREATE VIEW %s AS\n%s", view, c.query(p, "SELECT i.* FROM public."+quote(c.Name)+" i",
		"'{}'::iasql_composition.part[]", "*"))
}

// FunctionDDL returns the statement that makes the function of a part, whose columns have these
// types.
func (c *Composition) FunctionDDL(p *CompositionPart, columns, types []string) string {
	defs := make([]string, len(columns))
	list := make([]string, len(columns))
	for i := range columns {
		defs[i] = quote(columns[i]) + " " + types[i]
		list[i] = "w." + quote(columns[i])
	}
	return fmt.Sprintf("CREATE FUNCTION iasql_composition.%s(public.%s, iasql_composition.part[]) RETURNS TABLE (%s) "+
		"LANGUAGE sql STABLE BEGIN ATOMIC\n%s;\nEND", c.FunctionName(p), quote(c.Name), strings.Join(defs, ", "),
		c.query(p, "SELECT ($1).*", "$2", strings.Join(list, ", ")))
}

func (c *Composition) query(p *CompositionPart, row, parts, list string) string {
	return fmt.Sprintf("WITH %s AS (%s), part AS (SELECT p.part, p.key, p.id FROM unnest(%s) p)\nSELECT %s FROM "+
		"(\n%s\n) w",
		quote(c.Name), row, parts, list, p.Select)
}

// Compose has the registry know these compositions. It is called once, before anything else uses the registry.
func (r *Registry) Compose(list ...*Composition) error {
	for _, c := range list {
		if _, err := r.Closure(c.Needs...); err != nil {
			return fmt.Errorf("composition %s: %w", c.Name, err)
		}
		if r.Module(c.Name) != nil || r.Table(c.Name) != nil || r.Composition(c.Name) != nil {
			return fmt.Errorf("composition %s: something else is called so", c.Name)
		}
		r.compositions = append(r.compositions, c)
	}
	return nil
}

// Compositions returns the compositions that the engine brings.
func (r *Registry) Compositions() []*Composition { return r.compositions }

// Composition returns the composition of that name, nil if there is none.
func (r *Registry) Composition(name string) *Composition {
	for _, c := range r.compositions {
		if c.Name == name {
			return c
		}
	}
	return nil
}
