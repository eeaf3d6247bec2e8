package postgres_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// attribution plays what events say and what is pulled of one box, at seconds of a minute
// that is past.
type attribution struct {
	*testing.T
	tx     pgx.Tx
	minute time.Time
	hints  map[string]int64
	pulls  map[string]int64
	edits  map[string]int64
}

func (a *attribution) at(second float64) time.Time {
	return a.minute.Add(time.Duration(second * float64(time.Second)))
}

func (a *attribution) exec(sql string, args ...any) {
	a.Helper()
	if _, err := a.tx.Exec(a.Context(), sql, args...); err != nil {
		a.Fatalf("%s: %v", sql, err)
	}
}

func (a *attribution) id(sql string, args ...any) (id int64) {
	a.Helper()
	if err := a.tx.QueryRow(a.Context(), sql, args...).Scan(&id); err != nil {
		a.Fatalf("%s: %v", sql, err)
	}
	return id
}

// event comes at a second and tells of a call of the second before, in whole seconds, by
// somebody with the name of its first letter.
func (a *attribution) event(name string, second float64) {
	a.Helper()
	a.exec(`INSERT INTO iasql_internal.cloud_event (account, id, region, service, call, at, received, request_id, actor)
		VALUES ('main', $1, '', 'scripted', 'Change', date_trunc('second', $2::timestamptz), $3, $1, left($1, 1))`,
		name, a.at(second-0.2), a.at(second))
	a.hints[name] = a.id(`INSERT INTO iasql_internal.hint (account, event, table_name, region, column_name, value, existing, due)
		VALUES ('main', $1, 'box', '', 'box_id', 'box-1', false, $2) RETURNING id`, name, a.at(second))
}

// pull writes that the box was found changed.
func (a *attribution) pull(name string, second float64, change, columns string) {
	a.Helper()
	before := a.id(`SELECT coalesce(max(id), 0) FROM public.iasql_audit_log`)
	a.pulls[name] = a.id(`INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change, origin)
		VALUES ($1, 'engine', 'box', 1, 'main', $2, $3::jsonb, 'engine') RETURNING id`, a.at(second), change, columns)
	a.exec(`SELECT iasql_internal.attribute('main', 'box', $1, '{i1}', '{""}', '{box_id}', '{box-1}')`, before)
}

// label pulls a label, and assigned what the cloud alone says.
func (a *attribution) label(name string, second float64) {
	a.Helper()
	a.pull(name, second, "UPDATE", `{"change": {"label": "x"}}`)
}

func (a *attribution) assigned(name string, second float64) {
	a.Helper()
	a.pull(name, second, "UPDATE", `{"change": {"box_id": "box-1"}}`)
}

// edit changes the box here, and conflict has it that the box was changed there as well.
func (a *attribution) edit(name string, second float64) {
	a.Helper()
	a.edits[name] = a.id(`INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change, origin)
		VALUES ($1, 'eve', 'box', 1, 'main', 'UPDATE', '{"change": {"label": "x"}}', 'user') RETURNING id`,
		a.at(second))
}

func (a *attribution) settled(name string, second float64) {
	a.Helper()
	a.exec(`UPDATE public.iasql_audit_log SET settled = true, settled_at = $2 WHERE id = $1`, a.edits[name],
		a.at(second))
}

func (a *attribution) conflict(edit string, second float64) {
	a.Helper()
	a.exec(`INSERT INTO public.iasql_conflicts (table_name, record_id, column_name, audit_id) VALUES ('box', 1, 'label', $1)`, a.edits[edit])
	a.exec(`SELECT iasql_internal.attribute_conflict('main', 'box', 1, '{box_id}', '{box-1}')`)
	a.exec(`UPDATE public.iasql_conflicts SET at = $2 WHERE audit_id = $1`, a.edits[edit], a.at(second))
}

// looked ends hints, or has them wait.
func (a *attribution) looked(again bool, names ...string) {
	a.Helper()
	for _, name := range names {
		a.exec(`SELECT iasql_internal.attribute_late('main', ARRAY[$1::bigint], '{1}', ARRAY[$2::boolean])`,
			a.hints[name], !again)
		a.exec(`UPDATE iasql_internal.hint SET tries = tries + 1, due = CASE WHEN $2 THEN due + interval '1 minute' END WHERE id = $1`, a.hints[name], again)
	}
}

