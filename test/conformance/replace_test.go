package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// Replace on a column that cannot be changed.

func (s *suite) replace(sub *suite) {
	sub.each(replace, func(table *Table) {
		if table.Replace.Column == "" || table.Skip[createBySQL] != "" {
			return
		}
		o := sub.thing(table, "sql")
		o.old = o.id
		if table.Replace.Child != "" {
			sub.sql(sub.expand(table.Replace.Child, table, o))
			sub.settle()
		}
		if table.Replace.Dependents != "" {
			sub.vars["dependents of "+table.key()] = sub.sql(sub.expand(table.Replace.Dependents, table, o))
		}
		set := table.Replace.Column + " = " + table.Replace.SQL
		if table.Replace.With != "" {
			set += ", " + table.Replace.With
		}
		if _, err := sub.user.run(fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name, sub.expand(set, table, o),
			o.record)); err != nil {
			sub.broken(table, err)
		}
		if table.Replace.ID != "" {
			o.id = sub.chosen(table.Replace.ID, table, o)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) replaced(sub *suite, table *Table) {
	sub.skips(table, replace)
	r := table.Replace
	if r.Column == "" {
		return
	}
	sub.skips(table, createBySQL)
	o := sub.thing(table, "sql")
	sub.loaded(table, o)
	sub.holds(table, o, r.Column, r.SQL)
	sub.there(table, o, o.id)
	if table.Identity != "" && o.old == o.id && (table.ID == "" || r.ID != "") {
		sub.t.Errorf("the object is still %s", o.id)
	}
	if o.old != o.id {
		if out, there := sub.see(table, o, o.old); there {
			sub.t.Errorf("the old object is still there: %s", out)
		}
	}
	if r.Dependents != "" {
		if before, after := sub.vars["dependents of "+table.key()], sub.sql(sub.expand(r.Dependents, table, o)); before != after || after == "" {
			sub.t.Errorf("what depends on it was %q and is %q", before, after)
		}
	}
}

// Replace on other columns that cannot be changed, and see all of them by the
// CLI: nothing else tells what objects are created with.

func (s *suite) replaceFixed(sub *suite) {
	sub.each(replace, func(table *Table) {
		if len(table.Fixed) == 0 {
			return
		}
		o := sub.thing(table, "sql")
		o.old = o.id
		var set []string
		for _, c := range table.Fixed {
			set = append(set, c.Column+" = "+c.SQL)
		}
		if table.Replace.With != "" {
			set = append(set, table.Replace.With)
		}
		if _, err := sub.user.run(fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name,
			sub.expand(strings.Join(set, ", "), table, o), o.record)); err != nil {
			sub.broken(table, err)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) replacedFixed(sub *suite, table *Table) {
	sub.skips(table, replace)
	if len(table.Fixed) == 0 {
		return
	}
	o := sub.thing(table, "sql")
	sub.loaded(table, o)
	if table.ID == "" && table.Identity != "" && o.old == o.id {
		sub.t.Errorf("the object is still %s", o.id)
	}
	sub.has(table, o, table.Fixed)
}

// has checks that a new object has what its record says, in the cloud too.
func (s *suite) has(table *Table, o *thing, columns []Change) {
	s.t.Helper()
	for _, c := range columns {
		s.t.Run(c.Column, func(t *testing.T) {
			sub := s.with(t)
			sub.holds(table, o, c.Column, c.SQL)
			want := c.Want
			if want == "" {
				want = literal(c.SQL)
			}
			if got := sub.must(sub.expand(c.See, table, o)); !same(got, sub.expand(want, table, o)) {
				t.Errorf("%s is %s, and the cloud has %s, not %s", c.Column, c.SQL, got, want)
			}
		})
	}
}

// Replace objects that are made for it, one round after the other, and delete
// them.

// aparts returns how many rounds the tables need.
func (s *suite) aparts() int {
	n := 0
	for _, table := range s.Tables {
		n = max(n, len(table.Apart))
	}
	return n
}

func (s *suite) replaceApart(round int) func(*suite) {
	return func(sub *suite) {
		sub.eachApart(round, func(table *Table, a Apart) {
			delete(sub.things[table.key()], "apart")
			insert := a.Insert
			if insert == "" {
				insert = table.Insert
			}
			sub.insert(table, sub.thing(table, "apart"), insert)
		})
		sub.settle()
		sub.sync() // what the cloud has made with them has records too
		sub.eachApart(round, func(table *Table, a Apart) {
			o := sub.thing(table, "apart")
			sub.named(table, o)
			o.old = o.id
			var set []string
			for _, c := range a.Set {
				set = append(set, c.Column+" = "+c.SQL)
			}
			if a.With != "" {
				set = append(set, a.With)
			}
			if _, err := sub.user.run(fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name,
				sub.expand(strings.Join(set, ", "), table, o), o.record)); err != nil {
				sub.broken(table, err)
			}
		})
		sub.settle()
		sub.sync()
	}
}

func (s *suite) replacedApart(round int) func(*suite, *Table) {
	return func(sub *suite, table *Table) {
		if round >= len(table.Apart) {
			return
		}
		o := sub.thing(table, "apart")
		sub.loaded(table, o)
		sub.named(table, o)
		switch {
		case table.Apart[round].Left:
			if out, there := sub.see(table, o, o.id); there {
				sub.t.Errorf("the old object is still there: %s", out)
			}
		case table.Identity == "":
		default:
			sub.there(table, o, o.id)
			if o.old == o.id && table.ID == "" {
				sub.t.Errorf("the object is still %s", o.id)
			}
			if o.old != o.id {
				if out, there := sub.see(table, o, o.old); there {
					sub.t.Errorf("the old object is still there: %s", out)
				}
			}
		}
		sub.has(table, o, table.Apart[round].Set)
	}
}

func (s *suite) deleteApart(round int) func(*suite) {
	return func(sub *suite) {
		sub.eachApart(round, func(table *Table, _ Apart) {
			if _, err := sub.user.run(fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, table.Name,
				sub.thing(table, "apart").record)); err != nil {
				sub.broken(table, err)
			}
		})
		sub.settle()
		sub.sync()
	}
}

func (s *suite) deletedApart(round int) func(*suite, *Table) {
	return func(sub *suite, table *Table) {
		if round >= len(table.Apart) {
			return
		}
		o := sub.thing(table, "apart")
		sub.gone(table, o)
		if out, there := sub.see(table, o, o.id); there {
			sub.t.Errorf("still there: %s", out)
		}
	}
}

func (s *suite) eachApart(round int, do func(*Table, Apart)) {
	s.each(replace+" apart", func(table *Table) {
		if round < len(table.Apart) {
			do(table, table.Apart[round])
		}
	})
}

// named learns from an object's record what names it.
func (s *suite) named(table *Table, o *thing) {
	s.t.Helper()
	if table.Identity != "" {
		o.id = s.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, table.Identity, table.Name, o.record))
	}
}
