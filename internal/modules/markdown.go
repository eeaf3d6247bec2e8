package modules

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown returns the module's page of the documentation, made from its
// descriptions, so that it says what the tables' comments say. example is the
// SQL of a worked example, "" for none.
func (m *Module) Markdown(example string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n```sql\nSELECT * FROM iasql_install('%s');\n```\n", m.Name, m.Doc, m.Name)
	if len(m.Dependencies) > 0 {
		var links []string
		for _, d := range m.Dependencies {
			links = append(links, fmt.Sprintf("[%s](%s.md)", d, d))
		}
		fmt.Fprintf(&b, "\nInstalls %s too.\n", strings.Join(links, ", "))
	}
	b.WriteString("\n## How the tables hang together\n\n```mermaid\nerDiagram\n")
	own := map[string]bool{}
	for _, t := range m.Tables() {
		own[t.Name] = true
	}
	for _, t := range m.Tables() {
		fmt.Fprintf(&b, "    %s {\n", t.Name)
		for _, name := range append([]string{ColumnID}, t.Identity()...) {
			kind := Type("bigint")
			if c := t.Column(name); c != nil {
				kind = c.Type
			}
			fmt.Fprintf(&b, "        %s %s\n", strings.NewReplacer(" ", "_", "[]", "_list").Replace(string(kind)), name)
		}
		b.WriteString("    }\n")
	}
	for _, t := range m.Tables() {
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.References == nil || c.Name == ColumnAccount || c.Name == ColumnRegion {
				continue
			}
			most := "||"
			if !c.Required {
				most = "|o"
			}
			fmt.Fprintf(&b, "    %s }o--%s %s : %s\n", t.Name, most, c.References.Table, c.Name)
		}
	}
	b.WriteString("```\n")
	if example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n```sql\n%s\n```\n", strings.TrimSpace(example))
	}
	for _, t := range m.Tables() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Name, t.Doc)
		if t.HoldsData {
			b.WriteString("\n**Holds data**: ENFORCE neither deletes nor replaces what no user has asked for.\n")
		}
		b.WriteString("\n| column | type | |\n|---|---|---|\n")
		fmt.Fprintf(&b, "| `id` | bigint | Identity of the record, stable for life. |\n")
		for i := range t.Columns {
			c := &t.Columns[i]
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.Type, strings.ReplaceAll(c.remarks(), "|", "\\|"))
		}
	}
	for _, f := range m.Functions {
		i := slices.IndexFunc(m.Tables(), func(t *Table) bool { return t.Name == f.Table })
		b.WriteString(f.markdown(m.Tables()[i]))
	}
	return b.String()
}

// remarks returns the column's doc with what its flags mean.
func (c *Column) remarks() string {
	parts := []string{c.Doc}
	add := func(condition bool, text string) {
		if condition {
			parts = append(parts, text)
		}
	}
	add(c.Required && c.Default == "", "Required.")
	add(c.Default != "", "Default `"+shownDefault(c.Default)+"`.")
	if len(c.Enum) > 0 {
		parts = append(parts, "One of "+strings.Join(c.Enum, ", ")+".")
	}
	if ref := c.References; ref != nil && c.Name != ColumnAccount && c.Name != ColumnRegion {
		key := ColumnID
		if ref.ByKey {
			key = ref.Key
		}
		parts = append(parts, fmt.Sprintf("References `%s.%s`.", ref.Table, key))
	}
	if ref := c.Records; ref != nil {
		parts = append(parts, fmt.Sprintf("Its elements are ids of `%s`, in step with `%s`.", ref.Table,
			ref.NameColumn))
	}
	add(c.Computed, "*Assigned by the cloud.*")
	add(c.FixedKind, "*Changing it from or to NULL replaces the object.*")
	add(c.CreateOnly && c.Name != ColumnAccount, "*Changing it replaces the object.*")
	add(c.WriteOnly, "*Write-only.*")
	return strings.Join(parts, " ")
}

// shownDefault is a default as people would write it: where names are looked up
// in schema public, as is usual, it need not be said.
func shownDefault(expression string) string { return strings.ReplaceAll(expression, "public.", "") }
