package awsvpc

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var (
	yes = modules.Bool(true)
	no  = modules.Bool(false)
)

func tags(m map[string]string) modules.Value { return modules.StringMap(m) }

func TestVPCLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	ctx, permit := t.Context(), awstest.Permit()
	var options []modules.Value
	for _, name := range []string{"a.example", "b.example"} {
		set, err := modules.JSONText(`[{"Key": "domain-name", "Values": [{"Value": "` + name + `"}]}]`)
		if err != nil {
			t.Fatal(err)
		}
		made, err := awstest.Create(ctx, newDHCPOptions(c), permit, awstest.Scope("eu-west-1"),
			modules.Row{"dhcp_configurations": set}, name)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, made["dhcp_options_id"])
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newVPC(c),
		Scope:    awstest.Scope("eu-west-1"),
		Want: modules.Row{
			"cidr_block": modules.Text("10.1.0.0/16"), "enable_dns_hostnames": yes, "enable_dns_support": yes,
			"enable_network_address_usage_metrics": no, "tags": tags(map[string]string{"Name": "a", "env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"enable_dns_hostnames":                 {no, yes},
			"enable_dns_support":                   {no, yes},
			"enable_network_address_usage_metrics": {yes, no},
			"dhcp_options_id":                      options,
			"tags": {tags(map[string]string{"Name": "b", "more": ""}),
				tags(map[string]string{"Name": "b"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2}, // CreateTags and DeleteTags
		Once:  true,                      // moto deletes the DHCP options along with the VPC
	})
}

func TestSubnetLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	scope := awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	parent, err := awstest.Create(ctx, newVPC(c), permit, scope, modules.Row{"cidr_block": modules.Text("10.2.0.0/16")},
		"parent")
	if err != nil {
		t.Fatal(err)
	}
	list, err := awstest.Create(ctx, newNetworkACL(c), permit, scope, modules.Row{"vpc_id": parent["vpc_id"]}, "list")
	if err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newSubnet(c),
		Scope:    scope,
		Want: modules.Row{
			"vpc_id": parent["vpc_id"], "cidr_block": modules.Text("10.2.3.0/24"),
			"availability_zone":       modules.Text("us-east-1b"),
			"map_public_ip_on_launch": yes, "tags": modules.Null,
		},
		Changes: map[string][]modules.Value{
			"map_public_ip_on_launch": {no, yes},
			"network_acl_id":          {list["network_acl_id"]},
			"tags":                    {tags(map[string]string{"Name": "s"}), modules.Null},
		},
		// moto's ModifySubnetAttribute does not keep what names are made of, and a VPC of the test has no IPv6 network.
		Elsewhere: []string{"ipv6_cidr_block", "private_dns_name_options_on_launch"},
	})
}

// The account's default VPC and subnets are there without anyone's doing: the engine
// deletes neither on its own account, and a default subnet goes only if a user deletes it.
func TestDefaultsAreKept(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	vpc, subnet := newVPC(c), newSubnet(c)
	for _, r := range []struct {
		modules.Resource
		keeps func(modules.Row) string
	}{{vpc, vpc.Protected}, {subnet, subnet.ManagedBy}} {
		count := 0
		err := awstest.List(t.Context(), r, awstest.Scope("us-east-1"), func(rows []modules.Row) error {
			for _, row := range rows {
				count++
				if r.keeps(row) == "" {
					t.Errorf("%s: %v is not kept", r.Table().Name, row)
				}
			}
			return nil
		})
		if err != nil || count == 0 {
			t.Errorf("%s: listed %d, %v", r.Table().Name, count, err)
		}
		if why := r.keeps(modules.Row{"is_default": no, "default_for_az": no}); why != "" {
			t.Errorf("%s: kept: %s", r.Table().Name, why)
		}
	}
}

