package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// thing returns an object of a table by its $n.
func (s *suite) thing(table *Table, n string) *thing {
	all := s.things[table.key()]
	if all == nil {
		all = map[string]*thing{}
		s.things[table.key()] = all
	}
	if all[n] == nil {
		o := &thing{n: n, i: strconv.Itoa(1 + slices.Index([]string{"sql", "cli", "adopted", "tracked", "apart"}, n))}
		o.id = s.chosen(table.ID, table, o)
		all[n] = o
	}
	return all[n]
}

// chosen returns an identity that the description chooses.
func (s *suite) chosen(id string, table *Table, o *thing) string {
	s.t.Helper()
	if id = s.expand(id, table, o); strings.HasPrefix(id, "SELECT ") {
		return s.sql(id)
	}
	return id
}

var assignment = regexp.MustCompile(`^(\w+) := `)

// commands runs commands about an object and returns what the last one printed.
func (s *suite) commands(table *Table, o *thing, commands []string) string {
	s.t.Helper()
	var out string
	for _, command := range commands {
		command = s.expand(command, table, o)
		variable := ""
		if m := assignment.FindStringSubmatch(command); m != nil {
			variable, command = m[1], command[len(m[0]):]
		}
		answer, err := s.cli.run(command)
		if err != nil {
			s.broken(table, err)
			return ""
		}
		out = strings.Trim(answer, `"`)
		if variable != "" {
			s.vars[variable] = out
		}
	}
	return out
}

// expand fills in a template.
func (s *suite) expand(template string, table *Table, o *thing) string {
	s.t.Helper()
	return os.Expand(template, func(name string) string {
		if o != nil {
			switch name {
			case "n":
				return o.n
			case "i":
				return o.i
			case "id":
				return o.id
			case "old":
				return o.old
			case "row":
				return o.record
			}
		}
		if v, ok := s.vars[name]; ok {
			return v
		}
		if o == nil || o.record == "" {
			s.t.Fatalf("%s: there is no $%s", template, name)
		}
		return s.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, name, table.Name, o.record))
	})
}

func (s *suite) sql(statements ...string) string {
	s.t.Helper()
	return s.ran(s.user, statements)
}

func (s *suite) admin(statements ...string) string {
	s.t.Helper()
	return s.ran(s.superuser, statements)
}

func (s *suite) ran(by *psql, statements []string) string {
	s.t.Helper()
	out, err := by.run(statements...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

// refused checks that the user's statement is refused.
func (s *suite) refused(statement string) {
	s.t.Helper()
	if out, err := s.user.run(statement); err == nil {
		s.t.Fatalf("%s: was not refused: %s", statement, out)
	}
}

func (s *suite) must(command string) string {
	s.t.Helper()
	out, err := s.cli.run(command)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *suite) decode(into any, text string) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
}
