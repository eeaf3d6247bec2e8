package modules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// FailsInDemo begins what Demo of a function says if its sample fails in the demo.
const FailsInDemo = "In `make demo` this fails: "

// Function is something a module does that is no state of its tables: it calls a
// function, publishes a message, reads a log. In the database it is a function
// in schema public that waits for the engine to do it, and returns rows.
//
// What it does happens at once and stays done, whatever becomes of the
// transaction it is called in. So a function that acts is refused while a batch
// is open and where the cloud decides (TRACK), its calls to the cloud are
// journaled, and it is never done a second time by itself.
type Function struct {
	Name   string
	Doc    string
	Sample string // an SQL statement that calls it
	// Given are statements that make what Sample assumes; the page shows them before it.
	Given string
	// Demo says, in a sentence of the page, what is otherwise in the demo, whose emulator is not AWS. If
	// Sample fails there, it begins with FailsInDemo; a test sees to it that it does.
	Demo string
	// Table is the table it is about: who may write that may call it, and its
	// mode holds.
	Table string
	// Right is the privilege on Table that the caller needs: "INSERT" where
	// something new is made, "UPDATE" where something that is there is used,
	// "SELECT" for a function that only reads.
	Right      string
	Parameters []Parameter
	Returns    []Result
	// Call does it and returns rows of what Returns describes.
	Call func(ctx context.Context, i Invocation) ([]Row, error)
}

// Invocation is one call of a function.
type Invocation struct {
	Scope Scope
	// Arguments holds every parameter, in canonical form.
	Arguments Row
	// Permit is needed by calls of the cloud that change something; nil where Right is
	// SELECT.
	Permit *Permit
}

// Parameter is a parameter of a function.
type Parameter struct {
	Name    string
	Type    Type
	Doc     string
	Default string // SQL expression; "": it has to be given
	// Names is the column of the function's table that holds this value in the
	// record that the function is about; "": it names none.
	Names string
}

// Result is a column of what a function returns.
type Result struct {
	Name string
	Type Type
	Doc  string
}

// Acts reports whether the function may change something.
func (f *Function) Acts() bool { return f.Right != "SELECT" }

// scoped returns the parameters with those that say where: after the others,
// unless the function has its own of that name.
func (f *Function) scoped(t *Table) []Parameter {
	all := slices.Clone(f.Parameters)
	for _, name := range []string{ColumnRegion, ColumnAccount} {
		c := t.Column(name)
		if c == nil || slices.ContainsFunc(all, func(p Parameter) bool { return p.Name == name }) {
			continue
		}
		all = append(all, Parameter{Name: name, Type: c.Type, Default: c.Default, Names: name,
			Doc: "Where: the " + name + " it is in. The default one if left out."})
	}
	return all
}