// TestAttribution: who has changed what, in which order ever events come and reads show it.
func TestAttribution(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, test := range map[string]struct {
		play func(*attribution)
		want map[string]string // by pull, the event; with "+" who else it may have been; and by the edit of a conflict
	}{
		"each explains its own, though both had come at the first": {func(a *attribution) {
			a.event("ann", 10.2)
			a.event("bob", 10.3)
			a.label("first", 10.4)
			a.looked(false, "ann")
			a.label("second", 10.5)
			a.looked(false, "bob")
		}, map[string]string{"first": "ann+{b}", "second": "bob"}},
		"what the engine's own call has led to before is nobody else's": {func(a *attribution) {
			a.assigned("own", 9.9)
			a.event("ann", 10.3)
			a.event("bob", 10.35)
			a.label("first", 10.4)
			a.looked(false, "ann")
			a.label("second", 10.5)
			a.looked(false, "bob")
		}, map[string]string{"own": "", "first": "ann+{b}", "second": "bob"}},
		"what the cloud assigns takes no event from what somebody has changed": {func(a *attribution) {
			a.event("ann", 10.3)
			a.assigned("state", 10.4)
			a.label("change", 10.5)
			a.looked(false, "ann")
		}, map[string]string{"state": "ann", "change": "ann"}},
		"both were pulled before": {func(a *attribution) {
			a.label("first", 10)
			a.label("second", 10.1)
			a.event("ann", 11)
			a.event("bob", 11.1)
			a.looked(false, "ann", "bob")
		}, map[string]string{"first": "ann+{b}", "second": "bob"}},
		"what has shown no effect so far comes after what is new": {func(a *attribution) {
			a.event("ann", 10)
			a.looked(true, "ann")
			a.event("bob", 12)
			a.label("change", 12.1)
		}, map[string]string{"change": "bob+{a}"}},
		"what shows late": {func(a *attribution) {
			a.event("ann", 10)
			a.looked(true, "ann")
			a.exec(`UPDATE iasql_internal.listing SET tried = $1`, a.at(20))
			a.label("change", 25)
		}, map[string]string{"change": "ann"}},
		"what was found together is explained": {func(a *attribution) {
			a.event("ann", 10)
			a.event("bob", 10.1)
			a.label("both", 10.2)
			a.looked(false, "ann", "bob")
			a.label("another", 10.4)
		}, map[string]string{"both": "ann+{b}", "another": ""}},
		"and the event of another comes late": {func(a *attribution) {
			a.event("ann", 10)
			a.event("bob", 10.1)
			a.label("both", 10.2)
			a.looked(false, "ann", "bob")
			a.label("another", 10.4)
			a.event("cay", 11)
			a.looked(false, "cay")
		}, map[string]string{"both": "ann+{b}", "another": "cay"}},
		"a deletion that takes its time": {func(a *attribution) {
			a.event("ann", 10)
			a.label("going", 10.1)
			a.looked(true, "ann")
			a.pull("gone", 55, "DELETE", `{"original": {"box_id": "box-1", "label": "x"}}`)
		}, map[string]string{"going": "ann", "gone": "ann"}},
		"a change while a creation takes its time": {func(a *attribution) {
			a.event("ann", 10)
			a.label("made", 10.1)
			a.looked(true, "ann")
			a.label("other", 30)
		}, map[string]string{"made": "ann", "other": ""}},
		"nobody did it twice": {func(a *attribution) {
			a.event("ann", 10)
			a.label("first", 10.1)
			a.looked(false, "ann")
			a.label("second", 11)
		}, map[string]string{"first": "ann", "second": ""}},
		"what is still to be seen is not what was pulled a moment before": {func(a *attribution) {
			a.label("own", 10)
			a.event("ann", 13.5)
			a.looked(true, "ann")
			a.label("change", 15)
			a.looked(false, "ann")
		}, map[string]string{"own": "", "change": "ann"}},
		"unless nothing is seen: the clocks differ": {func(a *attribution) {
			a.label("before", 10)
			a.event("ann", 13.5)
			a.looked(true, "ann")
			a.looked(false, "ann")
		}, map[string]string{"before": "ann"}},
		"the call of a whole second that is past": {func(a *attribution) {
			a.label("change", 10.3)
			a.event("ann", 10.9)
			a.looked(true, "ann")
		}, map[string]string{"change": "ann"}},
		"nor is a conflict's other side who has changed it after that": {func(a *attribution) {
			a.edit("edit", 10)
			a.conflict("edit", 10.5)
			a.event("ann", 13.5)
			a.looked(true, "ann")
		}, map[string]string{"edit": ""}},
		"long ago": {func(a *attribution) {
			a.label("before", 1)
			a.event("ann", 10)
			a.looked(false, "ann")
		}, map[string]string{"before": ""}},
		"a conflict's other side has changed it since both sides agreed": {func(a *attribution) {
			a.event("ann", 10)
			a.label("before", 10.1)
			a.looked(false, "ann")
			a.edit("edit", 11)
			a.event("bob", 11.5)
			a.conflict("edit", 12)
		}, map[string]string{"before": "ann", "edit": "bob"}},
		"what was pulled before is not a conflict's other side": {func(a *attribution) {
			a.event("ann", 10)
			a.label("before", 10.1)
			a.looked(false, "ann")
			a.edit("edit", 11)
			a.conflict("edit", 12)
		}, map[string]string{"before": "ann", "edit": ""}},
		"what the cloud assigned in the second of the call is not what both sides agreed on": {func(a *attribution) {
			a.assigned("own", 10.2)
			a.edit("edit", 10.3)
			a.conflict("edit", 10.5)
			a.event("ann", 10.6)
			a.looked(false, "ann")
		}, map[string]string{"own": "ann", "edit": "ann"}},
		"what was told before both sides agreed neither": {func(a *attribution) {
			a.event("ann", 10)
			a.looked(false, "ann")
			a.edit("first", 18)
			a.settled("first", 20)
			a.edit("second", 25)
			a.conflict("second", 26)
			a.event("bob", 27)
			a.looked(false, "bob")
		}, map[string]string{"first": "", "second": "bob"}},
		"of several, the last is a conflict's other side": {func(a *attribution) {
			a.event("ann", 10)
			a.event("bob", 12)
			a.edit("edit", 13)
			a.conflict("edit", 14)
		}, map[string]string{"edit": "bob"}},
		"also if the last one's event comes late": {func(a *attribution) {
			a.event("ann", 10)
			a.edit("edit", 13)
			a.conflict("edit", 14)
			a.event("bob", 13)
			a.event("cay", 12)
			a.looked(false, "bob", "cay")
			a.event("dan", 20)
			a.looked(false, "dan")
		}, map[string]string{"edit": "bob"}},
		"the engine's own call is not a conflict's other side": {func(a *attribution) {
			a.event("ann", 10)
			a.event("me", 11)
			a.exec(`INSERT INTO iasql_internal.own_request (id) VALUES ('me'), ('mi')`)
			a.edit("edit", 12)
			a.conflict("edit", 14)
			a.event("mi", 13)
			a.looked(false, "mi")
		}, map[string]string{"edit": "ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := b.user.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context())
			a := &attribution{T: t, tx: tx, minute: time.Now().Add(-2 * time.Minute).Truncate(time.Minute),
				hints: map[string]int64{}, pulls: map[string]int64{}, edits: map[string]int64{}}
			a.exec(`SET LOCAL iasql.origin = 'engine'`)
			a.exec(`INSERT INTO iasql_internal.listing (account, table_name, region, tried, rules) VALUES ('main', 'box', '', $1, '') ON CONFLICT (account, table_name, region) DO UPDATE SET tried = excluded.tried`, a.at(0))
			test.play(a)
			got := map[string]string{}
			for pull, id := range a.pulls {
				var by string
				if err := tx.QueryRow(t.Context(),
					`SELECT coalesce(event_id || coalesce('+' || also::text, ''), '') FROM public.iasql_audit_log WHERE id = $1`, id).Scan(&by); err != nil {
					t.Fatal(err)
				}
				got[pull] = by
			}
			for edit, id := range a.edits {
				var by string
				if err := tx.QueryRow(t.Context(),
					`SELECT coalesce(string_agg(event_id, ','), '') FROM public.iasql_conflicts WHERE audit_id = $1`,
					id).Scan(&by); err != nil {
					t.Fatal(err)
				}
				got[edit] = by
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("by %s, want %s", fmt.Sprint(got), fmt.Sprint(test.want))
			}
		})
	}
}

