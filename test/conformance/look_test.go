package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

func (s *suite) holds(table *Table, o *thing, column, want string) {
	s.t.Helper()
	got := s.sql(fmt.Sprintf(`SELECT %[1]s IS NOT DISTINCT FROM %[2]s, %[1]s FROM %[3]s WHERE id = %[4]s`, column,
		s.expand(want, table, o), table.Name, o.record))
	if !strings.HasPrefix(got, "t|") && !(s.alike && s.alikes(table, o, column, want)) {
		s.t.Errorf("%s is not %s: %s", column, want, got)
	}
}

// alikes reports whether a column means what is wanted: AWS keeps some documents otherwise
// than they were sent, and the record shows what it has.
func (s *suite) alikes(table *Table, o *thing, column, want string) bool {
	s.t.Helper()
	for _, m := range all.Modules(nil) {
		for _, description := range m.Tables() {
			if c := description.Column(column); description.Name == table.Name && c != nil &&
				c.Type == modules.TypeJSON {
				value := func(sql string) modules.Value {
					return modules.Text(s.sql(fmt.Sprintf(`SELECT (%s)::jsonb FROM %s WHERE id = %s`, sql, table.Name,
						o.record)))
				}
				return c.Same(value(column), value(s.expand(want, table, o)))
			}
		}
	}
	return false
}

// loaded checks that the object has a record, one, and learns which.
func (s *suite) loaded(table *Table, o *thing) {
	s.t.Helper()
	where := table.Find
	switch {
	case o.record != "":
		where = "id = " + o.record
	case where == "":
		where = table.Identity + " = '$id'"
	}
	var rows []map[string]any
	s.decode(&rows, s.sql(fmt.Sprintf(`SELECT coalesce(jsonb_agg(t), '[]') FROM %s t WHERE %s`, table.Name,
		s.expand(where, table, o))))
	if len(rows) != 1 {
		s.t.Fatalf("%d records where %s, want one", len(rows), s.expand(where, table, o))
	}
	o.record = text(rows[0]["id"])
	if table.ID == "" && table.Identity != "" {
		if o.id = text(rows[0][table.Identity]); o.id == "" {
			s.t.Fatalf("record %s has no %s: %s", o.record, table.Identity, s.sql(fmt.Sprintf(
				`SELECT state, message FROM iasql_status WHERE table_name = '%s' AND record_id = %s`, table.Name,
				o.record)))
		}
	}
}

// gone checks that the object has no record any more.
func (s *suite) gone(table *Table, o *thing) {
	s.t.Helper()
	if o.record == "" {
		s.t.Fatal("the record was never found")
	}
	if row := s.sql(fmt.Sprintf(`SELECT to_jsonb(t) FROM %s t WHERE id = %s`, table.Name, o.record)); row != "" {
		s.t.Errorf("the record is still there: %s", row)
	}
}

// listed compares what both sides list.
func (s *suite) listed(table *Table) {
	s.t.Helper()
	var here, there []string
	s.decode(&here, s.sql(fmt.Sprintf(`SELECT jsonb_agg(%s) FROM %s`, table.Identity, table.Name)))
	s.decode(&there, s.must(s.expand(table.Listed, nil, nil)))
	slices.Sort(here)
	slices.Sort(there)
	if !slices.Equal(here, there) || len(here) == 0 {
		s.t.Errorf("the table has %q, the cloud %q", here, there)
	}
	s.refused(fmt.Sprintf(`DELETE FROM %s`, table.Name))
}

// absent are what AWS's APIs say of what is not there.
var absent = regexp.MustCompile(
	`(?i)not ?found|no ?such|not exist|non-?existent|404|does not|cannot be found|not a valid|unknown`)

// see asks the CLI for an object by its id.
func (s *suite) see(table *Table, o *thing, id string) (out string, there bool) {
	s.t.Helper()
	of := *o
	of.id = id
	command := s.expand(table.See, table, &of)
	if o.region != "" {
		command = in(o.region, command)
	}
	out, err := s.cli.run(command)
	switch {
	case err != nil && absent.MatchString(err.Error()):
		return "", false
	case err != nil:
		s.t.Fatal(err)
	}
	return out, out != "" && out != "null" && out != "[]" && out != "{}" && out != `""`
}

func (s *suite) there(table *Table, o *thing, id string) {
	s.t.Helper()
	if out, there := s.see(table, o, id); !there {
		s.t.Errorf("%s is not there: %s", id, out)
	}
}
