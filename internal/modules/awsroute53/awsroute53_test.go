package awsroute53

import (
	"fmt"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestZoneLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newZone(awstest.Clients(t)),
		Scope:    awstest.Scope(""),
		Want: modules.Row{
			"domain_name": modules.Text("example.com."), "comment": modules.Text("a zone"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"comment": {modules.Text("another"), modules.Null},
			"tags":    {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
	})
}

func createZone(t *testing.T, clients *aws.Clients) modules.Value {
	t.Helper()
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	row, err := newZone(clients).Create(ctx, awstest.Scope(""), modules.Row{"domain_name": modules.Text("example.com.")}, "zone")
	if err != nil {
		t.Fatal(err)
	}
	return row["hosted_zone_id"]
}

// recordWith returns a record that has more, and nothing else.
func recordWith(zone modules.Value, name, kind string, more modules.Row) modules.Row {
	row := modules.Row{
		"parent_hosted_zone_id": zone, "name": modules.Text(name), "record_type": modules.Text(kind), "set_identifier": modules.Text(""),
		"record": modules.Null, "ttl": modules.Null,
		"alias_dns_name": modules.Null, "alias_hosted_zone_id": modules.Null, "alias_evaluate_target_health": modules.Null,
		"weight": modules.Null, "latency_region": modules.Null, "failover": modules.Null, "multivalue_answer": modules.Null,
		"health_check_id": modules.Null,
	}
	for column, value := range more {
		row[column] = value
	}
	return row
}

// The columns of a record's routing are put through TestRouting.
var routing = []string{"weight", "latency_region", "failover", "multivalue_answer", "health_check_id"}

func TestRecordLifecycle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"www.example.com.", "*.example.com."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := awstest.Clients(t)
			want := recordWith(createZone(t, clients), name, "A", nil)
			want["record"], want["ttl"] = modules.Text("192.0.2.2\n192.0.2.1"), modules.Int(300)
			awstest.Lifecycle(t, awstest.Case{
				Resource: newRecord(clients), Scope: awstest.Scope(""), Want: want,
				Changes: map[string][]modules.Value{
					"record": {modules.Text("192.0.2.3"), modules.Text("192.0.2.3\n192.0.2.4")},
					"ttl":    {modules.Int(60)},
				},
				Elsewhere: append([]string{"alias_dns_name", "alias_hosted_zone_id", "alias_evaluate_target_health"}, routing...),
			})
		})
	}
}

func TestAliasLifecycle(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	zone := createZone(t, clients)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newRecord(clients), Scope: awstest.Scope(""),
		Want: recordWith(zone, "alias.example.com.", "A", modules.Row{
			"alias_dns_name": modules.Text("lb-1.us-east-1.elb.amazonaws.com"), "alias_hosted_zone_id": modules.Text("Z35SXDOTRQ7X7K"),
			"alias_evaluate_target_health": modules.Bool(false),
		}),
		Changes: map[string][]modules.Value{
			"alias_dns_name":               {modules.Text("lb-2.us-east-1.elb.amazonaws.com")},
			"alias_hosted_zone_id":         {modules.Text("Z35SXDOTRQ7X7L")},
			"alias_evaluate_target_health": {modules.Bool(true)},
		},
		Elsewhere: append([]string{"record", "ttl"}, routing...),
	})
}

func TestRouting(t *testing.T) {
	t.Parallel()
	for column, values := range map[string][]modules.Value{
		"weight":            {modules.Int(1), modules.Int(200)},
		"latency_region":    {modules.Text("us-east-1"), modules.Text("eu-west-1")},
		"failover":          {modules.Text("PRIMARY"), modules.Text("SECONDARY")},
		"multivalue_answer": {modules.Bool(true)},
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			clients := awstest.Clients(t)
			want := recordWith(createZone(t, clients), "www.example.com.", "A", modules.Row{
				"set_identifier": modules.Text("one"), "record": modules.Text("192.0.2.1"), "ttl": modules.Int(60), column: values[0],
			})
			changes := map[string][]modules.Value{"health_check_id": {modules.Text("0b5f5b5e-0000-4000-8000-000000000000")}, column: values[1:]}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newRecord(clients), Scope: awstest.Scope(""), Want: want, Changes: changes,
				Elsewhere: append([]string{"record", "ttl", "alias_dns_name", "alias_hosted_zone_id", "alias_evaluate_target_health"}, routing...),
			})
		})
	}
}

// The two records of a new zone are there, and stay.
func TestDefaultRecords(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	createZone(t, clients)
	r := newRecord(clients)
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	page, rows := aws.Collector()
	if err := r.List(ctx, awstest.Scope(""), page); err != nil {
		t.Fatal(err)
	}
	if len(rows()) != 2 {
		t.Errorf("a new zone has the records %v, want NS and SOA", rows())
	}
	for _, row := range rows() {
		if r.Protected(row) == "" {
			t.Errorf("%v is not protected", row)
		}
		if err := r.Delete(ctx, awstest.Scope(""), row); modules.ClassOf(err) != modules.Invalid {
			t.Errorf("delete %v: %v, want class %s", row, err, modules.Invalid)
		}
	}
}

// Many records are read by one listing of the zone.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	zone := createZone(t, clients)
	r := newRecord(clients)
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	var identities []modules.Row
	for i := range fewRecords + 1 {
		want := recordWith(zone, fmt.Sprintf("%c.example.com.", 'a'+i), "TXT", modules.Row{"record": modules.Text(`"text"`), "ttl": modules.Int(5)})
		row, err := r.Create(ctx, awstest.Scope(""), want, "")
		if err != nil {
			t.Fatal(err)
		}
		identities = append(identities, row)
	}
	got, err := r.Get(ctx, awstest.Scope(""), identities)
	if err != nil || len(got) != len(identities) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Example.com", "example.com.", true},
		{`\052.example.com.`, "*.example.com", true},
		{"a.example.com", "b.example.com", false},
	} {
		if sameName(c.a, c.b) != c.same {
			t.Errorf("%s, %s: want %t", c.a, c.b, c.same)
		}
	}
	if !sameLines("a\nb\n", "b\n a") || sameLines("a\nb", "a") {
		t.Error("values are compared wrongly")
	}
}
