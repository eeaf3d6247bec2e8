package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"iasql/internal/aws"
)

// shares compares the calls of a cycle with the documented rates, the greatest
// share first.
func shares(calls map[call]int, interval time.Duration) []Rate {
	byRate := map[string]*Rate{}
	for _, c := range sortedCalls(calls) {
		d := aws.DocumentedRate(c.service, c.action)
		if d == nil {
			continue
		}
		action := d.Counts(c.action)
		key := c.service + ":" + action + " " + c.region
		one := byRate[key]
		if one == nil {
			one = &Rate{Service: c.service, Action: action, Region: c.region, PerSecond: d.PerSecond, Source: d.Source}
			byRate[key] = one
		}
		one.Calls += calls[c]
	}
	var all []Rate
	for _, one := range byRate {
		one.Share = float64(one.Calls) / (one.PerSecond * interval.Seconds())
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Action, b.Action),
			cmp.Compare(a.Region, b.Region))
	})
	return all
}

// String says it in one line.
func (r Rate) String() string {
	where := ""
	if r.Region != "" {
		where = " in " + r.Region
	}
	return fmt.Sprintf("%s:%s%s: %s a cycle, %s of %g a second (%s)", r.Service, r.Action, where,
		count(r.Calls, "call"), percent(r.Share), r.PerSecond, r.Source)
}

func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "less than 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// much is the share of a rate from which on others of the account may feel it.
const much = 0.5

// cycle says what a full cycle costs.
func (d *doctor) cycle() {
	c := &Cycle{Interval: d.interval.Seconds()}
	counted := newMeter()
	for _, r := range d.reads {
		counted.add(r.listing)
		c.Objects += r.objects
	}
	slowest := map[string]time.Duration{}
	for _, r := range d.reads {
		slowest[r.table.Name] = max(slowest[r.table.Name], r.took)
	}
	// A cycle lists the tables one after the other, and a table's regions at once.
	var took time.Duration
	for _, t := range slowest {
		took += t
	}
	c.Calls, c.Seconds, c.Rates = counted.total(), took.Round(time.Millisecond).Seconds(),
		shares(counted.calls, d.interval)
	d.report.Cycle = c
	costs := fmt.Sprintf("to list everything takes about %.1f s and %s for %s", c.Seconds, count(c.Calls, "call"),
		count(c.Objects, "object"))
	if took > d.interval {
		d.report.add(Check{ID: "cycle.time", Status: Warning,
			Message: fmt.Sprintf("%s; a cycle is due every %s", costs, d.interval),
			Advice: "raise sync_interval or max_staleness in iasql_settings, install fewer modules, or enable fewer " +
				"regions"})
	} else {
		d.report.add(Check{ID: "cycle.time", Status: OK, Message: fmt.Sprintf("%s, every %s", costs, d.interval)})
	}
	d.rates(c.Rates)
	d.throttling(counted)
}

// rates judges the shares.
func (d *doctor) rates(all []Rate) {
	if len(all) == 0 {
		d.report.add(Check{ID: "cycle.rates", Status: Skipped, Message: "AWS documents no rate for what was called"})
		return
	}
	check := Check{ID: "cycle.rates", Status: OK,
		Message: fmt.Sprintf("at most %s of a documented rate, if every cycle listed everything",
			percent(all[0].Share))}
	if all[0].Share > much {
		check.Status = Warning
		check.Advice = "raise max_staleness or sync_interval in iasql_settings: the account's other programs share " +
			"these rates"
	}
	for _, r := range all[:min(5, len(all))] {
		check.Details = append(check.Details, r.String())
	}
	d.report.add(check)
}

// throttling says what AWS has turned away.
func (d *doctor) throttling(counted *meter) {
	check := Check{ID: "cycle.throttling", Status: OK, Message: "AWS did not throttle"}
	n := 0
	for _, c := range sortedCalls(counted.throttled) {
		n += counted.throttled[c]
		check.Details = append(check.Details,
			fmt.Sprintf("%s:%s in %s: %d of %s", c.service, c.action, c.region, counted.throttled[c],
				count(counted.calls[c], "call")))
	}
	if n > 0 {
		check.Status, check.Message = Warning, "AWS throttled "+count(n, "call")
		check.Advice = "somebody may be using up the account's rates; the engine slows down by itself, and cycles " +
			"take longer"
	}
	d.report.add(check)
}
