package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Change by SQL and see by the CLI.

func (s *suite) changeBySQL(sub *suite) {
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		var set []string
		for _, c := range table.Change {
			if c.SQL != "" && table.Skip[c.Column+" by SQL"] == "" {
				set = append(set, fmt.Sprintf(`%s = %s`, c.Column, sub.expand(c.SQL, table, o)))
			}
		}
		if len(set) == 0 {
			return
		}
		if _, err := sub.user.run(fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name, strings.Join(set, ", "),
			o.record)); err != nil {
			sub.broken(table, err)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) changedBySQL(sub *suite, table *Table) {
	sub.skips(table, createBySQL)
	sub.untouched(table, " by SQL")
	o := sub.thing(table, "sql")
	read := sub.read(table, o)
	for _, c := range table.Change {
		if c.SQL == "" {
			continue // another description of the table has it
		}
		sub.t.Run(c.Column, func(t *testing.T) {
			sub := sub.with(t)
			sub.skips(table, c.Column+" by SQL")
			want := c.Want
			if want == "" {
				want = literal(c.SQL)
			}
			got := read(sub, c)
			if want = sub.expand(want, table, o); !same(got, want) {
				t.Errorf("%s is %s, and the cloud has %s, not %s", c.Column, c.SQL, got, want)
			}
			if slices.Contains(sub.tables[table.Name].writeOnly, c.Column) {
				if kept := sub.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, c.Column, table.Name, o.record)); kept != "" {
					t.Errorf("%s is write-only, and kept", c.Column)
				}
			}
		})
	}
}

// read asks the CLI for what the changed columns are in the cloud, with one
// command for all those that ask for parts of the same answer. The function that
// it returns gives the part of a column.
func (s *suite) read(table *Table, o *thing) func(*suite, Change) string {
	s.t.Helper()
	type answer struct {
		parts []json.RawMessage
		err   error
	}
	const query = " --query "
	asked, answers := map[string][]string{}, map[string]answer{}
	for _, c := range table.Change {
		if command, part, ok := strings.Cut(c.See, query); ok && c.SQL != "" && table.Skip[c.Column+" by SQL"] == "" {
			asked[command] = append(asked[command], part)
		}
	}
	for command, parts := range asked {
		out, err := s.cli.run(s.expand(command+query+"[("+strings.Join(parts, "),(")+")]", table, o))
		a := answer{err: err}
		if err == nil {
			s.decode(&a.parts, out)
		}
		answers[command] = a
	}
	return func(s *suite, c Change) string {
		s.t.Helper()
		command, part, ok := strings.Cut(c.See, query)
		if !ok {
			return s.must(s.expand(c.See, table, o))
		}
		if err := answers[command].err; err != nil {
			s.t.Fatal(err)
		}
		return string(answers[command].parts[slices.Index(asked[command], part)])
	}
}

// Change by the CLI and see by SQL.

func (s *suite) changeByCLI(sub *suite) {
	defer sub.listens()()
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		said := map[string]bool{} // one command may change several columns
		for _, c := range table.Change {
			if commands := strings.Join(c.CLI, "\n"); table.Skip[c.Column+" by the CLI"] == "" && !said[commands] {
				said[commands] = true
				sub.commands(table, o, c.CLI)
			}
		}
	})
	sub.sees(createBySQL, "UPDATE")
	sub.sync()
}

// untouched reports the columns that are not changed at all, and why.
func (s *suite) untouched(table *Table, side string) {
	for check, why := range table.Skip {
		column, ok := strings.CutSuffix(check, side)
		described := slices.ContainsFunc(table.Change, func(c Change) bool { return c.Column == column })
		if ok && !described && slices.Contains(s.tables[table.Name].mutable, column) {
			s.t.Run(column, func(t *testing.T) { t.Skip(why) })
		}
	}
}

func (s *suite) changedByCLI(sub *suite, table *Table) {
	sub.skips(table, createBySQL)
	sub.untouched(table, " by the CLI")
	if slices.ContainsFunc(table.Change, func(c Change) bool {
		return len(c.CLI) > 0 && table.Skip[c.Column+" by the CLI"] == ""
	}) {
		sub.hinted(table)
		sub.seen(table)
	}
	for _, c := range table.Change {
		sub.t.Run(c.Column, func(t *testing.T) {
			sub := sub.with(t)
			sub.skips(table, c.Column+" by the CLI")
			if len(c.CLI) == 0 { // a secret, which nobody can read
				return
			}
			sub.holds(table, sub.thing(table, "sql"), c.Column, c.Then)
			if t.Failed() {
				t.Logf("the cloud has %s", sub.must(sub.expand(c.See, table, sub.thing(table, "sql"))))
			}
		})
	}
}
