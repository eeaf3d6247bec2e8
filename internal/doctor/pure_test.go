package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/modules"
)

// judged is a check, and what it must be.
type judged struct {
	name  string
	check Check
	want  Status
	says  string
}

func judge(t *testing.T, cases []judged) {
	t.Helper()
	for _, c := range cases {
		all := strings.Join(append([]string{c.check.Message, c.check.Advice}, c.check.Details...), "\n")
		if c.check.Status != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: %+v, want %s and %q", c.name, c.check, c.want, c.says)
		}
		if (c.check.Status == Warning || c.check.Status == Failure) && c.check.Advice == "" {
			t.Errorf("%s does not say what to do", c.name)
		}
	}
}

func TestCron(t *testing.T) {
	t.Parallel()
	here := cron{version: "1.6", available: true, usable: true, database: "iasql", workers: "on", running: 5,
		processes: 8, job: true, last: "succeeded", age: time.Minute}
	with := func(change func(*cron)) Check {
		c := here
		change(&c)
		return judgeCron(c, "iasql")
	}
	judge(t, []judged{
		{"as it should be", judgeCron(here, "iasql"), OK, "succeeded 1m0s ago"},
		{"none", judgeCron(cron{}, "iasql"), Skipped, "no pg_cron on the server"},
		{"not loaded", judgeCron(cron{available: true}, "iasql"), Skipped, "not loaded"},
		{"of another database", judgeCron(cron{available: true, database: "postgres"}, "iasql"), Skipped,
			"another database"},
		{"loaded, not created", judgeCron(cron{available: true, database: "iasql"}, "iasql"), Warning,
			"CREATE EXTENSION pg_cron"},
		{"not granted", with(func(c *cron) { c.usable = false }), Warning, "GRANT USAGE ON SCHEMA cron"},
		{"job fails", with(func(c *cron) {
			c.last, c.message = "failed", `connection failed for "me"`
		}), Warning, `connection failed for "…"`},
		{"logs in", with(func(c *cron) { c.workers, c.last = "off", "" }), Warning, "cron.use_background_workers"},
		{"logs in and gets in", with(func(c *cron) { c.workers = "off" }), OK, "succeeded"},
		{"no workers", with(func(c *cron) { c.processes = 6 }), Warning, "max_worker_processes is 6"},
		{"no job", with(func(c *cron) { c.job = false }), OK, "an engine makes the job"},
		{"job is new", with(func(c *cron) { c.last = "" }), OK, "has not run yet"},
	})
}

func TestHBA(t *testing.T) {
	t.Parallel()
	rule := func(database, user, method string) hbaRule {
		return hbaRule{line: 7, kind: "host", databases: []string{database}, user: []string{user}, method: method}
	}
	of := func(rules ...hbaRule) Check { return judgeHBA(rules, "iasql", "iasql_loopback_1") }
	judge(t, []judged{
		{"passwords", of(rule("all", "all", "scram-sha-256")), OK, ""},
		{"trust", of(rule("all", "all", "trust")), Warning, "line 7: host lets roles in without a password (trust)"},
		{"trust of the role", of(rule("iasql", "iasql_loopback_1", "peer")), Warning, "peer"},
		{"trust of others", of(rule("other", "all", "trust"), rule("all", "alice", "trust")), OK, ""},
		{"nonsense", of(hbaRule{line: 3, failure: "invalid"}), Warning, "line 3: the server does not understand it"},
	})
}

func TestConnectionsAndSettings(t *testing.T) {
	t.Parallel()
	standard := map[string]string{"sync_interval": "1 minute", "max_staleness": "10 minutes",
		"watched_staleness": "1 hour", "consistency_window": "60 seconds", "audit_retention": "90 days",
		"batch_timeout": "1 hour",
		"max_deletes":   "100", "max_delete_ratio": "0.5", "delete_ratio_floor": "5", "read_share": "0.5"}
	numbers := map[string]float64{"sync_interval": 60, "max_staleness": 600, "watched_staleness": 3600,
		"consistency_window": 60, "audit_retention": 90 * 86400, "batch_timeout": 3600,
		"max_deletes": 100, "max_delete_ratio": 0.5, "delete_ratio_floor": 5, "read_share": 0.5}
	with := func(name string, number float64) Check {
		changed := map[string]float64{}
		for n, v := range numbers {
			changed[n] = v
		}
		changed[name] = number
		return judgeSettings(standard, changed)
	}
	judge(t, []judged{
		{"room", judgeConnections(connections{100, 3, 10, -1, -1}, 72), OK, "87 are free"},
		{"little room", judgeConnections(connections{100, 3, 40, -1, -1}, 72), Warning, "max_connections leaves 57"},
		{"no room", judgeConnections(connections{100, 3, 95, -1, -1}, 72), Failure, "leaves 2"},
		{"limit of the login", judgeConnections(connections{100, 3, 0, 20, -1}, 72), Warning,
			"the login's CONNECTION LIMIT leaves 20"},
		{"limit of the database", judgeConnections(connections{100, 3, 0, -1, 5}, 72), Failure,
			"the database's CONNECTION LIMIT leaves 5"},
		{"standard settings", judgeSettings(standard, numbers), OK, ""},
		{"often", with("sync_interval", 1), Warning, "sync_interval"},
		{"seldom", with("sync_interval", 86400), Warning, "seen late"},
		{"everything every time", with("max_staleness", 0), Warning, "lists everything"},
		{"no window", with("consistency_window", 0), Warning, "lags behind"},
		{"no history", with("audit_retention", 86400), Warning, "history"},
		{"no guard", with("max_deletes", 1e6), Warning, "mass deletion"},
		{"missing", judgeSettings(nil, nil), Warning, "max_deletes is missing"},
		{"unreadable", judgeSettings(standard, nil), Warning, "max_deletes cannot be read"},
		{"clock", judgeDatabaseClock(time.Second), OK, ""},
		{"clock ahead", judgeDatabaseClock(time.Minute), Warning, "1m0s ahead of"},
		{"clock behind", judgeDatabaseClock(-time.Hour), Warning, "1h0m0s behind"},
	})
}

