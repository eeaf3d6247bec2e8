package awselb

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// The addresses of a network load balancer, behind a server that answers as the page DescribeLoadBalancers has it: moto
// keeps none.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var sent map[string]string
	zones := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action, result := r.Form.Get("Action"), ""
		switch action {
		case "DescribeLoadBalancers":
			result = `<LoadBalancers><member><LoadBalancerArn>arn:b</LoadBalancerArn><Type>network</Type>` +
				`<AvailabilityZones>` + zones + `</AvailabilityZones></member></LoadBalancers>`
		case "CreateLoadBalancer":
			result = `<LoadBalancers><member><LoadBalancerArn>arn:b</LoadBalancerArn></member></LoadBalancers>`
			fallthrough
		case "SetSubnets":
			sent = map[string]string{}
			for key := range r.Form {
				if strings.HasPrefix(key, "Subnet") {
					sent[key] = r.Form.Get(key)
				}
			}
		}
		fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, result, action, action)
	}))
	t.Cleanup(server.Close)
	b, ctx, permit := newLoadBalancer(awstest.Fake(server.URL)), t.Context(), awstest.Permit()
	check := func(what string, want ...string) {
		t.Helper()
		if len(sent) != len(want) {
			t.Errorf("%s: sent %v, want %q", what, sent, want)
		}
		for _, w := range want {
			name, value, _ := strings.Cut(w, "=")
			if short, rest, found := strings.Cut(name, "."); found {
				name = short + ".member." + rest
			}
			if sent[name] != value {
				t.Errorf("%s: %s is %q, want %q: %v", what, name, sent[name], value, sent)
			}
		}
	}
	list := func(texts ...string) modules.Value { return modules.Strings(texts) }

	want := modules.Row{"load_balancer_name": text("b"), "load_balancer_type": text("network"),
		"scheme": text("internet-facing"), "has_security_groups": modules.Bool(false), "subnets": list("s-1", "s-2"),
		allocations: list("e-1", "e-2")}
	if _, err := awstest.Create(ctx, b, permit, west, want, "token"); err != nil {
		t.Fatal(err)
	}
	check("create", "SubnetMappings.1.SubnetId=s-1", "SubnetMappings.1.AllocationId=e-1",
		"SubnetMappings.2.SubnetId=s-2", "SubnetMappings.2.AllocationId=e-2")
	inside := want.Clone()
	inside[allocations], inside[privates], inside["scheme"] = modules.Null, list("10.0.1.9"), text("internal")
	if _, err := awstest.Create(ctx, b, permit, west, inside, "token"); err != nil {
		t.Fatal(err)
	}
	check("create inside", "SubnetMappings.1.SubnetId=s-1", "SubnetMappings.1.PrivateIPv4Address=10.0.1.9",
		"SubnetMappings.2.SubnetId=s-2")
	plain := want.Clone()
	plain[allocations] = modules.Null
	if _, err := awstest.Create(ctx, b, permit, west, plain, "token"); err != nil {
		t.Fatal(err)
	}
	check("create plain", "Subnets.1=s-1", "Subnets.2=s-2")
	many := want.Clone()
	many[allocations] = list("e-1", "e-2", "e-3")
	if _, err := awstest.Create(ctx, b, permit, west, many, "token"); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("three addresses in two subnets: %v, want class %s", err, modules.Invalid)
	}

	zone := func(subnet, addresses, more string) string {
		return `<member><SubnetId>` + subnet + `</SubnetId><LoadBalancerAddresses>` + addresses +
			`</LoadBalancerAddresses>` + more + `</member>`
	}
	zones = zone("s-1", `<member><AllocationId>e-1</AllocationId><IPv6Address>2001:db8::1</IPv6Address></member>`,
		`<SourceNatIpv6Prefixes><member>2001:db8:1::/80</member></SourceNatIpv6Prefixes>`) +
		zone("s-2", `<member><AllocationId>e-2</AllocationId></member>`, "")
	rows, err := awstest.Get(ctx, b, west, []modules.Row{{"load_balancer_arn": text("arn:b")}})
	if err != nil || len(rows) != 1 || rows[0][allocations].String() != list("e-1", "e-2").String() ||
		!rows[0][privates].IsNull() {
		t.Fatalf("read %v (%v)", rows, err)
	}
	// Another subnet: those that stay have what they had, and the new one gets the new address.
	to := rows[0].Clone()
	to["subnets"], to[allocations] = list("s-3", "s-2", "s-1"), list("e-3", "e-1", "e-2")
	if err := awstest.Update(ctx, b, permit, west, rows[0], to, []string{"subnets", allocations}); err != nil {
		t.Fatal(err)
	}
	kept := []string{"SubnetMappings.2.SubnetId=s-2", "SubnetMappings.2.AllocationId=e-2", "SubnetMappings.3.SubnetId=s-1",
		"SubnetMappings.3.AllocationId=e-1", "SubnetMappings.3.IPv6Address=2001:db8::1",
		"SubnetMappings.3.SourceNatIpv6Prefix=2001:db8:1::/80"}
	check("another subnet", append(kept, "SubnetMappings.1.SubnetId=s-3", "SubnetMappings.1.AllocationId=e-3")...)
	// Nobody has said which address: it is AWS's.
	if err := awstest.Update(ctx, b, permit, west, rows[0], to, []string{"subnets"}); err != nil {
		t.Fatal(err)
	}
	check("another subnet alone", append(kept, "SubnetMappings.1.SubnetId=s-3")...)
	// A subnet goes, and its address with it.
	to["subnets"] = list("s-2")
	if err := awstest.Update(ctx, b, permit, west, rows[0], to, []string{"subnets"}); err != nil {
		t.Fatal(err)
	}
	check("a subnet less", "SubnetMappings.1.SubnetId=s-2", "SubnetMappings.1.AllocationId=e-2")
}
