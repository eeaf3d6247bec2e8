package conformance

import (
	"fmt"
	"strings"
)

// Replace by region: the column region is fixed at creation like others, and the
// successor is made elsewhere. What belongs to something of its region stays.

const elsewhere = "us-west-2"

func (s *suite) move(sub *suite) {
	sub.sql(`DELETE FROM iasql_mode`, `UPDATE aws_regions SET is_enabled = true WHERE region = '`+elsewhere+`'`)
	sub.eachRegional(func(table *Table) {
		delete(sub.things[table.key()], "cli")
		sub.insert(table, sub.thing(table, "cli"), table.Insert)
	})
	sub.settle()
	sub.sync() // what the cloud has made with them has records too
	sub.eachRegional(func(table *Table) {
		o := sub.thing(table, "cli")
		if table.ID == "" && table.Identity != "" {
			o.id = sub.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, table.Identity, table.Name, o.record))
		}
		o.old = o.id
		set := "region = '" + elsewhere + "'"
		if table.Replace.With != "" {
			set += ", " + table.Replace.With
		}
		_, err := sub.user.run(fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name,
			sub.expand(set, table, o), o.record))
		switch {
		case sub.bound(table) && (err == nil || !strings.Contains(err.Error(), "23503: ")):
			sub.broken(table, fmt.Errorf("it belongs to what is of its region, and moving it is not refused for "+
				"that: %v", err))
		case !sub.bound(table) && err != nil:
			sub.broken(table, err)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) moved(sub *suite, table *Table) {
	sub.skips(table, move)
	if has := sub.tables[table.Name]; table.Listed != "" || !has.insert || !has.regional {
		return
	}
	o := sub.thing(table, "cli")
	sub.loaded(table, o)
	region := sub.sql(fmt.Sprintf(`SELECT region FROM %s WHERE id = %s`, table.Name, o.record))
	if sub.bound(table) {
		sub.there(table, o, o.id)
		if region == elsewhere {
			sub.t.Errorf("the record is in %s", region)
		}
		return
	}
	if region != elsewhere {
		sub.t.Errorf("the record is in %s", region)
	}
	if out, there := sub.see(table, o, o.old); there {
		sub.t.Errorf("the old object is still there: %s", out)
	}
	o.region = elsewhere
	sub.there(table, o, o.id)
}

// bound reports whether objects of the table cannot leave their region, because
// there is what they belong to, or what belongs to them.
func (s *suite) bound(table *Table) bool { return table.Bound || s.tables[table.Name].bound }

func (s *suite) eachRegional(do func(*Table)) {
	s.each(move, func(table *Table) {
		if has := s.tables[table.Name]; has.insert && has.regional {
			do(table)
		}
	})
}

// in returns a command for another region.
func in(region, command string) string {
	return strings.ReplaceAll(command, "us-east-1", region) + " --region " + region
}
