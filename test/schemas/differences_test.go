package schemas

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iasql/internal/modules"
)

// differences compares a table with a resource type. of tells, where a table has
// several types, which one it is.
func (t table) differences(s *schema, of string) (lines []string, compared int) {
	add := func(column, what, ours, theirs string) {
		lines = append(lines, fmt.Sprintf("%s.%s: %s: ours %s; AWS's %s", t.Name, column, what, ours, theirs))
	}
	var identity, apart []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion || c.Records != nil || slices.Contains(t.made, c.Name) {
			continue
		}
		path, p, required := t.property(s, c)
		if p == nil {
			apart = append(apart, c.Name)
			if c.Identity {
				identity = append(identity, "none for "+c.Name)
			}
			continue
		}
		compared++
		if c.Identity {
			identity = append(identity, path)
		}
		name := fmt.Sprintf(" (%s%s)", of, path)
		readOnly, sometimes := holds(s.ReadOnly, path), holds(s.Sometimes, path)
		createOnly := holds(s.CreateOnly, path) && !readOnly
		switch {
		case c.Computed && !readOnly:
			add(c.Name, "read-only", "yes", "no"+name)
		case !c.Computed && readOnly:
			add(c.Name, "read-only", "no", "yes"+name)
		case c.Computed:
		case sometimes && !createOnly:
			add(c.Name, "create-only", yes(c.CreateOnly), "sometimes"+name)
		case c.CreateOnly != createOnly:
			add(c.Name, "create-only", yes(c.CreateOnly), yes(createOnly)+name)
		}
		if theirs := holds(s.WriteOnly, path); theirs != c.WriteOnly {
			add(c.Name, "write-only", yes(c.WriteOnly), yes(theirs)+name)
		}
		if c.Computed {
			continue
		}
		if ours := c.Required && c.Default == ""; ours != required {
			add(c.Name, "required", yes(ours), yes(required)+name)
		}
		if theirs := s.texts(p); theirs != nil && c.Type != modules.TypeBool && c.Type != modules.TypeJSON {
			if ours, rest := compare(values(c), theirs); ours != "" {
				add(c.Name, "values", ours, rest+name)
			}
		}
		if ours := pattern(c); c.Type == modules.TypeText && p.Pattern != "" && ours != p.Pattern {
			if ours == "" {
				ours = "none"
			}
			add(c.Name, "pattern", ours, p.Pattern+name)
		}
		what, ours := count(c)
		if theirs := s.bounds(p, what); theirs != ours && values(c) == nil {
			add(c.Name, what, ours.String(), theirs.String()+name)
		}
	}
	if len(apart) > 0 {
		lines = append(lines, fmt.Sprintf("%s: no property: %s%s", t.Name, of, strings.Join(apart, ", ")))
	}
	if slices.Contains(parts, t.Name) {
		return lines, compared
	}
	slices.Sort(identity)
	theirs := slices.Sorted(slices.Values(s.Identifier))
	if !slices.Equal(identity, theirs) {
		lines = append(lines, fmt.Sprintf("%s: identity: ours %s; AWS's %s", t.Name, strings.Join(identity, ", "),
			of+strings.Join(theirs, ", ")))
	}
	return lines, compared
}

// enumerated compares a table's enumerations with the SDK's.
func (t table) enumerated() (lines []string, compared int) {
	for i := range t.Columns {
		c := &t.Columns[i]
		theirs, of := t.enumeration(c)
		if c.Enum == nil || theirs == nil {
			continue
		}
		compared++
		if ours, rest := compare(c.Enum, theirs); ours != "" {
			lines = append(lines, fmt.Sprintf("%s.%s: values of the API: ours %s; AWS's %s (%s)", t.Name, c.Name, ours,
				rest, of.Name()))
		}
	}
	return lines, compared
}

