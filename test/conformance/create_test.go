package conformance

import (
	"fmt"
	"strings"
)

// Create by SQL and see by the CLI.

func (s *suite) createBySQL(sub *suite) {
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		if sub.tables[table.Name].insert {
			sub.insert(table, o, table.Insert)
		} else {
			sub.create(table, o)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) createdBySQL(sub *suite, table *Table) {
	if table.Listed != "" {
		sub.listed(table)
		return
	}
	sub.skips(table, createBySQL)
	if !sub.tables[table.Name].insert {
		if _, err := sub.user.run(fmt.Sprintf(`INSERT INTO %s DEFAULT VALUES`, table.Name)); err == nil {
			sub.t.Error("an INSERT is not refused")
		}
	}
	o := sub.thing(table, "sql")
	sub.loaded(table, o)
	sub.there(table, o, o.id)
	if sub.tables[table.Name].insert {
		sub.kept(table, o)
	}
}

// kept checks that the record of a new object still has what its INSERT said, the
// columns that nothing but their creation tells among them: the engine has read
// them back.
func (s *suite) kept(table *Table, o *thing) {
	s.t.Helper()
	lost := s.admin(fmt.Sprintf(`
		SELECT said.key, said.value, to_jsonb(t) -> said.key FROM %[1]s t
		JOIN iasql_audit_log l ON l.table_name = '%[1]s' AND l.record_id = t.id AND l.change_type = 'INSERT'
		JOIN iasql_internal.managed_table m ON m.name = l.table_name
		CROSS JOIN jsonb_each(l.change -> 'change') said
		WHERE t.id = %[2]s AND said.key = ANY (m.columns) AND NOT said.key = ANY (m.assigned || m.write_only)
		AND said.value <> 'null' AND said.value IS DISTINCT FROM to_jsonb(t) -> said.key`, table.Name, o.record))
	if lost != "" {
		s.t.Errorf("what was inserted has become something else: %s", lost)
	}
}

func (s *suite) insert(table *Table, o *thing, columns string) {
	s.t.Helper()
	out, err := s.user.run(fmt.Sprintf(`INSERT INTO %s %s RETURNING id`, table.Name, s.expand(columns, table, o)))
	if err != nil {
		s.broken(table, err)
		return
	}
	o.record, _, _ = strings.Cut(out, "\n")
}

// Create by the CLI and see by SQL.

func (s *suite) createByCLI(sub *suite) {
	defer sub.listens()()
	sub.each(createByCLI, func(table *Table) { sub.create(table, sub.thing(table, "cli")) })
	sub.sees(createByCLI, "INSERT")
	sub.sync()
}

func (s *suite) createdByCLI(sub *suite, table *Table) {
	sub.skips(table, createByCLI)
	if table.Listed != "" {
		return
	}
	o := sub.thing(table, "cli")
	sub.hinted(table)
	sub.seen(table)
	sub.there(table, o, o.id)
	sub.loaded(table, o)
}

func (s *suite) create(table *Table, o *thing) {
	s.t.Helper()
	out := s.commands(table, o, table.Create)
	if table.ID == "" && table.Identity != "" && !s.dead[table.key()] {
		o.id = strings.TrimPrefix(out, "/hostedzone/") // which Route 53 puts before its ids
	}
}
