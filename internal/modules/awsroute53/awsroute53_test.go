package awsroute53

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, nil, testaws.Setup) }

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
		Elsewhere: []string{"vpcs", "query_log_group_arn", "accelerated_recovery"}, // TestPrivateZone, TestQueryLogging, TestRecovery
	})
}

func createZone(t *testing.T, clients *aws.Clients) modules.Value {
	t.Helper()
	ctx, permit := t.Context(), awstest.Permit()
	row, err := awstest.Create(ctx, newZone(clients), permit, awstest.Scope(""),
		modules.Row{"domain_name": modules.Text("example.com.")}, "zone")
	if err != nil {
		t.Fatal(err)
	}
	return row["hosted_zone_id"]
}

// recordWith returns a record that has more, and nothing else.
func recordWith(zone modules.Value, name, kind string, more modules.Row) modules.Row {
	row := modules.Row{
		"parent_hosted_zone_id": zone, "name": modules.Text(name), "record_type": modules.Text(kind),
		"set_identifier": modules.Text(""),
		"record":         modules.Null, "ttl": modules.Null,
		"alias_dns_name": modules.Null, "alias_hosted_zone_id": modules.Null,
		"alias_evaluate_target_health": modules.Null,
		"weight":                       modules.Null, "latency_region": modules.Null, "failover": modules.Null,
		"multivalue_answer": modules.Null,
		"geo_location":      modules.Null, "geo_proximity_location": modules.Null, "cidr_routing_config": modules.Null,
		"health_check_id": modules.Null,
	}
	for column, value := range more {
		row[column] = value
	}
	return row
}

// The columns of a record's routing are put through TestRouting and TestPlaces.
var routing = []string{"weight", "latency_region", "failover", "multivalue_answer", "geo_location",
	"geo_proximity_location", "cidr_routing_config", "health_check_id"}

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
				Elsewhere: append([]string{"alias_dns_name", "alias_hosted_zone_id", "alias_evaluate_target_health"},
					routing...),
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
			"alias_dns_name":               modules.Text("lb-1.us-east-1.elb.amazonaws.com"),
			"alias_hosted_zone_id":         modules.Text("Z35SXDOTRQ7X7K"),
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
		"geo_location": {modules.Text(`{"ContinentCode": "EU"}`),
			modules.Text(`{"CountryCode": "US", "SubdivisionCode": "CA"}`)},
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			clients := awstest.Clients(t)
			want := recordWith(createZone(t, clients), "www.example.com.", "A", modules.Row{
				"set_identifier": modules.Text("one"), "record": modules.Text("192.0.2.1"), "ttl": modules.Int(60),
				column: values[0],
			})
			changes := map[string][]modules.Value{"health_check_id": {modules.Text(
				"0b5f5b5e-0000-4000-8000-000000000000")}, column: values[1:]}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newRecord(clients), Scope: awstest.Scope(""), Want: want, Changes: changes,
				Elsewhere: append([]string{"record", "ttl", "alias_dns_name", "alias_hosted_zone_id",
					"alias_evaluate_target_health"}, routing...),
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
	ctx, permit := t.Context(), awstest.Permit()
	page, rows := aws.Collector()
	if err := awstest.List(ctx, r, awstest.Scope(""), page); err != nil {
		t.Fatal(err)
	}
	if len(rows()) != 2 {
		t.Errorf("a new zone has the records %v, want NS and SOA", rows())
	}
	for _, row := range rows() {
		if r.Protected(row) == "" {
			t.Errorf("%v is not protected", row)
		}
		if err := awstest.Delete(ctx, r, permit, awstest.Scope(""), row); modules.ClassOf(err) != modules.Invalid {
			t.Errorf("delete %v: %v, want class %s", row, err, modules.Invalid)
		}
	}
}

// Many records of a zone are read together, whatever they are called; those that are not
// there are not found, and hide no others.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	zone := createZone(t, clients)
	r := newRecord(clients)
	ctx, permit := t.Context(), awstest.Permit()
	var there, identities []modules.Row
	for _, name := range []string{"a.example.com.", "z.example.com.", "b.a.example.com.", "*.example.com.",
		"example.com.", `a\056b.example.com.`, "a0.example.com.", "a-b.example.com."} {
		want := recordWith(zone, name, "TXT", modules.Row{"record": modules.Text(`"text"`), "ttl": modules.Int(5)})
		row, err := awstest.Create(ctx, r, permit, awstest.Scope(""), want, "")
		if err != nil {
			t.Fatal(err)
		}
		there = append(there, row)
	}
	there = append(there, recordWith(zone, "example.com.", "NS", nil))
	for _, name := range []string{"0.example.com.", "m.example.com.", "zz.example.com."} {
		identities = append(identities, recordWith(zone, name, "TXT", nil),
			recordWith(zone, name, "A", modules.Row{"set_identifier": modules.Text("one")}))
	}
	identities = append(identities, recordWith(modules.Text("Z000000000000000000"), "a.example.com.", "TXT", nil))
	for n := range len(there) + 1 {
		got, err := awstest.Get(ctx, r, awstest.Scope(""), append(slices.Clone(identities), there[:n]...))
		if err != nil || len(got) != n {
			t.Errorf("of %d there are %v, %v", n, got, err)
		}
	}
}