// compare says what only one of two enumerations has; "" where they are equal.
func compare(ours, theirs []string) (string, string) {
	if ours == nil {
		return "any", "one of " + strings.Join(slices.Sorted(slices.Values(theirs)), ", ")
	}
	besides := func(values []string) string {
		if len(values) == 0 {
			return "none besides"
		}
		return "besides " + strings.Join(values, ", ")
	}
	more, missing := without(ours, theirs), without(theirs, ours)
	if len(more)+len(missing) == 0 {
		return "", ""
	}
	return besides(more), besides(missing)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// bounds are what a schema says of a property's size. That it has no fewer than
// no characters or members says nothing.
func (s *schema) bounds(p *property, what string) bounds {
	b := anything
	var least, most *float64
	switch what {
	case "range":
		least, most = p.Minimum, p.Maximum
	case "length":
		least, most = p.MinLength, p.MaxLength
	case "members":
		least, most = p.MinItems, p.MaxItems
	}
	if least != nil && (what == "range" || *least > 0) {
		b.least = *least
	}
	if most != nil && *most < math.MaxInt32 {
		b.most = *most
	}
	return b
}

// kind returns what a difference is about.
func kind(line string) string { return strings.Split(line, ": ")[1] }

// api is the kind of the differences from the SDK's enumerations, which are always
// there.
const api = "values of the API"

// list is the file with the differences and their reasons.
const list = "differences.md"

var (
	heading = regexp.MustCompile(`^## ([a-z0-9_]+)`)
	entry   = regexp.MustCompile(`^- (([a-z0-9_]+)[.:].*)$`)
)

// entries returns the differences that the file lists. It fails for one that has
// no reason, that is listed twice, or that is not under its table's heading.
func entries(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	table, waiting := "", ""
	for line := range strings.SplitSeq(string(text), "\n") {
		m := entry.FindStringSubmatch(line)
		switch {
		case heading.MatchString(line):
			if waiting != "" {
				t.Errorf("%s has no reason for %s", list, waiting)
			}
			table, waiting = heading.FindStringSubmatch(line)[1], ""
		case m != nil && table != "":
			if m[2] != table {
				t.Errorf("%s has %s under the heading %s", list, m[1], table)
			}
			if listed[m[1]] {
				t.Errorf("%s has twice: %s", list, m[1])
			}
			listed[m[1]], waiting = true, m[1]
		case strings.TrimSpace(line) != "":
			waiting = ""
		}
	}
	if waiting != "" {
		t.Errorf("%s has no reason for %s", list, waiting)
	}
	return listed
}

// check compares the differences that there are with those of the file that are
// of these kinds.
func check(t *testing.T, found []string, of func(kind string) bool) {
	t.Helper()
	listed := entries(t)
	for _, line := range found {
		if !listed[line] {
			t.Errorf("a difference that %s does not list. Change the declaration, or add, with the reason below:\n- %s",
				list, line)
		}
		delete(listed, line)
	}
	for _, line := range slices.Sorted(maps.Keys(listed)) {
		if of(kind(line)) {
			t.Errorf("no difference any more; remove from %s:\n- %s", list, line)
		}
	}
}

// TestEnumerations compares what values columns may have with the SDK.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	var found []string
	compared := 0
	for _, table := range tables() {
		lines, n := table.enumerated()
		found, compared = append(found, lines...), compared+n
	}
	t.Logf("%d enumerations compared, %d differ", compared, len(found))
	check(t, found, func(kind string) bool { return kind == api })
}

// TestSchemas compares tables with the schemas of their resource types.
func TestSchemas(t *testing.T) {
	t.Parallel()
	schemas := load(t)
	if schemas == nil {
		t.Skipf("there is no file %s, and the variable %s names no other", file, variable)
	}
	var found []string
	known := map[string]bool{}
	kinds := map[string]int{}
	compared, columns := 0, 0
	for _, table := range tables() {
		known[table.Name] = true
		if len(types[table.Name]) == 0 {
			found = append(found, table.Name+": no resource type")
			continue
		}
		compared++
		for _, name := range types[table.Name] {
			s := schemas[name]
			if s == nil {
				t.Errorf("%s: there is no resource type %s", table.Name, name)
				continue
			}
			of := ""
			if len(types[table.Name]) > 1 {
				of = name[strings.LastIndex(name, ":")+1:] + " "
			}
			lines, n := table.differences(s, of)
			found, columns = append(found, lines...), columns+n
		}
		for column, path := range properties {
			if of, name, _ := strings.Cut(column, "."); of == table.Name {
				if c := table.Column(name); c == nil {
					t.Errorf("properties: there is no column %s", column)
				} else if _, p, _ := table.property(schemas[types[table.Name][0]], c); p == nil && path != "" &&
					len(types[table.Name]) == 1 {
					t.Errorf("properties: %s: there is no property %s", column, path)
				}
			}
		}
	}
	for name := range types {
		if !known[name] {
			t.Errorf("types: there is no table %s", name)
		}
	}
	for _, line := range found {
		kinds[kind(line)]++
	}
	t.Logf("%d tables and %d columns compared; differences: %v", compared, columns, kinds)
	check(t, found, func(kind string) bool { return kind != api })
}