func table() *modules.Table {
	return &modules.Table{Name: "thing", Doc: "Things.", Reach: modules.PerRegion, Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Required: true},
		{Name: "region", Type: modules.TypeText, Required: true},
		{Name: "name", Type: modules.TypeText, Required: true, Identity: true},
		{Name: "kind", Type: modules.TypeText, Enum: []string{"a", "b"}},
		{Name: "size", Type: modules.TypeInteger, Required: true},
		{Name: "since", Type: modules.TypeTime},
		{Name: "parent", Type: modules.TypeBigint, References: &modules.Reference{Table: "thing", Key: "name"}},
		{Name: "secret", Type: modules.TypeText, WriteOnly: true, Required: true},
		{Name: "note", Type: modules.TypeText, Local: true, Required: true},
		{Name: "zones", Type: modules.TypeTexts, Unordered: true},
		{Name: "standard", Type: modules.TypeText, Required: true, Default: "'x'"},
	}}
}

func TestMisfits(t *testing.T) {
	t.Parallel()
	fits := modules.Row{"name": modules.Text("n"), "kind": modules.Text("a"), "size": modules.Int(7),
		"since": modules.Text("2026-01-02T03:04:05Z"), "parent": modules.Text("thing-1")}
	for _, c := range []struct {
		column  string
		value   *modules.Value
		forming bool
		want    string
	}{
		{"name", nil, false, " no identity NULL"},
		{"kind", ptr(modules.Text("c-7")), false, "kind unknown value c-7"},
		{"kind", ptr(modules.Text("what a user wrote")), false, "kind unknown value text of 17 characters"},
		{"kind", ptr(modules.Text("")), false, "kind unknown value empty text"},
		{"kind", ptr(modules.Null), false, ""},
		{"size", ptr(modules.Null), false, "size NULL in a required column NULL"},
		{"size", ptr(modules.Null), true, ""},
		{"size", nil, false, "size required column not said nothing"},
		{"size", nil, true, ""},
		{"size", ptr(modules.Text("many")), false, "size wrong type text of 4 characters"},
		{"size", ptr(modules.Text("3000000000")), false, "size wrong type number of 10 characters"},
		{"since", ptr(modules.Text("yesterday")), false, "since wrong type text of 9 characters"},
		{"other", ptr(modules.Text("{}")), false, "other column that is not described JSON object of 2 bytes"},
		{"secret", nil, false, ""},
	} {
		row := fits.Clone()
		delete(row, c.column)
		if c.value != nil {
			row[c.column] = *c.value
		}
		var got []string
		for _, m := range misfitsOf(table(), row, c.forming) {
			got = append(got, m.column+" "+m.kind+" "+m.found)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s %v: %q, want %q", c.column, c.value, got, c.want)
		}
	}
	a := fits.Clone()
	a["zones"], a["note"] = modules.Strings([]string{"x", "y"}), modules.Text("1")
	b := fits.Clone()
	b["zones"], b["note"], b["size"] = modules.Strings([]string{"y", "x"}), modules.Text("2"), modules.Int(8)
	delete(b, "kind")
	if d := difference(table(), a, b); len(d) != 1 || d[0].column != "size" {
		t.Errorf("difference: %v", d)
	}
}

func ptr(v modules.Value) *modules.Value { return &v }

func TestGathering(t *testing.T) {
	t.Parallel()
	var m misfits
	for i := range 3 {
		m.add("thing", fmt.Sprintf("r%d", i%2), misfit{"kind", UnknownValue, "c", "a, b"})
	}
	m.add("thing", "", misfit{"size", Differs, "NULL", "number of 1 character"})
	all := m.sorted()
	if len(all) != 2 || all[0].String() != "kind: unknown value: c, wanted a, b (3 objects in r0, r1)" ||
		all[1].String() != "size: second read differs: the listing says number of 1 character, the direct read NULL "+
			"(1 object)" {
		t.Errorf("%v", all)
	}
}