// TestNamedWhole: records are found by all of their identity, and so is who has changed them,
// also of those that are gone.
func TestNamedWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO public.box (label, open) VALUES ('x', true)`)
	b.mustCycle(store.Push)
	b.mustCycle(store.Push)
	box := b.query(`SELECT box_id FROM public.box`)
	for _, sheet := range []string{"a", `"b`, "d"} {
		b.cloud.sheets[box+"/"+sheet] = true
	}
	b.mustCycle(store.Full)
	name := func(values ...string) string {
		text, _ := sheetTable.IdentityText(func(*modules.Column) modules.Value {
			value := values[0]
			values = values[1:]
			return modules.Text(value)
		})
		return text
	}
	found, err := b.db.Named(t.Context(), sheetTable, modules.Scope{Account: "main"}, modules.ColumnIdentity,
		[]string{name(box, "a"), name(box, `"b`), name("box-9", "a"), name(box, "c")})
	var want []store.Named
	for _, sheet := range []string{"a", `"b`} {
		id, _ := strconv.ParseInt(b.query(`SELECT id FROM public.sheet WHERE name = $1`, sheet), 10, 64)
		want = append(want, store.Named{Value: name(box, sheet), Record: id})
	}
	slices.SortFunc(want, func(a, b store.Named) int { return cmp.Compare(a.Record, b.Record) })
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("got %v, %v, want %v", found, err, want)
	}
	for row, has := range map[string]bool{
		`{"box_id": "box-1", "name": "a"}`: true,
		`{"box_id": 17, "name": "a"}`:      true, // the id of a record
		`{"box_id": "box-1", "name": "b"}`: false,
		`{"box_id": "box-2", "name": "a"}`: false,
	} {
		if got := b.query(`SELECT iasql_internal.has_name($1, '*', $2, '{box_id,name}')`, row, name("box-1", "a")); got != fmt.Sprint(has) {
			t.Errorf("%s: %s", row, got)
		}
	}
}
