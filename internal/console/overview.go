package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// concern is a record that is not as it should be.
type concern struct {
	table, state, message string
	code                  string // which guard waits, if one does
	id                    int64
	review                bool
	since                 *time.Time
	next                  *time.Time
}

// loadConcerns returns records that need a person, oldest first, or all that are
// not settled. It looks at what is remembered of those alone.
func loadConcerns(ctx context.Context, tx pgx.Tx, reviewOnly bool, limit int) ([]concern, error) {
	rows, err := tx.Query(ctx, `
		SELECT table_name, record_id, state, message, review, since, next_attempt_at, code FROM (
			(SELECT s.table_name, s.record_id, s.state, s.message, s.review, s.since, CASE WHEN s.next_attempt_at < 'infinity' THEN s.next_attempt_at END AS next_attempt_at, s.code
			 FROM iasql_internal.record_state s WHERE s.review OR NOT $1 ORDER BY s.review DESC, s.since LIMIT $2)
			UNION ALL
			(SELECT o.table_name, o.record_id, o.state, concat_ws(': ', 'its predecessor ' || o.key, nullif(o.message, '')), o.review, o.since, CASE WHEN o.next_attempt_at < 'infinity' THEN o.next_attempt_at END, ''
			 FROM iasql_internal.garbage o WHERE o.review OR NOT $1 ORDER BY o.review DESC, o.since LIMIT $2)) c
		ORDER BY review DESC, since LIMIT $2`, reviewOnly, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (concern, error) {
		var c concern
		return c, row.Scan(&c.table, &c.id, &c.state, &c.message, &c.review, &c.since, &c.next, &c.code)
	})
}

// stateCount is how many records of a table are in a state other than Present.
type stateCount struct {
	table, state string
	n            int64
}

const mostStates = 20000

// loadStates counts what is remembered of records that are not settled, up to a
// bound; whole reports whether that was all.
func loadStates(ctx context.Context, tx pgx.Tx) (counts []stateCount, whole bool, err error) {
	rows, err := tx.Query(ctx, `
		SELECT s.table_name, s.state, count(*) FROM (
			SELECT table_name, state FROM iasql_internal.record_state LIMIT $1) s
		GROUP BY 1, 2
		UNION ALL
		SELECT u.table_name, 'Unknown', count(DISTINCT u.record_id) FROM iasql_internal.unread_records() u GROUP BY 1
		ORDER BY 1, 2`, mostStates+1)
	if err != nil {
		return nil, false, err
	}
	total := int64(0)
	counts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (stateCount, error) {
		var c stateCount
		err := row.Scan(&c.table, &c.state, &c.n)
		if c.state != "Unknown" { // of which there may be any number
			total += c.n
		}
		return c, err
	})
	return counts, total <= mostStates, err
}

// overviewData is what the overview shows.
type overviewData struct {
	engines    []engineInfo
	accounts   []accountInfo
	concerns   []concern
	errors     []errorInfo
	held       []heldInfo
	conflicts  int64 // that are open
	decisions  int64 // of them what is not a record that has vanished
	approvals  int64 // how many a commit needs
	costs      costInfo
	me         string
	tables     []*tableInfo
	states     []stateCount
	whole      bool
	pending    int64
	batches    []batchInfo
	sources    []sourceInfo
	deniedIn   map[string]bool
	ending     []endingInfo
	everything bool // nothing is hidden from the visitor
}

type engineInfo struct{ name, version, doing string }

// endingInfo is what ends within a day, should have ended, or has been paused for long.
type endingInfo struct {
	record, state, message string
	needsPerson            bool
}

type accountInfo struct {
	name, kind, message string
	started             *time.Time
	ended               *time.Time
	pushes, pulls, errs *int64
}

type errorInfo struct {
	ts             *time.Time
	table, message string
}

