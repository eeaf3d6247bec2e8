package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// read is one table read in one scope.
type read struct {
	module   *modules.Module
	table    *modules.Table
	resource modules.Resource
	scope    modules.Scope

	listing *meter // of the calls that a cycle makes, too
	again   *meter // of the second reads
	objects int
	twice   int  // objects that were read a second time
	unread  int  // objects that may not be read, or not wholly
	second  bool // err is of a second read
	took    time.Duration
	err     error
}

// examineModules reads every table in every scope.
func (d *doctor) examineModules(ctx context.Context) {
	chosen, err := d.chosen()
	if err != nil { // it was not, before
		return
	}
	for _, m := range chosen {
		for _, r := range m.Resources {
			for _, scope := range d.scopes(r.Table()) {
				d.reads = append(d.reads, &read{module: m, table: r.Table(), resource: r, scope: scope,
					listing: newMeter(), again: newMeter()})
			}
		}
	}
	d.readTables(ctx)
	if d.late = ctx.Err() != nil; d.late {
		for _, r := range d.reads {
			if r.err == nil && r.took == 0 {
				r.err = context.DeadlineExceeded
			}
		}
	}
	for _, m := range chosen {
		if len(m.Resources) > 0 {
			d.module(m)
		}
	}
}

// readTables reads as a full cycle lists, so that it takes as long: one table after
// the other, and a table's regions at once.
func (d *doctor) readTables(ctx context.Context) {
	said := time.Now()
	for done := 0; done < len(d.reads) && ctx.Err() == nil; {
		next := done + 1
		for next < len(d.reads) && d.reads[next].table == d.reads[done].table {
			next++
		}
		_ = aws.Each(ctx, d.Concurrency, d.reads[done:next], func(ctx context.Context, r *read) error {
			d.read(ctx, r)
			return nil
		})
		if done = next; time.Since(said) > 2*time.Second || done == len(d.reads) {
			said = time.Now()
			d.Progress(fmt.Sprintf("read %d of %d tables and regions", done, len(d.reads)))
		}
	}
}

// scopes returns where a table is listed.
func (d *doctor) scopes(t *modules.Table) []modules.Scope {
	if t.Reach == modules.PerAccount {
		return []modules.Scope{d.scope}
	}
	var scopes []modules.Scope
	for _, region := range d.regions {
		scopes = append(scopes, modules.Scope{Account: d.scope.Account, Region: region})
	}
	return scopes
}

// read lists a table in a scope, compares each object with the description, and
// reads some of them a second time.
func (d *doctor) read(ctx context.Context, r *read) {
	var sample []modules.Row
	var lock sync.Mutex
	seen := map[string]bool{}
	began := time.Now()
	r.err = r.resource.List(modules.WithTrace(ctx, r.listing.observe), modules.ListRequest{Scope: r.scope},
		func(page []modules.Observation) error {
			lock.Lock()
			defer lock.Unlock()
			for _, o := range page {
				row := o.Row
				r.objects++
				d.look(r, o)
				if key, ok := r.table.Key(row); ok {
					if seen[key] {
						d.misfits.add(r.table.Name, r.scope.Region, misfit{"", Twice, "two", "one"})
					} else if len(sample) < d.Sample {
						sample = append(sample, row.Clone())
					}
					seen[key] = true
				}
			}
			return nil
		})
	r.took = max(time.Since(began), 1)
	var unread *modules.Unread
	if errors.As(r.err, &unread) { // all else was listed
		r.unread, r.err = len(unread.Objects), nil
	}
	if r.err == nil && len(sample) > 0 {
		d.readAgain(modules.WithTrace(ctx, r.again.observe), r, sample)
	}
}

// look compares one object with the description.
func (d *doctor) look(r *read, o modules.Observation) {
	d.misfits.add(r.table.Name, r.scope.Region, misfitsOf(r.table, o.Row, o.Phase == modules.Forming)...)
	d.database.gather(r.table, o.Row)
}

