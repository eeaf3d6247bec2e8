package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// settleWithin is how long the engines have, once all is well, to find out about
// calls whose fate is unknown: twice the consistency window, and some.
func settleWithin() time.Duration { return 2*window() + 10*time.Second }

// expected is an object as its editors want it.
type expected struct {
	kind   string
	gone   bool
	fields map[string]string
}

// check compares the tables, the cloud and what everybody noted.
func (w *world) check(o *outsider) {
	ctx := context.Background()
	time.Sleep(settleWithin())
	w.allConnect()
	// The clock has jumped: what was to end by it ends now.
	w.must(`UPDATE iasql_internal.expiry SET until = now()`, `UPDATE iasql_mode SET until = clock_timestamp() + interval '1 second' WHERE until IS NOT NULL`)
	for deadline := time.Now().Add(30 * time.Second); w.scalar(`SELECT count(*) FROM iasql_expiring`) != "0"; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			w.t.Errorf("it does not end: %s", w.list(`SELECT x::text FROM iasql_expiring x`))
			break
		}
	}
	// What failed for good while calls were refused needs a person: here it is.
	w.must(`SELECT iasql_retry(table_name, record_id) FROM iasql_status WHERE state <> 'Present'`)
	for range 3 {
		w.must(`SELECT iasql_sync_now()`)
	}
	before := w.scalar(`SELECT coalesce(max(id), 0) FROM iasql_operations`)
	w.must(`SELECT iasql_sync_now()`)
	if after := w.scalar(`SELECT coalesce(max(id), 0) FROM iasql_operations`); after != before {
		w.t.Errorf("no fixpoint within three cycles: the fourth made calls %s to %s", before, after)
	}
	for _, unsettled := range w.list(
		`SELECT concat_ws(' ', l.table_name, l.record_id, l.change_type, l.change, s.state, s.message) FROM iasql_audit_log l
			LEFT JOIN iasql_status s USING (table_name, record_id) WHERE NOT l.settled AND coalesce(s.message, '') = ''`) {
		w.t.Errorf("neither settled nor explained: %s", unsettled)
	}
	for _, state := range w.list(`SELECT concat_ws(' ', table_name, record_id, state, message) FROM iasql_status WHERE state <> 'Present'`) {
		w.t.Errorf("not settled although all is well: %s", state)
	}
	for _, record := range w.list(`
		SELECT concat_ws(' ', 'vpc', record_id, string_agg(DISTINCT change -> 'change' ->> 'vpc_id', ', ')) FROM iasql_audit_log
		WHERE table_name = 'vpc' GROUP BY record_id HAVING count(DISTINCT change -> 'change' ->> 'vpc_id') > 1`) {
		w.t.Errorf("made anew although nobody asked for it: %s", record)
	}

	for _, record := range w.list(`
		SELECT concat_ws(' ', 'dynamo_table', o.name, string_agg(DISTINCT l.change -> 'change' ->> 'table_id', ', '))
		FROM chaos.object o JOIN iasql_audit_log l ON l.table_name = 'dynamo_table' AND l.record_id = o.record WHERE o.kind = 'table'
		GROUP BY o.name HAVING count(DISTINCT l.change -> 'change' ->> 'table_id') > (SELECT count(*) FROM chaos.wish WHERE object = o.name AND field = 'name')`) {
		w.t.Errorf("a table was deleted with its data, and made anew, although nobody asked for it: %s", record)
	}

	want, unsure := w.wanted(o)
	cloud, err := o.look(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	tables, err := w.records(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.compare("cloud", want, unsure, cloud)
	w.compare("table", want, unsure, tables)
	w.agree(unsure, cloud, tables)
	w.checkThings(ctx)
}

// wanted is what SQL users and the outsider noted, and the names of what batches that
// were rolled back in part had to do with.
func (w *world) wanted(o *outsider) (want map[string]*expected, unsure map[string]bool) {
	want, unsure = map[string]*expected{}, map[string]bool{}
	for _, line := range w.list(`SELECT concat_ws('|', name, kind, gone) FROM chaos.object`) {
		f := strings.Split(line, "|")
		want[f[0]] = &expected{kind: f[1], gone: f[2] == "t", fields: map[string]string{}}
	}
	for name, v := range o.vpcs {
		want[name] = &expected{"vpc", v.gone, map[string]string{"v": v.word, "id": v.id}}
	}
	for name, q := range o.queues {
		want[name] = &expected{"queue", q.gone, map[string]string{"name": name, "delay": fmt.Sprint(q.delay)}}
	}
	for name, thing := range o.things {
		want[name] = &expected{thing.kind, thing.gone, map[string]string{"name": name, "v": thing.word}}
	}
	for _, line := range w.list(`SELECT DISTINCT ON (object, field) concat_ws('|', object, field, value) FROM chaos.wish ORDER BY object, field, id DESC`) {
		f := strings.Split(line, "|")
		want[f[0]].fields[f[1]] = f[2]
	}
	for name, fields := range o.shared {
		for field, value := range fields {
			want[name].fields[field] = value
		}
	}
	// Queues and tables are found by the names that they have now.
	for name, e := range want {
		if now := e.fields["name"]; (e.kind == "queue" || e.kind == "table" || isThing(e.kind)) && now != name {
			delete(want, name)
			want[now] = e
		}
	}
	for _, name := range w.list(`SELECT name FROM chaos.object WHERE unsure
			UNION SELECT w.value FROM chaos.object o JOIN chaos.wish w ON w.object = o.name WHERE o.unsure AND w.field = 'name'`) {
		unsure[name] = true
		delete(want, name)
	}
	return want, unsure
}

// compare checks that each object is there once and as it should be, and
// nothing else.
func (w *world) compare(side string, want map[string]*expected, unsure map[string]bool, have []cloudObject) {
	seen := map[string]int{}
	suspects := map[string]bool{}
	defer func() {
		for name := range suspects {
			w.history(name)
		}
	}()
	for _, h := range have {
		if unsure[h.name] {
			continue
		}
		e := want[h.name]
		seen[h.name]++
		switch {
		case e == nil || e.kind != h.kind:
			suspects[h.name] = true
			w.t.Errorf("%s: the %s %q was asked for by nobody: %v", side, h.kind, h.name, h.fields)
		case e.gone:
			suspects[h.name] = true
			w.t.Errorf("%s: the %s %q was deleted and is there: %v", side, h.kind, h.name, h.fields)
		case seen[h.name] > 1:
			w.t.Errorf("%s: the %s %q is there %d times: %v", side, h.kind, h.name, seen[h.name], h.fields)
		default:
			for field, value := range e.fields {
				if h.fields[field] != value {
					suspects[h.name] = true
					w.t.Errorf("%s: the %s %q has %s = %q, wanted %q", side, h.kind, h.name, field,
						h.fields[field], value)
				}
			}
		}
	}
	for name, e := range want {
		if !e.gone && seen[name] == 0 {
			suspects[name] = true
			w.t.Errorf("%s: the %s %q is not there: %v", side, e.kind, name, e.fields)
		}
	}
}

// history tells all that is known of an object, and of the record of an SQL
// user's.
func (w *world) history(name string) {
	for _, line := range w.list(`
		WITH object AS (
			SELECT CASE kind WHEN 'group' THEN 'security_group' WHEN 'table' THEN 'dynamo_table' ELSE CASE WHEN starts_with(kind, 'thing_') THEN 'example_chaos_' || kind ELSE kind END END AS table_name, record FROM chaos.object WHERE name = '` + name + `'
				OR name = (SELECT object FROM chaos.wish WHERE field = 'name' AND value = '` + name + `'))
		SELECT to_char(at, 'HH24:MI:SS.MS ') || what FROM (
			SELECT l.ts AS at, concat_ws(' ', 'log', l.id, l.change_type, l.origin, l.record_id, l.change, l.key, l.settled_at) AS what FROM iasql_audit_log l, object o
			WHERE l.table_name = o.table_name AND l.record_id = o.record
			   OR l.table_name IS NOT NULL AND l.origin = 'engine' AND l.change::text LIKE '%"` + name + `"%'
			UNION ALL
			SELECT p.started, concat_ws(' ', 'operation', p.id, 'of', p.table_name, p.record_id, 'cycle', p.cycle_id, p.action, p.key, 'up to', p.up_to, p.result, p.error, p.ended, p.columns) FROM iasql_operations p
			WHERE p.key LIKE '%` + name + `%' OR p.columns::text LIKE '%"` + name +
		`"%' OR EXISTS (SELECT FROM object o WHERE p.table_name = o.table_name AND p.record_id = o.record)
			UNION ALL
			SELECT g.since, concat_ws(' ', 'old object of', g.table_name, g.record_id, g.key, g.state, g.message, g.attempts) FROM iasql_internal.garbage g
			WHERE g.key LIKE '%` + name + `%' OR EXISTS (SELECT FROM object o WHERE g.table_name = o.table_name AND g.record_id = o.record)
			UNION ALL
			SELECT c.started, concat_ws(' ', 'cycle', c.id, c.kind, c.engine, c.ended, c.message, e.details) FROM iasql_cycles c LEFT JOIN iasql_internal.cycle_details e ON e.cycle_id = c.id
			WHERE c.started BETWEEN (SELECT min(p.started) FROM iasql_operations p, object o WHERE p.table_name = o.table_name AND p.record_id = o.record)
				AND (SELECT max(l.settled_at) FROM iasql_audit_log l, object o WHERE l.table_name = o.table_name AND l.record_id = o.record)
			UNION ALL
			SELECT c.at, concat_ws(' ', 'conflict', c.column_name, c.database_value, c.cloud_value, c.base, c.resolved) FROM iasql_conflicts c, object o
			WHERE c.table_name = o.table_name AND c.record_id = o.record
		) x ORDER BY at`) {
		w.t.Logf("%s: %s", name, line)
	}
}

// records reads the tables as look reads the cloud.
func (w *world) records(ctx context.Context) (objects []cloudObject, err error) {
	queries := map[string]string{
		"vpc":    `SELECT coalesce(tags ->> 'Name', ''), jsonb_build_object('v', tags ->> 'v', 'id', vpc_id, 'hostnames', enable_dns_hostnames::text) FROM vpc WHERE NOT is_default`,
		"subnet": `SELECT coalesce(s.tags ->> 'Name', ''), jsonb_build_object('v', s.tags ->> 'v', 'cidr', s.cidr_block::text, 'public', s.map_public_ip_on_launch::text) FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE NOT v.is_default`,
		"group":  `SELECT group_name, jsonb_build_object('v', tags ->> 'v', 'description', description) FROM security_group WHERE group_name <> 'default'`,
		"table":  `SELECT table_name, jsonb_build_object('name', table_name, 'v', tags ->> 'v') FROM dynamo_table`,
		"queue":  `SELECT name, jsonb_build_object('name', name, 'visibility', visibility_timeout::text, 'delay', delay_seconds::text) FROM queue`,
	}
	for i := range len(kinds) {
		queries[thingKind(kinds[i])] = `SELECT thing_name, jsonb_build_object('name', thing_name, 'v', word, 'size', size::text) FROM ` + thingTable(thingKind(kinds[i]))
	}
	for kind, sql := range queries {
		rows, err := w.admin.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		var name string
		var fields map[string]*string
		_, err = pgx.ForEachRow(rows, []any{&name, &fields}, func() error {
			o := cloudObject{kind, name, map[string]string{}}
			for k, v := range fields {
				if v != nil {
					o.fields[k] = *v
				}
			}
			objects = append(objects, o)
			fields = nil
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func (w *world) scalar(sql string) string {
	w.t.Helper()
	list := w.list(sql)
	if len(list) != 1 {
		w.t.Fatalf("%s: %d rows", sql, len(list))
	}
	return list[0]
}

func (w *world) list(sql string) []string {
	w.t.Helper()
	rows, err := w.admin.Query(context.Background(), sql)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s string, err error) {
		values, err := row.Values()
		if err == nil {
			s = fmt.Sprint(values[0])
		}
		return s, err
	})
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// refused looks at why a user's transaction failed: only because the database
// went away or had no room.
func (w *world) refused(err error) {
	text := err.Error()
	for _, expected := range []string{
		"57P0", "connect", "conn closed", "EOF", "reset by peer", "timeout", "deadline", "closed pool", "broken pipe",
		"40001", "40P01", "55P03", "53100", "recovery",
	} {
		if strings.Contains(text, expected) {
			return
		}
	}
	w.t.Errorf("a user's change was refused: %v", err)
}

func (w *world) report(o *outsider, k *killer) {
	w.t.Logf("%d transactions of users, %d edits outside, %d kills, %d restarts of PostgreSQL, %d connections cut, "+
		"its disk full %d times, its clock set %d times",
		w.edits.Load(), o.edits, k.kills, w.restarts.Load(), w.cuts.Load(), w.fills.Load(), w.jumps.Load())
	w.t.Logf("batches: %v; said of others: %v", w.closed.counts, w.closed.said)
	w.t.Logf("%s records expired, %s declarations are or were in force", w.scalar(`SELECT count(*) FROM iasql_audit_log WHERE message LIKE 'it has expired%'`),
		w.scalar(`SELECT count(DISTINCT transaction_id) FROM iasql_audit_log l WHERE change_type LIKE '%COMMIT%' AND EXISTS (SELECT FROM iasql_internal.declaration d WHERE d.batch = l.transaction_id)`))
	w.t.Logf("faults: %s", w.weather)
	w.t.Logf("%s operations: %s", w.scalar(`SELECT count(*) FROM iasql_operations`),
		w.scalar(`SELECT string_agg(result || ' ' || n, ', ') FROM (SELECT coalesce(result, 'open') AS result, count(*) AS n FROM iasql_operations GROUP BY 1) x`))
	w.t.Logf("operations by kind: %s", w.scalar(`SELECT string_agg(what || ' ' || n, ', ' ORDER BY what) FROM (
		SELECT table_name || ' ' || CASE WHEN replaces THEN 'replacing ' ELSE '' END || kind AS what, count(*) AS n FROM iasql_operations GROUP BY 1) x`))
	for _, cycles := range w.list(
		`SELECT kind || ': ' || count(*) || ', ' || count(*) FILTER (WHERE message <> '') || ' of them cut off or failed, median '
		|| round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended - started))::numeric) || ' ms, ' || sum(pulls) || ' pulls' FROM iasql_cycles WHERE ended IS NOT NULL GROUP BY kind`) {
		w.t.Logf("cycles, %s", cycles)
	}
	for _, why := range w.list(`SELECT kind || ' ' || count(*) || ': ' || left(message, 120) FROM iasql_cycles WHERE message <> '' GROUP BY kind, left(message, 120) ORDER BY count(*) DESC LIMIT 20`) {
		w.t.Logf("ended early, %s", why)
	}
	w.t.Logf("%s records were deleted because their objects had gone",
		w.scalar(`SELECT count(*) FROM iasql_audit_log WHERE change_type = 'DELETE' AND origin = 'engine'`))
	w.t.Logf("%s objects at the end", w.scalar(`SELECT count(*) FROM chaos.object WHERE NOT gone`))
	w.t.Logf("kill points:\n%s", k)
	// built with -race, an engine tells of races in its log (go.dev/doc/articles/race_detector)
	for _, e := range w.engines {
		if _, race, found := strings.Cut(e.log.String(), "WARNING: DATA RACE"); found {
			w.t.Errorf("%s has a data race:%s", e.name, race[:min(len(race), 4000)])
		}
	}
}