func (v *visit) loadOverview(tx pgx.Tx) (d overviewData, err error) {
	ctx := v.ctx()
	steps := []func() error{
		func() error {
			rows, err := tx.Query(ctx, `SELECT engine, version, doing FROM public.iasql_engines() LIMIT 50`)
			if err != nil {
				return err
			}
			d.engines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (engineInfo, error) {
				var e engineInfo
				return e, row.Scan(&e.name, &e.version, &e.doing)
			})
			return err
		},
		func() error { // the newest cycle of each account, of the newest few
			rows, err := tx.Query(ctx, `
				SELECT DISTINCT ON (c.account) c.account, c.kind, c.started, c.ended, c.pushes, c.pulls, c.errors, coalesce(c.message, '')
				FROM (SELECT * FROM public.iasql_cycles ORDER BY id DESC LIMIT 500) c ORDER BY c.account, c.id DESC`)
			if err != nil {
				return err
			}
			d.accounts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (accountInfo, error) {
				var a accountInfo
				return a, row.Scan(&a.name, &a.kind, &a.started, &a.ended, &a.pushes, &a.pulls, &a.errs, &a.message)
			})
			return err
		},
		func() error { d.concerns, err = loadConcerns(ctx, tx, true, mostConcerns+1); return err },
		func() error { d.held, err = loadHeld(ctx, tx); return err },
		func() error {
			rows, err := tx.Query(ctx, `
				SELECT e.ts, coalesce(e.table_name, ''), e.message FROM iasql_internal.listing_errors e ORDER BY e.ts DESC LIMIT 10`)
			if err != nil {
				return err
			}
			d.errors, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (errorInfo, error) {
				var e errorInfo
				return e, row.Scan(&e.ts, &e.table, &e.message)
			})
			return err
		},
		func() error {
			return tx.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT c.vanished) FROM (
				SELECT audit_id = 0 AND column_name IS NULL AS vanished FROM public.iasql_conflicts WHERE resolved IS NULL AND NOT closed LIMIT 1001) c`).
				Scan(&d.conflicts, &d.decisions)
		},
		func() error {
			rows, err := tx.Query(ctx, `SELECT e.record, e.state, e.message, e.needs_person FROM iasql_internal.ending_line e
				ORDER BY e.needs_person DESC, e.since LIMIT 20`)
			if err != nil {
				return err
			}
			d.ending, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (endingInfo, error) {
				var e endingInfo
				return e, row.Scan(&e.record, &e.state, &e.message, &e.needsPerson)
			})
			return err
		},
		func() error { d.tables, err = loadTables(ctx, tx, true); return err },
		func() error { d.states, d.whole, err = loadStates(ctx, tx); return err },
		func() error { d.batches, err = loadBatches(ctx, tx); return err },
		func() error { d.sources, err = loadSources(ctx, tx); return err },
		func() error { // what is staged waits for its batch
			staged := []int64{}
			for _, b := range openBatches(d.batches) {
				if b.phase == "open" {
					staged = append(staged, b.id)
				}
			}
			return tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM public.iasql_audit_log WHERE NOT settled AND coalesce(transaction_id <> ALL ($1), true) LIMIT 10001) l`, staged).Scan(&d.pending)
		},
		func() error {
			var denied []string
			err := tx.QueryRow(ctx, `SELECT coalesce(array_agg(DISTINCT table_name), '{}') FROM public.iasql_listings WHERE denied IS NOT NULL`).Scan(&denied)
			d.deniedIn = map[string]bool{}
			for _, name := range denied {
				d.deniedIn[name] = true
			}
			return err
		},
		func() error {
			return tx.QueryRow(ctx, `SELECT iasql_internal.seen_accounts() IS NULL AND iasql_internal.restricted() = '{}', current_user,
				(SELECT s.value::bigint FROM public.iasql_settings s WHERE s.name = 'required_approvals')`).Scan(&d.everything, &d.me, &d.approvals)
		},
		func() error { d.costs, err = loadCosts(ctx, tx, d.tables); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (c *Console) overview(v *visit) {
	var d overviewData
	if err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		d, err = v.loadOverview(tx)
		return err
	}); err != nil {
		v.failed(err)
		return
	}
	v.live = true
	v.page("Overview", "",
		v.heldCard(d.held),
		v.attention(d),
		endingCard(d.ending),
		h.Div(h.Class("tiles"),
			tile("Records", totalSize(d.tables), "/records"),
			tile("Not settled yet", atMost(d.pending, 10000), "/activity?show=pending"),
			tile("Open conflicts", atMost(d.conflicts, 1000), "/activity?show=conflicts"),
			tile("Open batches", grouped(int64(len(openBatches(d.batches)))), "/batches"),
			d.costs.tile(),
		),
		h.Div(h.Class("two"), v.nowCard(d), batchCard(d.batches)),
		v.modulesCard(d),
		sourcesCard(d.sources, v.options.Examples.WatchEvents),
	)
}

