package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// Adopt: an INSERT for an object that is there already takes it over. Where the
// cloud assigns the identity, it is part of what is inserted.

func (s *suite) adopt(sub *suite) {
	sub.each(adopt, func(table *Table) {
		if len(table.Create) == 0 || !sub.tables[table.Name].insert {
			return
		}
		o := sub.thing(table, "adopted")
		sub.create(table, o)
		if sub.dead[table.key()] {
			return
		}
		columns := table.Adopts
		if columns == "" {
			columns = table.Insert
			if table.ID == "" && table.Identity != "" {
				columns = adopting(columns, table.Identity)
			}
		}
		before := sub.calls.count()
		sub.insert(table, o, columns)
		sub.settle()
		if made := sub.calls.since(before); slices.ContainsFunc(made, func(call string) bool {
			return strings.Contains(call, "Create") && !strings.HasSuffix(call, ":CreateTags")
		}) {
			sub.broken(table, fmt.Errorf("it is there, and the engine made the calls %v", made))
		}
	})
	sub.sync()
}

// adopting adds the identity to what is inserted.
func adopting(columns, identity string) string {
	columns = strings.Replace(columns, "(", "("+identity+", ", 1)
	if strings.Contains(columns, "VALUES (") {
		return strings.Replace(columns, "VALUES (", "VALUES ('$id', ", 1)
	}
	return strings.Replace(columns, "SELECT ", "SELECT '$id', ", 1)
}

func (s *suite) adopted(sub *suite, table *Table) {
	sub.skips(table, adopt)
	if table.Listed != "" || len(table.Create) == 0 || !sub.tables[table.Name].insert {
		return
	}
	o := sub.thing(table, "adopted")
	record, id := o.record, o.id
	sub.loaded(table, o)
	sub.there(table, o, o.id)
	if o.record != record || o.id != id {
		sub.t.Errorf("record %s of %s has become record %s of %s", record, id, o.record, o.id)
	}
}