func TestModule(t *testing.T) {
	m := Module(aws.New(aws.Options{}))
	for _, table := range m.Tables() {
		if err := table.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// fakeEC2 answers DescribeSubnets in pages and DescribeVpcAttribute, which the
// emulator does not page, and of which it never loses a VPC between two calls.
type fakeEC2 struct {
	mu       sync.Mutex
	requests []map[string]string
	answer   func(form map[string]string) (status int, body string)
}

func (f *fakeEC2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := map[string]string{}
	for k := range r.Form {
		form[k] = r.Form.Get(k)
	}
	f.mu.Lock()
	f.requests = append(f.requests, form)
	f.mu.Unlock()
	status, body := f.answer(form)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func (f *fakeEC2) clients(t *testing.T) *aws.Clients {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}

func TestPagesAndVanishingVPCs(t *testing.T) {
	t.Parallel()
	fake := &fakeEC2{answer: func(form map[string]string) (int, string) {
		switch form["Action"] {
		case "DescribeVpcs":
			next, vpc := "<nextToken>two</nextToken>", "vpc-1"
			if form["NextToken"] == "two" {
				next, vpc = "", "vpc-2"
			}
			return 200, `<DescribeVpcsResponse><vpcSet><item><vpcId>` + vpc +
				`</vpcId><cidrBlock>10.0.0.0/16</cidrBlock></item><item><vpcId>vpc-gone</vpcId><cidrBlock>10.0.0.0/16</cidrBlock></item></vpcSet>` + next + `</DescribeVpcsResponse>`
		case "DescribeVpcAttribute":
			if form["VpcId"] == "vpc-gone" {
				return 400, `<Response><Errors><Error><Code>InvalidVpcID.NotFound</Code><Message>gone</Message></Error></Errors></Response>`
			}
			return 200, `<DescribeVpcAttributeResponse><` + form["Attribute"] + `><value>true</value></` +
				form["Attribute"] + `></DescribeVpcAttributeResponse>`
		}
		return 500, ""
	}}
	var ids []string
	err := awstest.List(t.Context(), newVPC(fake.clients(t)), awstest.Scope("us-east-1"),
		func(rows []modules.Row) error {
			ids = append(ids, aws.Column(rows, "vpc_id")...)
			return nil
		})
	if err != nil || !slices.Equal(ids, []string{"vpc-1", "vpc-2"}) {
		t.Errorf("got %v, %v", ids, err)
	}
	if size := fake.requests[0]["MaxResults"]; size != "1000" {
		t.Errorf("the page size is %q", size)
	}
}

// Several hundred ids are read by filters of 200, which do not fail when some
// do not exist.
func TestGetBatches(t *testing.T) {
	t.Parallel()
	fake := &fakeEC2{answer: func(form map[string]string) (int, string) {
		var items strings.Builder
		for k, v := range form {
			if strings.HasPrefix(k, "Filter.1.Value.") && v != "subnet-7" {
				fmt.Fprintf(&items, "<item><subnetId>%s</subnetId><cidrBlock>10.0.0.0/24</cidrBlock></item>", v)
			}
		}
		if form["Action"] == "DescribeNetworkAcls" {
			return 200, "<DescribeNetworkAclsResponse><networkAclSet><item><networkAclId>acl-1</networkAclId><associationSet><item><subnetId>subnet-3</subnetId><networkAclId>acl-1</networkAclId></item></associationSet></item></networkAclSet></DescribeNetworkAclsResponse>"
		}
		return 200, "<DescribeSubnetsResponse><subnetSet>" + items.String() + "</subnetSet></DescribeSubnetsResponse>"
	}}
	var identities []modules.Row
	for i := range 450 {
		identities = append(identities, modules.Row{"subnet_id": modules.Text(fmt.Sprintf("subnet-%d", i))})
	}
	rows, err := awstest.Get(t.Context(), newSubnet(fake.clients(t)), awstest.Scope("us-east-1"), identities)
	if err != nil || len(rows) != 449 {
		t.Errorf("got %d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		if had := !row["network_acl_id"].IsNull(); had != (row["subnet_id"] == modules.Text("subnet-3")) {
			t.Errorf("got %v", row)
		}
	}
	// Three of each: the subnets, and their network ACLs.
	if len(fake.requests) != 6 {
		t.Errorf("made %d calls, want 6", len(fake.requests))
	}
}

// A listing that fails half way is no listing.
func TestListingFails(t *testing.T) {
	t.Parallel()
	fake := &fakeEC2{answer: func(form map[string]string) (int, string) {
		if form["NextToken"] == "two" {
			return 403, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>`
		}
		return 200, `<DescribeSubnetsResponse><subnetSet/><nextToken>two</nextToken></DescribeSubnetsResponse>`
	}}
	err := awstest.List(t.Context(), newSubnet(fake.clients(t)), awstest.Scope("us-east-1"), func([]modules.Row) error {
		return nil
	})
	if err == nil || modules.ClassOf(err) != modules.Denied {
		t.Errorf("got %v", err)
	}
}
