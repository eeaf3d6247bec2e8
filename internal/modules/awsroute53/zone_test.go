package awsroute53

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// aZone is a hosted zone as AWS keeps it (Route 53 API Reference): moto has no UpdateHostedZoneFeatures, lets the last
// VPC go, and takes one twice.
type aZone struct {
	lock     sync.Mutex
	vpcs     []string // region/id
	group    string
	recovery string
	refuse   string // the log group that Route 53 may not write to
	calls    []string
}

func (z *aZone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z.lock.Lock()
	defer z.lock.Unlock()
	var in struct {
		VPC struct {
			VPCID     string `xml:"VPCId"`
			VPCRegion string
		}
		CloudWatchLogsLogGroupArn string
		EnableAcceleratedRecovery bool
	}
	body, _ := io.ReadAll(r.Body)
	_ = xml.Unmarshal(body, &in)
	vpc, path := in.VPC.VPCRegion+"/"+in.VPC.VPCID, strings.TrimPrefix(r.URL.Path, "/2013-04-01/")
	if r.Method != http.MethodGet && !strings.HasPrefix(path, "tags") {
		z.calls = append(z.calls, r.Method+" "+path)
	}
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>no</Message></Error></ErrorResponse>", code)
	}
	zone := func() string {
		features := ""
		if z.recovery != "" {
			features = "<Features><AcceleratedRecoveryStatus>" + z.recovery + "</AcceleratedRecoveryStatus></Features>"
		}
		return fmt.Sprintf("<HostedZone><Id>/hostedzone/Z1</Id><Name>example.com.</Name><CallerReference>t</CallerReference>"+
			"<Config><PrivateZone>%t</PrivateZone></Config>%s</HostedZone>", len(z.vpcs) > 0, features)
	}
	whole := func() string {
		if len(z.vpcs) == 0 {
			return zone() + "<DelegationSet><NameServers><NameServer>ns-1.</NameServer></NameServers></DelegationSet>"
		}
		list := ""
		for _, v := range z.vpcs {
			region, id, _ := strings.Cut(v, "/")
			list += "<VPC><VPCRegion>" + region + "</VPCRegion><VPCId>" + id + "</VPCId></VPC>"
		}
		return zone() + "<VPCs>" + list + "</VPCs>"
	}
	const change = "<ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo>"
	configs := func() string {
		if z.group == "" {
			return ""
		}
		return "<QueryLoggingConfig><Id>Q1</Id><HostedZoneId>Z1</HostedZoneId><CloudWatchLogsLogGroupArn>" + z.group +
			"</CloudWatchLogsLogGroupArn></QueryLoggingConfig>"
	}
	const other = "<QueryLoggingConfig><Id>Q2</Id><HostedZoneId>Z2</HostedZoneId><CloudWatchLogsLogGroupArn>" +
		"arn:aws:logs:us-east-1:1:log-group:/other</CloudWatchLogsLogGroupArn></QueryLoggingConfig>"
	answer, name := change, ""
	switch {
	case r.Method == http.MethodGet && path == "hostedzone":
		name = "ListHostedZonesResponse"
		answer = "<HostedZones>" + zone() + "</HostedZones><IsTruncated>false</IsTruncated><MaxItems>100</MaxItems>"
	case r.Method == http.MethodGet && path == "hostedzone/Z1":
		name = "GetHostedZoneResponse"
		answer = whole()
	case r.Method == http.MethodPost && path == "hostedzone":
		name = "CreateHostedZoneResponse"
		if in.VPC.VPCID != "" {
			z.vpcs = []string{vpc}
		}
		w.Header().Set("Location", "https://route53.amazonaws.com/2013-04-01/hostedzone/Z1")
		w.WriteHeader(http.StatusCreated)
		answer = whole() + change
	case path == "hostedzone/Z1/associatevpc":
		name = "AssociateVPCWithHostedZoneResponse"
		if slices.Contains(z.vpcs, vpc) {
			fail("ConflictingDomainExists")
			return
		}
		z.vpcs = append(z.vpcs, vpc)
	case path == "hostedzone/Z1/disassociatevpc":
		name = "DisassociateVPCFromHostedZoneResponse"
		if len(z.vpcs) == 1 {
			fail("LastVPCAssociation")
			return
		}
		z.vpcs = slices.DeleteFunc(z.vpcs, func(v string) bool { return v == vpc })
	case path == "hostedzone/Z1/features":
		name = "UpdateHostedZoneFeaturesResponse"
		z.recovery = "DISABLING"
		if in.EnableAcceleratedRecovery {
			z.recovery = "ENABLING"
		}
		answer = zone()
	case r.Method == http.MethodGet && path == "queryloggingconfig":
		name = "ListQueryLoggingConfigsResponse"
		answer = "<QueryLoggingConfigs>" + other + configs() + "</QueryLoggingConfigs>"
	case r.Method == http.MethodPost && path == "queryloggingconfig":
		name = "CreateQueryLoggingConfigResponse"
		switch {
		case z.group != "":
			fail("QueryLoggingConfigAlreadyExists")
			return
		case in.CloudWatchLogsLogGroupArn == z.refuse:
			fail("InsufficientCloudWatchLogsResourcePolicy")
			return
		}
		z.group = in.CloudWatchLogsLogGroupArn
		w.Header().Set("Location", "https://route53.amazonaws.com/2013-04-01/queryloggingconfig/Q1")
		w.WriteHeader(http.StatusCreated)
		answer = configs()
	case r.Method == http.MethodDelete && path == "queryloggingconfig/Q1":
		name = "DeleteQueryLoggingConfigResponse"
		z.group, answer = "", ""
	case strings.HasPrefix(path, "tags"):
		name = "ListTagsForResourcesResponse"
		answer = "<ResourceTagSets></ResourceTagSets>"
	}
	fmt.Fprintf(w, `<%s xmlns="https://route53.amazonaws.com/doc/2013-04-01/">%s</%s>`, name, answer, name)
}