func atMost(n, most int64) string {
	if n > most {
		return "over " + grouped(most)
	}
	return grouped(n)
}

func totalSize(tables []*tableInfo) string {
	total, exact := int64(0), true
	for _, t := range tables {
		total += t.records
		exact = exact && (t.exact || !t.readable)
	}
	if exact {
		return grouped(total)
	}
	return "≈ " + grouped(total)
}

func tile(what, value, href string) g.Node {
	return h.A(h.Class("tile"), h.Href(href), h.Span(h.Class("value"), g.Text(value)),
		h.Span(h.Class("muted"), g.Text(what)))
}

func (e endingInfo) item() g.Node {
	return h.Li(h.Div(state(e.state, e.needsPerson), h.Strong(g.Text(e.record))),
		h.P(h.Class("message"), g.Text(shorten(e.message, 300))))
}

// endingCard announces what ends by itself, a day before.
func endingCard(ending []endingInfo) g.Node {
	ending = slices.DeleteFunc(slices.Clone(ending), func(e endingInfo) bool { return e.needsPerson })
	if len(ending) == 0 {
		return nil
	}
	return h.Section(h.Class("card"), h.H2(g.Text("Ends soon, or is paused for long")),
		h.Ul(h.Class("concerns"), g.Map(ending, endingInfo.item)))
}

func (v *visit) nowCard(d overviewData) g.Node {
	var items []g.Node
	for _, e := range d.engines {
		// they have a card
		doing := slices.DeleteFunc(strings.Split(e.doing, "; "), func(part string) bool {
			return strings.HasPrefix(part, "batch ")
		})
		items = append(items, h.Li(h.Strong(g.Text(e.name)), h.Span(h.Class("muted small"), g.Text(e.version)),
			h.P(h.Class("message"), g.Text(strings.Join(doing, "; ")))))
	}
	var accounts []g.Node
	for _, a := range d.accounts {
		what := a.kind + " cycle"
		took := h.Span(h.Class("state busy"), g.Text("running"))
		if a.ended != nil && a.started != nil {
			took = h.Span(h.Class("muted"), g.Text("took "+duration(a.ended.Sub(*a.started))))
		}
		accounts = append(accounts, h.Tr(h.Td(g.Text(a.name)), h.Td(g.Text(what)), h.Td(ago(a.started)), h.Td(took),
			h.Td(h.Class("num"), g.Text(optional(a.pushes))), h.Td(h.Class("num"), g.Text(optional(a.pulls))),
			h.Td(h.Class("num"), g.Text(optional(a.errs)))))
	}
	content := []g.Node{h.Ul(h.Class("plain"), g.Group(items))}
	if len(accounts) > 0 {
		content = append(content, rowsOf([]string{"Account", "Last", "Started", "", "Pushed", "Pulled", "Errors"},
			accounts))
	} else {
		content = append(content, empty("No account has been looked at yet.", v.installs()))
	}
	if v.options.Throttled != nil && d.everything {
		throttled := v.options.Throttled()
		var names []string
		for name, n := range throttled {
			names = append(names, name+": "+grouped(int64(n)))
		}
		slices.Sort(names)
		text := "The cloud has not throttled this engine in the last 15 minutes."
		if len(names) > 0 {
			text = "Throttled by the cloud in the last 15 minutes: " + strings.Join(names, ", ") +
				". The engine slows down by itself."
		}
		content = append(content, h.P(h.Class("muted small"), g.Text(text)))
	}
	return section("Now", content...)
}

