package awsvpc

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAvailabilityZones(t *testing.T) {
	t.Parallel()
	r := newAvailabilityZone(awstest.Clients(t))
	zones := all(t, r)
	if len(zones) < 3 || zones[0]["name"] != text("us-east-1a") || zones[0]["zone_id"].IsNull() {
		t.Errorf("got %v", zones)
	}
	some, err := awstest.Get(t.Context(), r, east,
		[]modules.Row{{"name": text("us-east-1b")}, {"name": text("us-east-1y")}})
	if err != nil || len(some) != 1 {
		t.Errorf("got %v, %v", some, err)
	}
}

// moto's CreateDhcpOptions ignores TagSpecifications.
func TestDHCPOptionsLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newDHCPOptions(awstest.Clients(t)),
		Tagless:  true,
		Scope:    east,
		Want: modules.Row{
			"dhcp_configurations": document(t,
				`[{"Key":"domain-name-servers","Values":[{"Value":"10.2.5.1"},{"Value":"10.2.5.2"}]},{"Key":"domain-name","Values":[{"Value":"example.com"}]}]`),
			"tags": tags(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{"tags": {tags(map[string]string{"a": "1"}), modules.Null}},
		Calls:   map[string]int{"tags": 2},
	})
}

func TestSameDHCP(t *testing.T) {
	t.Parallel()
	const a = `[{"Key":"domain-name","Values":[{"Value":"x"}]},{"Key":"ntp-servers","Values":[{"Value":"1.1.1.1"},{"Value":"2.2.2.2"}]}]`
	for b, want := range map[string]bool{
		a: true,
		`[{"Key":"ntp-servers","Values":[{"Value":"1.1.1.1"},{"Value":"2.2.2.2"}]},{"Key":"domain-name","Values":[{"Value":"x"}]}]`: true,
		`[{"Key":"ntp-servers","Values":[{"Value":"2.2.2.2"},{"Value":"1.1.1.1"}]},{"Key":"domain-name","Values":[{"Value":"x"}]}]`: false,
		`[{"Key":"domain-name","Values":[{"Value":"x"}]}]`:                                                                          false,
		`{}`: false,
	} {
		if got := sameDHCP(a, b); got != want {
			t.Errorf("%s: %t", b, got)
		}
	}
}

// moto ignores ICMP types: it looks for them under another name than the API's.
func TestNetworkACLLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	const web = `{"RuleNumber":100,"Egress":false,"RuleAction":"allow","Protocol":"6","CidrBlock":"0.0.0.0/0","PortRange":{"From":80,"To":80}}`
	awstest.Lifecycle(t, awstest.Case{
		Resource: newNetworkACL(c),
		Scope:    east,
		Want: modules.Row{"vpc_id": v["vpc_id"], "entries": document(t, `[`+web+`]`),
			"tags": tags(map[string]string{"env": "test"})},
		Changes: map[string][]modules.Value{
			"entries": {
				document(t, `[{"RuleNumber":110,"Egress":true,"RuleAction":"ALLOW","Protocol":"TCP","PortRange":{"From":1,"To":2},"Ipv6CidrBlock":"::/0"},`+web+`]`),
				document(t, `[`+strings.ReplaceAll(web, "80", "81")+
					`,{"RuleNumber":110,"Egress":true,"RuleAction":"deny","Protocol":"-1","CidrBlock":"10.0.0.0/8"}]`),
				modules.Null,
			},
			"tags": {tags(map[string]string{"a": "1"}), modules.Null},
		},
		Calls: map[string]int{"entries": 2, "tags": 2},
	})
	for _, row := range all(t, newNetworkACL(c)) {
		stays(t, newNetworkACL(c), row)
	}
	err := updateEntries(t.Context(), nil, nil, "", `[{"RuleNumber":1,"Cidr":"10.0.0.0/8"}]`)
	if err == nil || modules.ClassOf(err) != modules.Invalid || !strings.Contains(err.Error(), "Cidr") {
		t.Errorf("got %v", err)
	}
}