// zoneOf returns the table before a zone, and how the zone is read: alone and by the listing.
func zoneOf(t *testing.T, z *aZone) (modules.Row, func(column string, from, to modules.Value) error, func(column string) modules.Value) {
	t.Helper()
	server := httptest.NewServer(z)
	t.Cleanup(server.Close)
	r := newZone(awstest.Fake(server.URL))
	identity := modules.Row{"hosted_zone_id": modules.Text("Z1"), "domain_name": modules.Text("example.com.")}
	read := func(column string) modules.Value {
		t.Helper()
		rows, err := awstest.Get(t.Context(), r, awstest.Scope(""), []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		if err := awstest.List(t.Context(), r, awstest.Scope(""), func(listed []modules.Row) error {
			if listed[0][column] != rows[0][column] {
				t.Errorf("%s: listed %v, read %v", column, listed[0][column], rows[0][column])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return rows[0][column]
	}
	change := func(column string, from, to modules.Value) error {
		have, want := identity.Clone(), identity.Clone()
		have[column], want[column] = from, to
		z.calls = nil
		return awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope(""), have, want, []string{column})
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return identity, change, read
}

func vpcs(t *testing.T, places ...string) modules.Value {
	t.Helper()
	var list []string
	for _, place := range places {
		region, id, _ := strings.Cut(place, "/")
		list = append(list, fmt.Sprintf(`{"VPCId": %q, "VPCRegion": %q}`, id, region))
	}
	v, err := modules.JSONText("[" + strings.Join(list, ",") + "]")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A private zone is created with one VPC, gets the others, and is never without.
func TestPrivateZone(t *testing.T) {
	t.Parallel()
	z := &aZone{}
	identity, change, read := zoneOf(t, z)
	server := httptest.NewServer(z)
	t.Cleanup(server.Close)
	r := newZone(awstest.Fake(server.URL))
	column := r.Table().Column("vpcs")
	two := vpcs(t, "us-east-1/vpc-1", "eu-west-1/vpc-2")
	want := modules.Row{"domain_name": identity["domain_name"], "vpcs": two, "accelerated_recovery": modules.Bool(false)}
	if _, err := awstest.Create(t.Context(), r, awstest.Permit(), awstest.Scope(""), want, "t"); err != nil {
		t.Fatal(err)
	}
	if got := read("vpcs"); !column.Same(got, vpcs(t, "us-east-1/vpc-1")) {
		t.Errorf("created with %v", got)
	}
	for _, next := range []struct {
		want  modules.Value
		calls int
	}{{two, 1}, {vpcs(t, "eu-west-1/vpc-2", "us-east-1/vpc-1"), 0}, {vpcs(t, "eu-west-1/vpc-3"), 3}} {
		if err := change("vpcs", modules.Null, next.want); err != nil {
			t.Fatal(err)
		}
		if got := read("vpcs"); !column.Same(got, next.want) || len(z.calls) != next.calls {
			t.Errorf("got %v by %v, want %v by %d calls", got, z.calls, next.want, next.calls)
		}
	}
	// A listing that nobody waits for reads them seldom: five calls a second are all that an account has.
	for _, due := range []bool{true, false} {
		err := awstest.ListAs(t.Context(), r, modules.ListRequest{Scope: awstest.Scope(""),
			RarelyDue: func(modules.Row) bool { return due }}, func(rows []modules.Row) error {
			for _, row := range rows {
				if v, known := row["vpcs"]; known != due || due && !column.Same(v, vpcs(t, "eu-west-1/vpc-3")) {
					t.Errorf("due %v: got %v", due, row)
				}
			}
			if len(rows) != 1 {
				t.Errorf("listed are %d zones", len(rows))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if !column.FixedKind || column.Same(two, vpcs(t, "us-east-1/vpc-1", "us-east-1/vpc-2")) {
		t.Error("a zone that becomes public is replaced, and a VPC has a region")
	}
}

// A public zone's queries are logged, elsewhere, and no more; where the other place is refused it stays as it was.
func TestQueryLogging(t *testing.T) {
	t.Parallel()
	const one, two, three = "arn:aws:logs:us-east-1:1:log-group:/one", "arn:aws:logs:us-east-1:1:log-group:/two",
		"arn:aws:logs:us-east-1:1:log-group:/three"
	z := &aZone{refuse: three}
	_, change, read := zoneOf(t, z)
	have := modules.Null
	for _, want := range []modules.Value{modules.Null, modules.Text(one), modules.Text(two)} {
		if err := change("query_log_group_arn", have, want); err != nil {
			t.Fatal(err)
		}
		if have = read("query_log_group_arn"); have != want {
			t.Errorf("got %v, want %v", have, want)
		}
	}
	if err := change("query_log_group_arn", have, modules.Text(three)); err == nil || z.group != two {
		t.Errorf("refused: got %v, and the queries go to %q", err, z.group)
	}
	if err := change("query_log_group_arn", have, modules.Text(one+":*")); err != nil || z.group != one {
		t.Errorf("got %v, and the queries go to %q", err, z.group)
	}
	if err := change("query_log_group_arn", have, modules.Null); err != nil || !read("query_log_group_arn").IsNull() {
		t.Errorf("got %v, and the queries go to %q", err, z.group)
	}
}

// Accelerated recovery is on while it is being enabled.
func TestRecovery(t *testing.T) {
	t.Parallel()
	_, change, read := zoneOf(t, &aZone{})
	for _, on := range []bool{false, true, false} {
		if err := change("accelerated_recovery", modules.Bool(!on), modules.Bool(on)); err != nil {
			t.Fatal(err)
		}
		if got := read("accelerated_recovery"); got != modules.Bool(on) {
			t.Errorf("got %v, want %t", got, on)
		}
	}
}

// Where a record is picked is read, set, and kept by other changes. moto keeps no more than GeoLocation of it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for column, place := range map[string][2]string{
		"geo_location": {`{"CountryCode": "US", "SubdivisionCode": "CA"}`,
			"<GeoLocation><CountryCode>US</CountryCode><SubdivisionCode>CA</SubdivisionCode></GeoLocation>"},
		"geo_proximity_location": {`{"AWSRegion": "us-east-1"}`,
			"<GeoProximityLocation><AWSRegion>us-east-1</AWSRegion></GeoProximityLocation>"},
		"cidr_routing_config": {`{"CollectionId": "c1", "LocationName": "office"}`,
			"<CidrRoutingConfig><CollectionId>c1</CollectionId><LocationName>office</LocationName></CidrRoutingConfig>"},
	} {
		var lock sync.Mutex
		set, sent := place[1], ""
		r := newRecord(fake(t, func(w http.ResponseWriter, r *http.Request) {
			lock.Lock()
			defer lock.Unlock()
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				sent = string(body)
				fmt.Fprint(w, `<ChangeResourceRecordSetsResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`)
				return
			}
			fmt.Fprint(w, `<ListResourceRecordSetsResponse><ResourceRecordSets><ResourceRecordSet><Name>a.example.com.</Name><Type>A</Type><SetIdentifier>one</SetIdentifier>`+
				set+`<TTL>60</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></ResourceRecordSets></ListResourceRecordSetsResponse>`)
		}))
		identity := recordWith(modules.Text("Z1"), "a.example.com.", "A", modules.Row{"set_identifier": modules.Text("one")})
		rows, err := awstest.Get(t.Context(), r, awstest.Scope(""), []modules.Row{identity})
		if err != nil || len(rows) != 1 || !r.Table().Column(column).Same(rows[0][column], modules.Text(place[0])) {
			t.Errorf("%s: got %v, %v", column, rows, err)
			continue
		}
		// "unread" is of a row that an earlier version has read.
		for _, step := range []string{"other", "unread", "set", "unset"} {
			have, want := rows[0].Clone(), rows[0].Clone()
			columns := []string{"ttl"}
			want["ttl"] = modules.Int(61)
			switch step {
			case "unread":
				delete(have, column)
				want[column] = modules.Null
			case "set":
				have[column], want[column], columns = modules.Null, modules.Text(place[0]), []string{column}
			case "unset":
				want[column], columns = modules.Null, []string{column}
			}
			if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope(""), have, want, columns); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(sent, place[1]) != (step != "unset") {
				t.Errorf("%s: %s sends %s", column, step, sent)
			}
		}
	}
	near := newRecord(awstest.Fake("")).Table().Column("geo_proximity_location")
	if !near.Same(modules.Text(`{"AWSRegion": "us-east-1"}`), modules.Text(`{"AWSRegion": "us-east-1", "Bias": 0}`)) ||
		near.Same(modules.Text(`{"AWSRegion": "us-east-1"}`), modules.Text(`{"AWSRegion": "us-east-1", "Bias": 1}`)) {
		t.Error("no bias is a bias of 0")
	}
}