func optional(n *int64) string {
	if n == nil {
		return "–"
	}
	return grouped(*n)
}

func batchCard(batches []batchInfo) g.Node {
	open := openBatches(batches)
	if len(open) == 0 {
		return section("Open batches",
			empty("None. A batch stages changes, shows what they would do, and does all of it or nothing.",
				"CALL iasql_begin('shop');"))
	}
	return section("Open batches", h.Ul(h.Class("plain"), g.Map(open, func(b batchInfo) g.Node {
		records := grouped(b.records) + " records"
		if b.records == 1 {
			records = "1 record"
		}
		return h.Li(h.A(h.Href(b.path()), g.Text(b.title())), b.mark(),
			h.P(h.Class("muted small message"), g.Text(records+", opened by "+b.owner+" "), ago(b.since)), b.progress())
	})))
}

func (v *visit) modulesCard(d overviewData) g.Node {
	if len(d.tables) == 0 {
		return section("Modules", empty(
			"No module is installed. A module brings the tables of a service, filled with what the cloud has.",
			v.installs()), h.P(h.A(h.Href("/modules"), g.Text("Install one →"))))
	}
	type sum struct {
		name    string
		records int64
		exact   bool
		states  map[string]int64
		oldest  *time.Time
		unread  int // tables that have never been read as a whole
		tables  int // that are read from the cloud
		denied  bool
	}
	var names []string
	sums := map[string]*sum{}
	ofTable := map[string]string{}
	for _, t := range d.tables {
		s := sums[t.module]
		if s == nil {
			s = &sum{name: t.module, exact: true, states: map[string]int64{}}
			sums[t.module] = s
			names = append(names, t.module)
		}
		ofTable[t.name] = t.module
		s.records += t.records
		s.exact = s.exact && (t.exact || !t.readable)
		s.denied = s.denied || d.deniedIn[t.name]
		if !t.settings {
			s.tables++
		}
		if t.lastSeen == nil && !t.settings {
			s.unread++
		} else if t.lastSeen != nil && (s.oldest == nil || t.lastSeen.Before(*s.oldest)) {
			s.oldest = t.lastSeen
		}
	}
	for _, c := range d.states {
		if s := sums[ofTable[c.table]]; s != nil {
			s.states[c.state] += c.n
		}
	}
	slices.Sort(names)
	var rows []g.Node
	for _, name := range names {
		s := sums[name]
		records := grouped(s.records)
		if !s.exact {
			records = "≈ " + records
		}
		var marks []g.Node
		var states []string
		for st := range s.states {
			states = append(states, st)
		}
		slices.Sort(states)
		for _, st := range states {
			marks = append(marks, state(st+" "+grouped(s.states[st]), strings.HasSuffix(st, "Failed") ||
				st == "Conflict"))
		}
		if s.unread > 0 && !s.denied {
			text := "Not read yet"
			if s.unread < s.tables {
				text = grouped(int64(s.unread)) + " of " + grouped(int64(s.tables)) + " tables not read yet"
			}
			marks = append(marks, h.Span(h.Class("state busy"), g.Text(text)))
		}
		if len(marks) == 0 && !s.denied {
			marks = append(marks, settled(s.records))
		}
		if s.denied {
			marks = append(marks, h.Span(h.Class("state bad"), g.Text("Listing denied")))
		}
		rows = append(rows, h.Tr(h.Td(h.A(h.Href(to("/records", "module", name)), g.Text(name))),
			h.Td(h.Class("num"), g.Text(records)), h.Td(g.Group(marks)), h.Td(ago(s.oldest))))
	}
	note := g.Node(nil)
	if !d.whole {
		note = h.P(h.Class("muted small"),
			g.Text("Over 20,000 records are not settled; the states count the first of them."))
	}
	return section("Modules", rowsOf([]string{"Module", "Records", "State", "Oldest look at the cloud"}, rows), note)
}