// readAgain reads some objects directly, and once more those that seem to differ:
// what changes at this very moment differs from itself.
func (d *doctor) readAgain(ctx context.Context, r *read, sample []modules.Row) {
	second, unknown, err := get(ctx, r, sample)
	if err != nil {
		r.err, r.second = err, true
		return
	}
	r.twice = len(sample)
	doubtful := doubtful(r.table, sample, second, unknown)
	if len(doubtful) == 0 {
		return
	}
	third, unknown, err := get(ctx, r, doubtful)
	if err != nil {
		r.err, r.second = err, true
		return
	}
	for _, row := range doubtful {
		key, _ := r.table.Key(row)
		found, there := third[key]
		was, wasThere := second[key]
		switch {
		case unknown(key):
		case !there && !wasThere:
			d.misfits.add(r.table.Name, r.scope.Region, misfit{"", Vanished, "nothing", "the object"})
		case there && wasThere && len(difference(r.table, was, found)) == 0:
			d.misfits.add(r.table.Name, r.scope.Region, difference(r.table, row, found)...)
		}
	}
}

// get reads objects directly, and returns them by their keys. Nothing is known of
// an object that may not be read.
func get(ctx context.Context, r *read, rows []modules.Row) (found map[string]modules.Row, unknown func(key string) bool,
	err error) {
	list, err := r.resource.Get(ctx, modules.GetRequest{Scope: r.scope, Identities: identities(rows)})
	var unread *modules.Unread
	kept := map[string]bool{}
	all := false // of a whole group of objects only the group may be told
	if errors.As(err, &unread) {
		err = nil
		for _, o := range unread.Objects {
			key, ok := r.table.Key(o.Identity)
			kept[key], all = true, all || !ok
		}
	}
	return byKey(r.table, modules.Rows(list)), func(key string) bool { return all || kept[key] }, err
}

// doubtful returns the objects of which a second read says something else.
func doubtful(t *modules.Table, first []modules.Row, second map[string]modules.Row,
	unknown func(key string) bool) []modules.Row {
	return slices.DeleteFunc(slices.Clone(first), func(row modules.Row) bool {
		key, _ := t.Key(row)
		again, there := second[key]
		return unknown(key) || there && len(difference(t, row, again)) == 0
	})
}

func byKey(t *modules.Table, rows []modules.Row) map[string]modules.Row {
	keyed := make(map[string]modules.Row, len(rows))
	for _, row := range rows {
		if key, ok := t.Key(row); ok {
			keyed[key] = row
		}
	}
	return keyed
}

// identities returns rows for a resource to read: copies, which nobody changes.
func identities(rows []modules.Row) []modules.Row {
	copies := make([]modules.Row, len(rows))
	for i, row := range rows {
		copies[i] = row.Clone()
	}
	return copies
}

// module judges what became of a module's tables.
func (d *doctor) module(m *modules.Module) {
	said := Module{Name: m.Name}
	check := Check{ID: "module." + m.Name, Status: OK}
	for _, r := range m.Resources {
		table, worst := d.table(r.Table(), &check)
		said.Objects += table.Objects
		said.Calls += table.Calls
		said.Tables = append(said.Tables, table)
		if worst == Failure && !d.needed(m) {
			worst = Warning
		}
		check.Status = worse(check.Status, worst)
	}
	check.Message = fmt.Sprintf("readable: %s, %s, %s", count(len(m.Resources), "table"), count(said.Objects, "object"),
		count(said.Calls, "call"))
	switch check.Status {
	case Failure:
		check.Message = "not readable, and it has to be"
	case Warning:
		check.Message = fmt.Sprintf("not wholly readable: %s, %s, %s", count(len(m.Resources), "table"),
			count(said.Objects, "object"), count(said.Calls, "call"))
	}
	said.Status = check.Status
	d.report.Modules = append(d.report.Modules, said)
	d.report.add(check)
}

