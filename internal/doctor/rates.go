package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// documented is a rate of calls that AWS grants an account, per region unless the
// service has none.
type documented struct {
	service string
	actions []string // nil: all actions of the service, each on its own
	shared  bool     // these actions share the rate
	rate    float64  // calls a second that can be kept up
	source  string
}

// documentedRates are the rates that AWS documents for what the modules read; the
// first that fits counts. What is not here AWS does not document, or not as calls
// a second: the engine finds the rate from the throttling answers.
var documentedRates = []documented{
	{"ec2", nil, false, 20, "Amazon EC2 Developer Guide, Request throttling"},
	{"route53", nil, true, 5, "Amazon Route 53 Developer Guide, Quotas"},
	{"lambda", []string{"GetFunction"}, false, 100, "AWS Lambda Developer Guide, Quotas"},
	{"lambda", nil, true, 15, "AWS Lambda Developer Guide, Quotas"},
	{"apigatewayv2", nil, true, 10, "Amazon API Gateway Developer Guide, Quotas"},
	{"kms", []string{"DescribeKey", "ListResourceTags"}, false, 2000, "AWS KMS Developer Guide, Request quotas"},
	{"kms", []string{"GetKeyPolicy", "GetKeyRotationStatus"}, false, 1000, "AWS KMS Developer Guide, Request quotas"},
	{"kms", []string{"ListAliases", "ListKeys"}, false, 500, "AWS KMS Developer Guide, Request quotas"},
	{"secretsmanager", []string{"ListSecrets"}, false, 100, "AWS Secrets Manager User Guide, Quotas"},
	{"secretsmanager", []string{"DescribeSecret"}, false, 10000, "AWS Secrets Manager User Guide, Quotas"},
	{"kinesis", []string{"ListStreams", "ListTagsForStream"}, false, 5, "Amazon Kinesis Data Streams Developer Guide, Quotas"},
	{"kinesis", []string{"DescribeStreamSummary"}, false, 20, "Amazon Kinesis Data Streams Developer Guide, Quotas"},
	{"cloudwatch", []string{"DescribeAlarms"}, false, 9, "Amazon CloudWatch User Guide, Service quotas"},
	{"cloudwatchlogs", []string{"DescribeLogGroups"}, false, 10, "Amazon CloudWatch Logs User Guide, Quotas"},
	{"sns", []string{"ListTopics", "ListSubscriptions", "ListSubscriptionsByTopic"}, false, 30, "AWS General Reference, Amazon SNS endpoints and quotas"},
	{"sns", []string{"ListTagsForResource"}, false, 10, "AWS General Reference, Amazon SNS endpoints and quotas"},
	{"acm", []string{"ListCertificates"}, false, 8, "AWS Certificate Manager User Guide, Quotas"},
	{"acm", []string{"DescribeCertificate", "ListTagsForCertificate"}, false, 10, "AWS Certificate Manager User Guide, Quotas"},
	{"ssm", []string{"GetParameter", "GetParameters"}, true, 40, "AWS General Reference, AWS Systems Manager endpoints and quotas"},
}

// rateOf returns the rate that a call counts against.
func rateOf(c call) *documented {
	for i := range documentedRates {
		d := &documentedRates[i]
		if d.service == c.service && (d.actions == nil || slices.Contains(d.actions, c.action)) {
			return d
		}
	}
	return nil
}

// shares compares the calls of a cycle with the documented rates, the greatest
// share first.
func shares(calls map[call]int, interval time.Duration) []Rate {
	byRate := map[string]*Rate{}
	for _, c := range sortedCalls(calls) {
		d := rateOf(c)
		if d == nil {
			continue
		}
		action := c.action
		if d.shared {
			if action = "*"; d.actions != nil {
				action = strings.Join(d.actions, "+")
			}
		}
		key := c.service + ":" + action + " " + c.region
		one := byRate[key]
		if one == nil {
			one = &Rate{Service: c.service, Action: action, Region: c.region, PerSecond: d.rate, Source: d.source}
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
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Region, b.Region))
	})
	return all
}

// String says it in one line.
func (r Rate) String() string {
	where := ""
	if r.Region != "" {
		where = " in " + r.Region
	}
	return fmt.Sprintf("%s:%s%s: %s a cycle, %s of %g a second (%s)", r.Service, r.Action, where, count(r.Calls, "call"), percent(r.Share), r.PerSecond, r.Source)
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
	c.Calls, c.Seconds, c.Rates = counted.total(), took.Round(time.Millisecond).Seconds(), shares(counted.calls, d.interval)
	d.report.Cycle = c
	costs := fmt.Sprintf("to list everything takes about %.1f s and %s for %s", c.Seconds, count(c.Calls, "call"), count(c.Objects, "object"))
	if took > d.interval {
		d.report.add(Check{ID: "cycle.time", Status: Warning, Message: fmt.Sprintf("%s; a cycle is due every %s", costs, d.interval),
			Advice: "raise sync_interval or max_staleness in iasql_settings, install fewer modules, or enable fewer regions"})
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
	check := Check{ID: "cycle.rates", Status: OK, Message: fmt.Sprintf("at most %s of a documented rate, if every cycle listed everything", percent(all[0].Share))}
	if all[0].Share > much {
		check.Status = Warning
		check.Advice = "raise max_staleness or sync_interval in iasql_settings: the account's other programs share these rates"
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
		check.Details = append(check.Details, fmt.Sprintf("%s:%s in %s: %d of %s", c.service, c.action, c.region, counted.throttled[c], count(counted.calls[c], "call")))
	}
	if n > 0 {
		check.Status, check.Message = Warning, "AWS throttled "+count(n, "call")
		check.Advice = "somebody may be using up the account's rates; the engine slows down by itself, and cycles take longer"
	}
	d.report.add(check)
}