// validate reports the first thing wrong with the description.
func (f *Function) validate(t *Table) error {
	if f.Name == "" || f.Doc == "" || f.Call == nil || len(f.Returns) == 0 {
		return fmt.Errorf("function %q: name, doc, call and returns are required", f.Name)
	}
	if t == nil {
		return fmt.Errorf("function %s: is about the unknown table %s", f.Name, f.Table)
	}
	if !slices.Contains([]string{"SELECT", "INSERT", "UPDATE"}, f.Right) {
		return fmt.Errorf("function %s: there is no right %q", f.Name, f.Right)
	}
	seen, optional := map[string]bool{}, false
	for _, p := range f.scoped(t) {
		switch {
		case p.Name == "" || p.Type == "" || p.Doc == "":
			return fmt.Errorf("function %s: parameter %q: name, type and doc are required", f.Name, p.Name)
		case seen[p.Name]:
			return fmt.Errorf("function %s: %s is described twice", f.Name, p.Name)
		case optional && p.Default == "":
			return fmt.Errorf("function %s: parameter %s follows one with a default and has none", f.Name, p.Name)
		case p.Names != "" && t.Column(p.Names) == nil:
			return fmt.Errorf("function %s: parameter %s names the unknown column %s.%s", f.Name, p.Name,
				t.Name, p.Names)
		}
		seen[p.Name], optional = true, p.Default != ""
	}
	for _, r := range f.Returns {
		if r.Name == "" || r.Type == "" || r.Doc == "" || seen[r.Name] {
			return fmt.Errorf("function %s: result %q: name, type and doc are required, and a name that nothing "+
				"else has", f.Name, r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

// signature returns the function with the types of its parameters.
func (f *Function) signature(t *Table) string {
	var types []string
	for _, p := range f.scoped(t) {
		types = append(types, string(p.Type))
	}
	return fmt.Sprintf("public.%s(%s)", quote(f.Name), strings.Join(types, ", "))
}

// DDL returns the statements that make the function, t being its table. Made
// again it stays the same function.
func (f *Function) DDL(t *Table) []string {
	var parameters, args, results []string
	for i, p := range f.scoped(t) {
		def := quote(p.Name) + " " + string(p.Type)
		if p.Default != "" {
			def += " DEFAULT " + p.Default
		}
		parameters = append(parameters, def)
		pair := fmt.Sprintf("%s, $%d", literal(p.Name), i+1)
		args = append(args, pair)
	}
	for _, r := range f.Returns {
		results = append(results, quote(r.Name)+" "+string(r.Type))
	}
	columns := strings.Join(results, ", ")
	object := func(pairs []string) string { return "jsonb_build_object(" + strings.Join(pairs, ", ") + ")" }
	return []string{
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION public.%[1]s(%[2]s)
RETURNS TABLE (%[3]s)
LANGUAGE sql VOLATILE `+pinned+` SET bytea_output = 'hex'
AS %[4]s`, quote(f.Name), strings.Join(parameters, ", "), columns, dollar(fmt.Sprintf(`
    SELECT iasql_internal.allow_call(%[1]s, %[2]s);
    SELECT r.* FROM jsonb_to_recordset(iasql_internal.call(%[1]s, %[2]s)) AS r (%[3]s)
`, literal(f.Name), object(args), columns))),
		fmt.Sprintf("COMMENT ON FUNCTION %s IS %s", f.signature(t), literal(f.comment())),
		fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", f.signature(t)),
		fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO iasql_reader", f.signature(t)), // the right on the table decides
	}
}

// Record returns which parameters name the record that the function is about, by
// column.
func (f *Function) Record(t *Table) map[string]string {
	names := map[string]string{}
	for _, p := range f.scoped(t) {
		if p.Names != "" {
			names[p.Names] = p.Name
		}
	}
	return names
}

// DropDDL returns the statement that removes the function.
func (f *Function) DropDDL(t *Table) string {
	return "DROP FUNCTION IF EXISTS " + f.signature(t)
}

func (f *Function) comment() string {
	doc := f.Doc
	if f.Acts() {
		doc += " What it does stays done, even if the transaction is rolled back."
	}
	if f.Sample != "" {
		doc += "\nSample: " + f.Sample
	}
	return doc
}

// Arguments returns what a caller has given, as to_jsonb prints it, in the form
// that Call takes, and the scope.
func (f *Function) Arguments(t *Table, raw func(name string) json.RawMessage) (Scope, Row, error) {
	args := Row{}
	for _, p := range f.scoped(t) {
		given := raw(p.Name)
		if len(given) == 0 || string(given) == "null" {
			if p.Default == "" {
				return Scope{}, nil, &Error{Class: Invalid, Code: "Argument", Message: "argument " + p.Name +
					" must not be NULL"}
			}
			args[p.Name] = Null
			continue
		}
		text := string(given)
		if p.Type != TypeJSON && p.Type != TypeTexts && text[0] == '"' {
			if err := json.Unmarshal(given, &text); err != nil {
				return Scope{}, nil, err
			}
		}
		canonical, err := p.Type.Canonical(text)
		if err != nil {
			return Scope{}, nil, &Error{Class: Invalid, Code: "Argument", Message: "argument " + p.Name + ": " +
				err.Error(), Err: err}
		}
		args[p.Name] = Text(canonical)
	}
	scope := Scope{Account: args[ColumnAccount].String(), Region: args[ColumnRegion].String()}
	if scope.Account == "" || scope.Region == "" && t.Reach == PerRegion {
		return Scope{}, nil, &Error{Class: Invalid, Code: "Argument",
			Message: "account and region must not be NULL, and there is no default one"}
	}
	return scope, args, nil
}

// markdown returns the function's part of its module's page.
func (f *Function) markdown(t *Table) string {
	var b strings.Builder
	var names []string
	for _, p := range f.scoped(t) {
		names = append(names, p.Name)
	}
	fmt.Fprintf(&b, "\n## %s(%s)\n\n%s\n", f.Name, strings.Join(names, ", "),
		strings.TrimSpace(strings.SplitN(f.comment(), "\nSample:", 2)[0]))
	if f.Sample != "" {
		if f.Demo != "" {
			fmt.Fprintf(&b, "\n%s\n", f.Demo)
		}
		given := f.Given
		if given != "" {
			given += ";\nSELECT iasql_wait_for_all();\n"
		}
		fmt.Fprintf(&b, "\n```sql\n%s%s;\n```\n", given, f.Sample)
	}
	fmt.Fprintf(&b, "\nNeeds the right to %s `%s`.\n\n| parameter | type | |\n|---|---|---|\n", f.Right, f.Table)
	for _, p := range f.scoped(t) {
		doc := p.Doc
		if p.Default != "" {
			doc += " Default `" + shownDefault(p.Default) + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.Type, strings.ReplaceAll(doc, "|", "\\|"))
	}
	b.WriteString("\n| returns | type | |\n|---|---|---|\n")
	for _, r := range f.Returns {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Type, strings.ReplaceAll(r.Doc, "|", "\\|"))
	}
	return b.String()
}

// Rows returns rows of results as JSON objects, for jsonb_to_recordset.
func (f *Function) Rows(rows []Row) ([]map[string]any, error) {
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		object := make(map[string]any, len(f.Returns))
		for _, r := range f.Returns {
			v, ok := row[r.Name]
			switch {
			case !ok:
				return nil, fmt.Errorf("function %s returned no %s", f.Name, r.Name)
			case v.IsNull():
				object[r.Name] = nil
			case r.Type == TypeJSON || r.Type == TypeTexts:
				object[r.Name] = json.RawMessage(v.String())
			default:
				object[r.Name] = v.String() // which PostgreSQL reads as the column's type
			}
		}
		out[i] = object
	}
	return out, nil
}