// names are names as they may be written, and as the tables hold them ("DNS domain
// name format", Route 53 Developer Guide).
var names = map[string]string{
	"Example.com":                 "example.com.",
	"example.com.":                "example.com.",
	`\052.example.com.`:           "*.example.com.",
	`a\057b\100\176.example.com.`: "a/b@~.example.com.",
	`\101bc.example.com`:          "abc.example.com.",
	`_dmarc\137x.example.com`:     "_dmarc_x.example.com.",
	`a\056b.example.com.`:         `a\056b.example.com.`, // a dot that parts no labels
	`a\134b.example.com.`:         `a\134b.example.com.`,
	`a\b.example.com.`:            `a\134b.example.com.`,
	`a\13`:                        `a\13413.`,
	`a\1340562.example.com.`:      `a\1340562.example.com.`, // a backslash, and digits
	`ex\344mple.com.`:             `ex\344mple.com.`,
	`\000\040\177\377.com.`:       `\000\040\177\377.com.`,
	`\400.com.`:                   `\134400.com.`,
	`two words.example.com`:       `two\040words.example.com.`,
	"tab\there.example.com":       `tab\011here.example.com.`,
	"":                            ".",
}

func TestNames(t *testing.T) {
	for text, want := range names {
		if got := normalName(text); got != want || normalName(want) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if !sameName(`\052.Example.com`, "*.example.com.") || sameName("a.example.com", "b.example.com") ||
		sameName(`a\056b.com`, "a.b.com") {
		t.Error("names are compared wrongly")
	}
	if !sameLines("a\nb\n", "b\n a") || sameLines("a\nb", "a") {
		t.Error("values are compared wrongly")
	}
}

// The tables keep names as the engine reads them.
func TestNamesInTables(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), testdb.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `CREATE SCHEMA iasql_internal; `+functions+
		`CREATE TABLE public.named (name text);
		CREATE TRIGGER aws_route53_name BEFORE INSERT ON public.named FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_route53_name('name')`); err != nil {
		t.Fatal(err)
	}
	for text, want := range names {
		var got string
		if err := conn.QueryRow(t.Context(), `INSERT INTO public.named VALUES ($1) RETURNING name`, text).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	var none *string
	if err := conn.QueryRow(t.Context(), `INSERT INTO public.named VALUES (NULL) RETURNING name`).Scan(&none); err != nil || none != nil {
		t.Errorf("NULL: got %v, %v", none, err)
	}
}

// Names are read decoded, and a record is found by its decoded name.
func TestEscapedNames(t *testing.T) {
	t.Parallel()
	r := newRecord(fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/rrset") {
			fmt.Fprint(w, `<ListResourceRecordSetsResponse><ResourceRecordSets><ResourceRecordSet><Name>a\057b.example.com.</Name><Type>A</Type><TTL>60</TTL>`+
				`<ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></ResourceRecordSets></ListResourceRecordSetsResponse>`)
			return
		}
		fmt.Fprint(w, `<GetHostedZoneResponse><HostedZone><Id>/hostedzone/Z1</Id><Name>example.com.</Name></HostedZone></GetHostedZoneResponse>`)
	}))
	rows, err := awstest.Get(t.Context(), r, awstest.Scope(""),
		[]modules.Row{recordWith(modules.Text("Z1"), "a/b.example.com.", "A", nil)})
	if err != nil || len(rows) != 1 || rows[0]["name"].String() != "a/b.example.com." {
		t.Errorf("got %v, %v", rows, err)
	}
}

func fake(t *testing.T, answer http.HandlerFunc) *aws.Clients {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}

// Route 53 says under one code, in either of two forms, what is wrong with changes
// (page ChangeResourceRecordSets). An alias and its target may be inserted
// together; another request may be under way.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	const bad = "InvalidChangeBatch"
	for _, c := range []struct {
		code, message string
		class         modules.Class
	}{
		{bad, "Tried to create an alias that targets www.example.com., type A in zone Z1, but that target was not found", modules.Dependency},
		{bad, "Tried to create an alias that targets www.example.com., type A in zone Z1, but the alias target name " +
			"does not lie within the target zone", modules.Invalid},
		{bad, "Tried to create resource record set [name='www.example.com.', type='A'] but it already exists",
			modules.Exists},
		{bad, "Tried to delete resource record set [name='www.example.com.', type='A'] but it was not found",
			modules.NotFound},
		{bad, "RRSet of type CNAME with DNS name example.com. is not permitted at apex in zone example.com.",
			modules.Invalid},
		{"PriorRequestNotComplete", "The request was rejected because Route 53 was still processing a prior request.",
			modules.Throttled},
	} {
		bodies := []string{"<ErrorResponse><Error><Type>Sender</Type><Code>" + c.code + "</Code><Message>[" +
			c.message + "]</Message></Error><RequestId>r</RequestId></ErrorResponse>"}
		if c.code == bad {
			bodies = append(bodies, `<InvalidChangeBatch xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Messages><Message>`+c.message+"</Message></Messages><RequestId>r</RequestId></InvalidChangeBatch>")
		}
		for _, body := range bodies {
			r := newRecord(fake(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(400)
				fmt.Fprint(w, body)
			}))
			ctx, permit := t.Context(), awstest.Permit()
			_, err := awstest.Create(ctx, r, permit, awstest.Scope(""),
				recordWith(modules.Text("Z1"), "alias.example.com.", "A", nil), "")
			if err == nil || modules.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s: %v of class %s, want %s", body, err, modules.ClassOf(err), c.class)
			}
		}
	}
}