// worse returns the worse of two outcomes.
func worse(a, b Status) Status {
	order := []Status{OK, Skipped, Warning, Failure}
	if slices.Index(order, a) < slices.Index(order, b) {
		return b
	}
	return a
}

// table sums up a table's scopes, and adds what is wrong with them to the check.
func (d *doctor) table(t *modules.Table, check *Check) (Table, Status) {
	said, worst := Table{Name: t.Name}, OK
	listing, again := newMeter(), newMeter()
	why := map[string][]string{} // regions by why they cannot be read
	for _, r := range d.reads {
		if r.table != t {
			continue
		}
		listing.add(r.listing)
		again.add(r.again)
		said.Objects += r.objects
		said.ReadTwice += r.twice
		said.Unread += r.unread
		said.Seconds = max(said.Seconds, r.took.Round(time.Millisecond).Seconds())
		if r.err != nil {
			reason, status := d.unreadable(r, check)
			if r.second {
				reason = "direct reads: " + reason
			}
			why[reason] = append(why[reason], regionOr(r.scope))
			worst = worse(worst, status)
		}
	}
	said.Calls = listing.total()
	listing.add(again)
	said.Denied = listing.denials()
	if len(said.Denied) > 0 {
		worst = worse(worst, Warning)
	}
	if said.Unread > 0 {
		check.Details = append(check.Details,
			fmt.Sprintf("%s: %s may not be read, or not wholly", t.Name, count(said.Unread, "object")))
	}
	for _, one := range said.Denied {
		check.Details = append(check.Details, fmt.Sprintf("%s: %s", t.Name, one))
	}
	if len(said.Denied) > 0 {
		check.Advice = d.adviceOnDenials(said.Denied, check.ID[len("module."):])
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		text := list(why[reason]) + ": " + reason
		said.Unreadable = append(said.Unreadable, text)
		check.Details = append(check.Details, t.Name+" cannot be read in "+text)
	}
	return said, worst
}

// unreadable says why a scope cannot be read, and how bad that is.
func (d *doctor) unreadable(r *read, check *Check) (string, Status) {
	switch class := modules.ClassOf(r.err); {
	case d.late && errors.Is(r.err, context.DeadlineExceeded):
		if check.Advice == "" {
			check.Advice = "give it more time with --deadline, or name fewer regions and modules"
		}
		return "the time is up", Warning
	case r.table.Optional && class != modules.Denied && class != modules.Throttled:
		return "the service is not there, and need not be: " + said(r.err), OK
	default:
		if check.Advice == "" {
			check.Advice = adviceOf(r.err)
		}
		return said(r.err), Failure
	}
}

// adviceOnDenials says what to do about calls that were refused.
func (d *doctor) adviceOnDenials(denied []Denied, module string) string {
	for _, one := range denied {
		if one.Reason != "" && (strings.Contains(one.Reason, "service control") ||
			strings.Contains(one.Reason, "resource control")) {
			return "a policy of the organization forbids it: ask who administers the organization"
		}
	}
	var permissions []string
	for _, one := range denied {
		if !slices.Contains(permissions, one.Permission) {
			permissions = append(permissions, one.Permission)
		}
	}
	return fmt.Sprintf("allow %s (engine iam-policy --read-only %s prints the policy), and look for policies of the "+
		"resource that deny it", list(permissions), module)
}

// String says it in one line.
func (d Denied) String() string {
	text := fmt.Sprintf("%s lacks: %d of %s of %s", d.Permission, d.Calls, count(d.Of, "call"), d.Call)
	if d.Region != "" {
		text += " in " + d.Region
	}
	if d.Reason != "" {
		text += ", " + d.Reason
	}
	return text
}

func regionOr(scope modules.Scope) string {
	if scope.Region == "" {
		return "the account"
	}
	return scope.Region
}