// Constraints are held against what the cloud says of what they speak of.
func TestConstraints(t *testing.T) {
	t.Parallel()
	things := table()
	things.Columns[4].Check = "size > 0"
	things.Checks = []string{"(kind = 'a') = (parent IS NULL)", "secret <> name", "sizes > 0"}
	var got []string
	for _, k := range constraintsOf(things) {
		text, said := k.of(modules.Row{"name": modules.Text("n"), "kind": modules.Text("a"), "parent": modules.Null})
		got = append(got, fmt.Sprintf("%s: %s %t", k.column, text, said))
		if said && k.shape(text) != "kind text of 1 character, parent NULL" {
			t.Errorf("shape: %s", k.shape(text))
		}
	}
	if want := []string{`: {"kind":"a","parent":null} true`, "size:  false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	all := shares(map[call]int{
		{"route53", "ListHostedZones", "us-east-1"}:         100,
		{"route53", "ListResourceRecordSets", "us-east-1"}:  50,
		{"ec2", "DescribeVpcs", "eu-west-1"}:                12,
		{"ec2", "DescribeSubnets", "eu-west-1"}:             12,
		{"lambda", "GetFunction", "eu-west-1"}:              60,
		{"ssm", "GetParameters", "eu-west-1"}:               24,
		{"nobody", "KnowsTheRate", "eu-west-1"}:             1000,
		{"kinesis", "DescribeStreamConsumer", "us-east-1"}:  1000,
		{"lambda", "GetFunctionConfiguration", "us-west-2"}: 9,
	}, time.Minute)
	var got []string
	for _, r := range all {
		got = append(got, fmt.Sprintf("%s:%s %s %.3f", r.Service, r.Action, r.Region, r.Share))
	}
	want := []string{"route53:* us-east-1 0.500", "ec2:DescribeSubnets eu-west-1 0.010",
		"ec2:DescribeVpcs eu-west-1 0.010", "lambda:* us-west-2 0.010",
		"lambda:GetFunction eu-west-1 0.010", "ssm:GetParameter+GetParameters eu-west-1 0.010"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d := &doctor{report: &Report{}}
	d.rates([]Rate{{Service: "route53", Action: "*", Share: 0.9, PerSecond: 5}})
	judge(t, []judged{{"a rate that is used up", d.report.Checks[0], Warning, "sync_interval"}})
}

// A cycle that takes longer than the time between two.
func TestSlowCycle(t *testing.T) {
	t.Parallel()
	d := &doctor{report: &Report{}, interval: time.Minute}
	for _, name := range []string{"a", "b"} {
		d.reads = append(d.reads, &read{table: &modules.Table{Name: name}, listing: newMeter(), took: 40 * time.Second,
			objects: 5},
			&read{table: &modules.Table{Name: name}, listing: newMeter(), took: 10 * time.Second})
	}
	d.cycle()
	judge(t, []judged{{"slow", *d.report.Check("cycle.time"), Warning, "about 80.0 s"}})
}

func TestNothingIsGivenAway(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"role arn:aws:iam::123456789012:role/web of 123456789012": "role arn:… of " +
			"********9012",
		`"10.0.0.0/33" is not an IP network`:      `"…" is not an IP network`,
		"vpc-0a1b2c3d4e5f60718 has no i-0a1b2c3d": "vpc-… has no i-…",
		"key AKIAIOSFODNN7EXAMPLE":                "key AKIA…",
		"cannot log in: no role: set access_key_id and secret_access_key, role_arn or such things": "cannot log in: no role",
	} {
		if got := maskText(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&modules.Error{Code: "AccessDenied",
			Message: "User: arn:aws:iam::1:user/x is not authorized to perform: s3:ListBucket on resource: " +
				"arn:aws:s3:::b because no session policy allows the s3:ListBucket action"},
			"AccessDenied because no session policy allows"},
		{&modules.Error{Code: "InvalidVpcID.NotFound", Message: "The vpc ID 'vpc-1' does not exist"},
			"InvalidVpcID.NotFound"},
		{fmt.Errorf("list: %w", context.DeadlineExceeded), "the time is up"},
		{errors.New(`column kind: "secret" is not it`), `column kind: "…" is not it`},
	} {
		if got := said(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	for value, want := range map[modules.Value]string{
		modules.Null: "NULL", modules.Text(""): "empty text", modules.Text("true"): "boolean",
		modules.Text("äöü"):   "text of 3 characters",
		modules.Text(`["a"]`): "list of 5 bytes", modules.Text("-1.5"): "number of 4 characters",
	} {
		if got := shapeOf(value); got != want {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"eu-west-1": "aws", "cn-north-1": "aws-cn",
		"us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b",
		"eusc-de-east-1": "aws-eusc"} {
		if got := partitionOf(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}
