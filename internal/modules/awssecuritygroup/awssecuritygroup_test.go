package awssecuritygroup

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var scope = awstest.Scope("us-east-1")

func text(s string) modules.Value { return modules.Text(s) }

func tags(m map[string]string) modules.Value { return modules.StringMap(m) }

func create(t *testing.T, r modules.Resource, want modules.Row) modules.Row {
	t.Helper()
	ctx, permit := t.Context(), awstest.Permit()
	row, err := awstest.Create(ctx, r.(modules.Creator), permit, scope, want, "setup-"+want["group_name"].String())
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func list(t *testing.T, r modules.Resource) []modules.Row {
	t.Helper()
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, scope, page); err != nil {
		t.Fatal(err)
	}
	return rows()
}

func TestGroupLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	client, err := c.EC2(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	vpcs, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newGroup(c),
		Scope:    scope,
		Want: modules.Row{
			"group_name": text("web"), "description": text("web servers"),
			"vpc_id": modules.TextPtr(vpcs.Vpcs[0].VpcId),
			"tags":   tags(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"tags": {tags(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

func TestRuleLifecycle(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]modules.Row{
		"ingress": {"is_egress": modules.Bool(false), "cidr_ipv4": text("10.0.0.0/8")},
		"egress":  {"is_egress": modules.Bool(true), "cidr_ipv4": text("192.0.2.1/32")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := awstest.Clients(t)
			g := create(t, newGroup(c), modules.Row{"group_name": text("g"), "description": text("d")})
			want := modules.Row{
				"security_group_id": g["group_id"], "ip_protocol": text("tcp"), "from_port": modules.Int(80),
				"to_port":     modules.Int(81),
				"description": text("clients"), "tags": tags(map[string]string{"env": "test"}),
			}
			for k, v := range other {
				want[k] = v
			}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newRule(c),
				Scope:    scope,
				Want:     want,
				Changes: map[string][]modules.Value{
					"ip_protocol": {text("udp"), text("6")},
					"from_port":   {modules.Int(8)},
					"to_port":     {modules.Int(8000)},
					"cidr_ipv4":   {text("198.51.100.0/24")},
					"description": {text("all"), modules.Null},
					"tags":        {tags(map[string]string{"a": "1"}), modules.Null},
				},
				Calls: map[string]int{"tags": 2},
				// a rule is of IPv4 or of IPv6 for life, and moto changes the former only
				Elsewhere: []string{"cidr_ipv6"},
			})
		})
	}
}

// Every kind of the other side can be created, read and deleted: moto's
// ModifySecurityGroupRules knows IPv4 networks only, so that their description
// is not changed here.
func TestOtherSides(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	groups, rules := newGroup(c), newRule(c)
	a := create(t, groups, modules.Row{"group_name": text("a"), "description": text("d")})["group_id"]
	b := create(t, groups, modules.Row{"group_name": text("b"), "description": text("d")})["group_id"]
	ctx, permit := t.Context(), awstest.Permit()
	for _, side := range []struct {
		group  modules.Value
		column string
		value  modules.Value
	}{
		{a, "source_security_group", b},
		{b, "source_security_group", a}, // they name each other
		{a, "source_security_group", a}, // and itself
		{a, "cidr_ipv6", text("2001:db8::/32")},
		{a, "prefix_list_id", text("pl-12345678")},
	} {
		want := modules.Row{
			"security_group_id": side.group, "is_egress": modules.Bool(false), "ip_protocol": text("tcp"),
			"from_port": modules.Int(22), "to_port": modules.Int(22), side.column: side.value,
		}
		made, err := awstest.Create(ctx, rules, permit, scope, want, "t")
		if err != nil {
			t.Fatalf("%s: %v", side.column, err)
		}
		rows, err := awstest.Get(ctx, rules, scope, []modules.Row{made})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: got %v, %v", side.column, rows, err)
		}
		for name, v := range want {
			if !rules.Table().Column(name).Same(rows[0][name], v) {
				t.Errorf("%s: %s is %q, want %q", side.column, name, rows[0][name], v)
			}
		}
		if err := awstest.Delete(ctx, rules, permit, scope, rows[0]); err != nil {
			t.Errorf("%s: delete: %v", side.column, err)
		}
	}
}

// AWS gives a new group a rule that lets everything out. A record that asks for
// it gets that one; any other rule that exists already is an error.
func TestRuleThatExists(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	g := create(t, newGroup(c), modules.Row{"group_name": text("g"), "description": text("d")})["group_id"]
	rules := newRule(c)
	var given modules.Row
	for _, row := range list(t, rules) {
		if row["security_group_id"] == g {
			given = row
		}
	}
	if given == nil || !given["is_egress"].Bool() || given["cidr_ipv4"] != text("0.0.0.0/0") ||
		given["from_port"].Int() != -1 {
		t.Fatalf("a new group has the rule %v", given)
	}
	if why := rules.Protected(given); why != "" {
		t.Errorf("the rule of a group that is not a default one is protected: %s", why)
	}
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{
		"security_group_id": g, "is_egress": modules.Bool(true), "ip_protocol": text("-1"), "from_port": modules.Null,
		"to_port":   modules.Null,
		"cidr_ipv4": text("0.0.0.0/0"),
	}
	made, err := awstest.Create(ctx, rules, permit, scope, want, "t")
	if err != nil || made["security_group_rule_id"] != given["security_group_rule_id"] {
		t.Errorf("got %v, %v, want %v", made, err, given)
	}
	want = modules.Row{
		"security_group_id": g, "is_egress": modules.Bool(false), "ip_protocol": text("tcp"),
		"from_port": modules.Int(1), "to_port": modules.Int(2),
		"cidr_ipv4": text("10.0.0.0/8"),
	}
	if _, err := awstest.Create(ctx, rules, permit, scope, want, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := awstest.Create(ctx, rules, permit, scope, want, "u"); modules.ClassOf(err) != modules.Exists ||
		err == nil {
		t.Errorf("got %v, want an error of class %s", err, modules.Exists)
	}
}

// The default group of every VPC and the rules it came with stay.
func TestDefaultsAreProtected(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	for _, r := range []interface {
		modules.Resource
		Protected(modules.Row) string
		modules.Deleter
	}{newGroup(c), newRule(c)} {
		rows := list(t, r)
		if len(rows) == 0 {
			t.Errorf("%s: nothing is listed", r.Table().Name)
		}
		for _, row := range rows {
			if !row["is_default"].Bool() || r.Protected(row) == "" {
				t.Errorf("%s: not protected: %v", r.Table().Name, row)
			}
			journal := &awstest.Journal{}
			err := awstest.Delete(context.Background(), r, awstest.PermitBy(journal), scope, row)
			if calls, _ := journal.Take(); modules.ClassOf(err) != modules.Invalid || err == nil || len(calls) > 0 {
				t.Errorf("%s: delete: %v, with the calls %v", r.Table().Name, err, calls)
			}
		}
	}
}

// What is left out of a rule is all: of TCP and UDP the ports, which have no word for
// that, of the rest -1.
func TestPortsLeftOut(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string][2]int32{"tcp": {0, 65535}, "17": {0, 65535}, "icmp": {-1, -1},
		"-1": {-1, -1}, "50": {-1, -1}} {
		if p := permissionOf(modules.Row{"ip_protocol": text(protocol), "cidr_ipv4": text("10.0.0.0/8")}); *p.FromPort != want[0] || *p.ToPort != want[1] {
			t.Errorf("%s: %d to %d", protocol, *p.FromPort, *p.ToPort)
		}
	}
}
