package conformance

import (
	"fmt"
)

// Delete by SQL and see by the CLI.

func (s *suite) deleteBySQL(sub *suite) {
	var statements []string
	sub.eachReversed(deleteBySQL, func(table *Table) {
		if o := sub.thing(table, "cli"); o.record != "" && sub.tables[table.Name].delete {
			statements = append(statements, fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, table.Name, o.record))
		}
	})
	sub.each(replace, func(table *Table) {
		if table.Replace.Away != "" {
			statements = append(statements, sub.expand(table.Replace.Away, table, sub.thing(table, "sql")))
		}
	})
	if len(statements) > 0 {
		sub.sql(append(append([]string{`BEGIN`}, statements...), `COMMIT`)...)
	}
	sub.settle()
	sub.sync()
}

func (s *suite) deletedBySQL(sub *suite, table *Table) {
	sub.skips(table, deleteBySQL)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	o := sub.thing(table, "cli")
	if !sub.tables[table.Name].delete {
		sub.refused(fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, table.Name, o.record))
		return
	}
	if out, there := sub.see(table, o, o.id); there {
		sub.t.Errorf("still there: %s", out)
	}
	sub.gone(table, o)
}

// Delete by the CLI and see by SQL.

func (s *suite) deleteByCLI(sub *suite) {
	defer sub.listens()()
	sub.eachReversed(deleteByCLI, func(table *Table) {
		if table.Skip[createBySQL] == "" {
			sub.delete(table, sub.thing(table, "sql"))
		}
	})
	sub.sees(deleteByCLI, "DELETE")
	sub.sync()
}

func (s *suite) deletedByCLI(sub *suite, table *Table) {
	sub.skips(table, deleteByCLI)
	sub.skips(table, createBySQL)
	if table.Listed != "" {
		return
	}
	sub.hinted(table)
	sub.seen(table)
	sub.gone(table, sub.thing(table, "sql"))
}

func (s *suite) delete(table *Table, o *thing) {
	s.t.Helper()
	s.commands(table, o, table.Delete)
}