func TestPeeringConnectionLifecycle(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"us-east-1", "us-west-2"} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			c := awstest.Clients(t)
			a, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
			ctx, permit := t.Context(), awstest.Permit()
			b, err := awstest.Create(ctx, newVPC(c), permit, awstest.Scope(region),
				modules.Row{"cidr_block": text("10.2.0.0/16")}, "b")
			if err != nil {
				t.Fatal(err)
			}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newPeering(c),
				Scope:    east,
				Want: modules.Row{
					"requester_id": a["vpc_id"], "accepter_id": b["vpc_id"], "accepter_region": text(region),
					"accepted": yes,
					"tags":     tags(map[string]string{"env": "test"}),
				},
				Elsewhere: []string{"accepted"}, // accepted it stays
				Changes:   map[string][]modules.Value{"tags": {tags(map[string]string{"a": "1"}), modules.Null}},
				Calls:     map[string]int{"tags": 2},
			})
		})
	}
}

// moto adds and removes the routes of an endpoint only when it is created and
// deleted, and refuses the deletion when the two differ: the changes end where
// they began.
func TestGatewayEndpointLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	a := build(t, newRouteTable(c), modules.Row{"vpc_id": v["vpc_id"]})["route_table_id"].String()
	b := build(t, newRouteTable(c), modules.Row{"vpc_id": v["vpc_id"]})["route_table_id"].String()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newGatewayEndpoint(c),
		Scope:    east,
		Want: modules.Row{
			"vpc_id": v["vpc_id"], "service": text("s3"), "route_table_ids": modules.Strings([]string{a}),
			"tags": tags(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"route_table_ids": {modules.Strings([]string{b, a}), modules.Strings([]string{b}),
				modules.Strings([]string{a})},
			"policy": {document(t,
				`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":"*"}]}`)},
			"tags": {tags(map[string]string{"a": "1"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

// moto's ModifyVpcEndpoint changes neither private_dns_enabled nor DNS options.
func TestInterfaceEndpointLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	awstest.Lifecycle(t, awstest.Case{
		Resource: newInterfaceEndpoint(c),
		Scope:    east,
		Want: modules.Row{
			"vpc_id": v["vpc_id"], "service": text("ecr.api"), "private_dns_enabled": yes,
			"tags": tags(map[string]string{"env": "test"}),
		},
		// moto's ModifyVpcEndpoint does not keep them.
		Elsewhere: []string{"private_dns_enabled", "dns_name_record_type", "security_group_ids"},
		Changes: map[string][]modules.Value{
			"policy": {document(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}`)},
			"tags":   {tags(map[string]string{"a": "1"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

func TestEndpointSubnetsLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, s := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	e := build(t, newInterfaceEndpoint(c), modules.Row{"vpc_id": v["vpc_id"], "service": text("ec2")})
	awstest.Lifecycle(t, awstest.Case{
		Resource: newEndpointSubnets(c),
		Scope:    east,
		Want:     modules.Row{"endpoint_interface_id": e["vpc_endpoint_id"], "subnet_id": s["subnet_id"]},
	})
}

func TestServiceNames(t *testing.T) {
	t.Parallel()
	for service, want := range map[string]string{
		"s3": "com.amazonaws.us-east-1.s3", "ecr.api": "com.amazonaws.us-east-1.ecr.api",
		"com.amazonaws.vpce.us-east-1.vpce-svc-1": "com.amazonaws.vpce.us-east-1.vpce-svc-1",
		"aws.sagemaker.us-east-1.notebook":        "aws.sagemaker.us-east-1.notebook",
	} {
		if got := serviceName("us-east-1", service); got != want {
			t.Errorf("%s: %s", service, got)
		}
	}
}

// What AWS tells of an endpoint's DNS records where nobody has chosen is NULL.
func TestUnspecifiedRecords(t *testing.T) {
	t.Parallel()
	for told, want := range map[ec2types.DnsRecordIpType]modules.Value{
		"not-specified": modules.Null, ec2types.DnsRecordIpTypeIpv4: modules.Text("ipv4"), "": modules.Null,
	} {
		endpoint := ec2types.VpcEndpoint{VpcEndpointType: ec2types.VpcEndpointTypeInterface,
			DnsOptions: &ec2types.DnsOptions{DnsRecordIpType: told}}
		row, err := declare.RowOf(t.Context(), newInterfaceEndpoint(aws.New(aws.Options{})), endpoint)
		if err != nil || row["dns_name_record_type"] != want {
			t.Errorf("%q is %v, %v", told, row["dns_name_record_type"], err)
		}
	}
}

// AWS spells an endpoint's state in two ways.
func TestEndpointStates(t *testing.T) {
	r := newGatewayEndpoint(aws.New(aws.Options{}))
	for state, want := range map[ec2types.State]string{
		"Pending": "forming", "pending": "forming", "PendingAcceptance": "", "Available": "", "Deleting": "going",
		"deleting": "going", "Failed": "no such service", "Rejected": "", "Expired": "",
	} {
		row, err := declare.RowOf(t.Context(), r,
			ec2types.VpcEndpoint{VpcEndpointId: awssdk.String("vpce-1"), State: state,
				LastError: &ec2types.LastError{Message: awssdk.String("no such service")}})
		got := awstest.Failed(r, row)
		if awstest.Phase(r, row) == modules.Forming {
			got += "forming"
		}
		if awstest.Phase(r, row) == modules.Going {
			got += "going"
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", state, got, err, want)
		}
	}
}

// A connection that has failed cannot be deleted, and goes by itself.
func TestFailedPeeringConnection(t *testing.T) {
	t.Parallel()
	f := &fakeEC2{answer: func(map[string]string) (int, string) { return 400, "" }}
	r, scope := newPeering(f.clients(t)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	row, err := declare.RowOf(ctx, r, ec2types.VpcPeeringConnection{
		VpcPeeringConnectionId: awssdk.String("pcx-1"),
		RequesterVpcInfo:       &ec2types.VpcPeeringConnectionVpcInfo{Region: awssdk.String("us-east-1")},
		AccepterVpcInfo:        &ec2types.VpcPeeringConnectionVpcInfo{},
		Status:                 &ec2types.VpcPeeringConnectionStateReason{Code: ec2types.VpcPeeringConnectionStateReasonCodeFailed, Message: awssdk.String("overlapping CIDR range")},
	})
	if err != nil || awstest.Failed(r, row) != "overlapping CIDR range" || awstest.Phase(r, row) == modules.Going {
		t.Fatalf("got %v, %v", row, err)
	}
	if err := awstest.Delete(ctx, r, permit, scope, row); err != nil || len(f.requests) > 0 {
		t.Errorf("%v, by the calls %v", err, f.requests)
	}
}

// AWS keeps entries without host bits, and without ports where they do not count.
func TestSameEntries(t *testing.T) {
	t.Parallel()
	entry := func(rest string) string {
		return `[{"RuleNumber":100,"Egress":false,"RuleAction":"allow",` + rest + `}]`
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`"Protocol":"-1","CidrBlock":"10.0.0.7/8","PortRange":{"From":0,"To":65535}`,
			`"Protocol":"all","CidrBlock":"10.0.0.0/8"`, true},
		{`"Protocol":"50","CidrBlock":"10.0.0.0/8","PortRange":{"From":1,"To":2}`,
			`"Protocol":"50","CidrBlock":"10.0.0.0/8"`, true},
		{`"Protocol":"tcp","Ipv6CidrBlock":"2001:db8:0::1/64","PortRange":{"From":1,"To":2}`,
			`"Protocol":"6","Ipv6CidrBlock":"2001:db8::/64","PortRange":{"From":1,"To":2}`, true},
		{`"Protocol":"icmp","CidrBlock":"10.0.0.0/8","IcmpTypeCode":{"Code":-1,"Type":-1}`,
			`"Protocol":"1","CidrBlock":"10.0.0.0/8","IcmpTypeCode":{"Code":-1,"Type":-1},"PortRange":{"From":0,"To":0}`, true},
		{`"Protocol":"tcp","CidrBlock":"10.0.0.0/8","PortRange":{"From":1,"To":2}`,
			`"Protocol":"6","CidrBlock":"10.0.0.0/8","PortRange":{"From":1,"To":3}`, false},
		{`"Protocol":"-1","CidrBlock":"10.0.0.0/8"`, `"Protocol":"-1","CidrBlock":"10.0.0.0/9"`, false},
	} {
		if sameEntries(entry(c.a), entry(c.b)) != c.same {
			t.Errorf("%s and %s: the same is not %v", c.a, c.b, c.same)
		}
	}
}
