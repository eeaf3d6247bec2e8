package types

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
	"iasql/internal/test/cloudcontrol"
)

// settle waits until nothing is pending but what has failed, and ends the lives of that.
func (l *lives) settle(when string) {
	l.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var open int
		err := l.conn.QueryRow(l.Context(), `
			SELECT (SELECT count(*) FROM iasql_audit_log a WHERE NOT a.settled AND NOT EXISTS (
			            SELECT FROM iasql_status s WHERE s.table_name = a.table_name AND s.record_id = a.record_id AND (s.review OR s.attempts > 2)))
			     + (SELECT count(*) FROM iasql_status WHERE state <> 'Present' AND NOT review AND attempts <= 2)`).Scan(
			&open)
		if err != nil {
			l.Fatal(err)
		}
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			l.Errorf("%s: %d changes are still under way", when, open)
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	rows, err := l.conn.Query(l.Context(),
		`SELECT table_name, state, coalesce(message, '') FROM iasql_status WHERE state <> 'Present'`)
	if err != nil {
		l.Fatal(err)
	}
	var table, state, message string
	_, err = pgx.ForEachRow(rows, []any{&table, &state, &message}, func() error {
		if i := slices.IndexFunc(l.all, func(f *life) bool { return f.table == table }); i >= 0 {
			l.fail(l.all[i], when+": "+state, "%s", message)
		}
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
}

// fixpoint fails the types for which another full cycle does anything.
func (l *lives) fixpoint(when string) {
	l.Helper()
	var before int64
	if err := l.conn.QueryRow(l.Context(), `SELECT coalesce(max(id), 0) FROM iasql_audit_log`).Scan(&before); err != nil {
		l.Fatal(err)
	}
	calls := map[*life]int{}
	l.each(func(f *life) { calls[f] = l.changing(f) })
	l.sync()
	l.each(func(f *life) {
		if n := l.changing(f) - calls[f]; n > 0 {
			l.fail(f, "no fixpoint after it was "+when, "%d calls", n)
		}
	})
	rows, err := l.conn.Query(l.Context(),
		`SELECT table_name, change::text FROM iasql_audit_log WHERE id > $1 AND change_type IN ('INSERT', 'UPDATE', 'DELETE')`, before)
	if err != nil {
		l.Fatal(err)
	}
	var table, change string
	_, err = pgx.ForEachRow(rows, []any{&table, &change}, func() error {
		if i := slices.IndexFunc(l.all, func(f *life) bool { return f.table == table }); i >= 0 {
			l.fail(l.all[i], "no fixpoint after it was "+when, "%s", change)
		}
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
}

// changing returns how many calls have changed something.
func (l *lives) changing(f *life) int {
	return l.fake.Calls("CreateResource", f.name) + l.fake.Calls("UpdateResource",
		f.name) + l.fake.Calls("DeleteResource", f.name)
}

// sync has everything listed; what fails is a type's own.
func (l *lives) sync() {
	l.Helper()
	if _, err := l.conn.Exec(l.Context(), `SELECT iasql_sync_now()`); err != nil {
		l.Logf("sync: %v", err)
	}
}

// each does something with every life that goes on.
func (l *lives) each(do func(f *life)) {
	for _, f := range l.all {
		if !f.over {
			do(f)
		}
	}
}

// only returns the type's one object.
func (l *lives) only(f *life, when string) (string, map[string]any) {
	all := l.fake.Secrets(f.at, f.name)
	if len(all) != 1 {
		l.fail(f, when+": there is not one object", "%d", len(all))
		return "", nil
	}
	for id, object := range all {
		return id, object
	}
	return "", nil
}

func (l *lives) make() {
	l.each(func(f *life) {
		if err := l.insert(f); err != nil {
			l.fail(f, "the row of its object is refused", "%v", err)
		}
	})
	l.settle("made")
	l.each(func(f *life) {
		_, object := l.only(f, "made")
		for name, want := range f.example {
			if object != nil && !cloudcontrol.Includes(object[name], want, false) {
				l.fail(f, "made otherwise than asked", "%s: %v, not %v", name, object[name], want)
			}
		}
	})
}

// change changes every property that can be, one after the other.
func (l *lives) change() {
	for n, more := 0, true; more; n++ {
		more = false
		written := map[*life]string{}
		l.each(func(f *life) {
			mutable := f.typ.Mutable()
			if n >= len(mutable) || !f.t.Schema.Handlers["update"] {
				return
			}
			more = true
			value, ok := f.typ.Another(uint64(n), f.example, mutable[n])
			if !ok {
				return
			}
			to := maps.Clone(f.example)
			to[mutable[n]] = value
			switch some, err := l.write(f, to, ""); {
			case refusedAs(err, "IA051"): // what is fixed in it is different, too
			case err != nil:
				l.fail(f, "a change of its row is refused", "%s: %v", mutable[n], err)
			case some:
				written[f] = mutable[n]
			}
		})
		l.settle("changed")
		l.each(func(f *life) {
			name, asked := written[f]
			if _, object := l.only(f, "changed"); asked && object != nil &&
				!cloudcontrol.Includes(object[name], f.example[name], false) {
				l.fail(f, "changed otherwise than asked", "%s: %v, not %v", name, object[name], f.example[name])
			}
			if asked {
				l.changes++
			}
		})
	}
}

// drift changes the first property that others can change and everybody can read.
func (l *lives) drift() {
	// Within the consistency window of a call of its own the engine does not believe a read.
	l.Becomes(20*time.Second, "0",
		`SELECT count(*) FROM iasql_operations WHERE ended IS NULL OR ended > now() - (SELECT value::interval FROM iasql_settings WHERE name = 'consistency_window')`)
	want := l.others("changed by others")
	l.sync()
	l.shows(want, "changed by others")
}

// others changes a property of each object, as somebody else does.
func (l *lives) others(when string) map[*life]string {
	want := map[*life]string{}
	l.each(func(f *life) {
		if !f.t.Schema.Handlers["update"] {
			return
		}
		id, object := l.only(f, when)
		for n, name := range f.typ.Mutable() {
			value, ok := f.typ.Another(uint64(100+n+len(when)), f.example, name)
			if object == nil || !ok {
				continue
			}
			to := maps.Clone(f.example)
			to[name] = value
			before, errBefore := f.asked(f.example)
			after, errAfter := f.asked(to)
			column := ""
			for c := range after {
				if !f.t.Table.Column(c).WriteOnly && !f.t.Table.Column(c).Same(before[c], after[c]) {
					column = c
				}
			}
			if errBefore != nil || errAfter != nil || column == "" ||
				f.t.Table.Column(column).Replaces(before[column], after[column]) {
				continue
			}
			if err := l.fake.Edit(f.at, f.name, id, func(p map[string]any) { p[name] = value }); err != nil {
				continue // it is not right without something else
			}
			f.example, want[f] = to, column
			return
		}
	})
	return want
}

// shows fails the types whose rows do not have what objects have in a column.
func (l *lives) shows(want map[*life]string, when string) {
	l.each(func(f *life) {
		column, asked := want[f]
		if !asked {
			return
		}
		row, err := f.asked(f.example)
		if err != nil {
			l.fail(f, when+": cannot be a row", "%v", err)
			return
		}
		var got *string
		as := `SELECT to_jsonb(%q) #>> '{}' FROM %s`
		if f.t.Table.Column(column).Type == modules.TypeJSON {
			as = `SELECT %q::text FROM %s`
		}
		if err := l.conn.QueryRow(l.Context(), fmt.Sprintf(as, column, f.table)).Scan(&got); err != nil {
			l.fail(f, when+": its row cannot be read", "%v", err)
			return
		}
		c := f.t.Table.Column(column)
		if got == nil || *got != row[column].String() && !sameOrMore(row[column].String(), *got) {
			l.fail(f, when+": does not show", "%s: %q, not %s (%s)", column, deref(got), row[column], c.Type)
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// sameOrMore reports whether a text is JSON that has everything of another.
func sameOrMore(want, got string) bool {
	var w, g any
	if json.Unmarshal([]byte(want), &w) != nil || json.Unmarshal([]byte(got), &g) != nil {
		return false
	}
	return cloudcontrol.Includes(g, w, false)
}

// track has each table follow AWS only.
func (l *lives) track() {
	l.each(func(f *life) {
		if _, err := l.conn.Exec(l.Context(), `INSERT INTO iasql_mode (table_name, mode) VALUES ($1, 'TRACK')`,
			f.table); err != nil {
			l.fail(f, "cannot be tracked", "%v", err)
			return
		}
		if _, err := l.conn.Exec(l.Context(), `DELETE FROM `+f.table); !refusedAs(err, "IA002") {
			l.fail(f, "tracked, and a deletion is not refused", "%v", err)
		}
	})
	want := l.others("tracked")
	l.sync()
	l.shows(want, "tracked")
	if _, err := l.conn.Exec(l.Context(), `DELETE FROM iasql_mode`); err != nil {
		l.Fatal(err)
	}
	l.settle("tracked")
}

// replace changes a property that is fixed at creation.
func (l *lives) replace() {
	l.each(func(f *life) {
		names := f.typ.Fixed()
		if !f.t.Schema.Handlers["update"] { // then everything is
			names = append(names, f.typ.Mutable()...)
		}
		for n, name := range names {
			value, ok := f.typ.Another(uint64(n), f.example, name)
			if !ok || slices.ContainsFunc(f.t.Table.Columns, func(c modules.Column) bool {
				return f.t.Named(name) == c.Name && c.WriteOnly
			}) {
				continue // of a secret that cannot be read nobody knows whether it is another one
			}
			to := maps.Clone(f.example)
			to[name] = value
			some, err := l.write(f, to, allowed)
			if err != nil {
				continue // what names it, or what others need
			}
			if some {
				return
			}
		}
	})
	l.settle("replaced")
	l.each(func(f *life) {
		_, object := l.only(f, "replaced")
		for name, want := range f.example {
			if object != nil && object[name] == nil && f.typ.Hides(name) {
				l.fail(f, "replaced", "%s, which cannot be read, is not in its replacement", name)
			} else if object != nil && !cloudcontrol.Includes(object[name], want, false) {
				l.fail(f, "replaced otherwise than asked", "%s: %v, not %v", name, object[name], want)
			}
		}
	})
}

func (l *lives) delete() {
	l.each(func(f *life) {
		if _, err := l.conn.Exec(l.Context(), `DELETE FROM `+f.table); err != nil {
			l.fail(f, "a deletion of its row is refused", "%v", err)
		}
	})
	l.settle("deleted")
	l.each(func(f *life) {
		if left := l.fake.Objects(f.at, f.name); len(left) > 0 {
			l.fail(f, "is there after it was deleted", "%v", left)
		}
	})
}

// adopt has objects that others make found: by listings, or by their identifiers.
func (l *lives) adopt() {
	l.each(func(f *life) {
		other, err := f.typ.Example(77, false) // one of the name that is gone may be that one, seen late
		if err != nil {
			return
		}
		f.example = other
		id, err := l.fake.Put(f.at, f.name, f.example)
		if err != nil {
			return // what AWS would not take from others either, such as what has to be secret
		}
		listed := f.t.Schema.Handlers["list"] && !slices.ContainsFunc(f.t.Schema.ListBy, func(p cfn.Parameter) bool {
			return len(p.Values) == 0
		})
		if listed {
			return
		}
		row := f.t.Identity(id)
		if asked, err := f.asked(f.example); err == nil {
			for i := range f.t.Table.Columns {
				if c := &f.t.Table.Columns[i]; c.Required && !asked[c.Name].IsNull() {
					row[c.Name] = asked[c.Name]
				}
			}
		}
		columns, values := f.sql(row)
		if _, err := l.conn.Exec(l.Context(),
			fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", f.table, strings.Join(columns, ", "),
				strings.Join(values, ", "))); err != nil {
			l.fail(f, "the row of an object that is there is refused", "%v", err)
		}
	})
	l.sync()
	l.settle("adopted")
	l.each(func(f *life) {
		want := len(l.fake.Objects(f.at, f.name))
		var got int
		if err := l.conn.QueryRow(l.Context(), `SELECT count(*) FROM `+f.table).Scan(&got); err != nil || got != want {
			l.fail(f, "an object that is there is not adopted", "%d records, %d objects: %v", got, want, err)
		}
	})
}
