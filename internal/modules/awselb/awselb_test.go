package awselb

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var (
	west = awstest.Scope("us-west-2")
	tags = []modules.Value{modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null}
	text = modules.Text
)

func document(t *testing.T, s string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func create(t *testing.T, r modules.Creator, want modules.Row) modules.Row {
	t.Helper()
	made, err := awstest.Create(t.Context(), r, awstest.Permit(), west, want, "other")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// subnets returns the subnets of the default VPC, in different zones, and the VPC.
func subnets(t *testing.T, c *aws.Clients) (ids []string, vpc string) {
	t.Helper()
	client, err := c.EC2(t.Context(), west)
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil || len(out.Subnets) < 3 {
		t.Fatal(out, err)
	}
	for _, s := range out.Subnets {
		ids = append(ids, *s.SubnetId)
	}
	return ids, *out.Subnets[0].VpcId
}

func balancer(t *testing.T, c *aws.Clients, name, kind string) modules.Row {
	t.Helper()
	in, _ := subnets(t, c)
	return create(t, newLoadBalancer(c), modules.Row{
		"load_balancer_name": text(name), "load_balancer_type": text(kind), "subnets": modules.Strings(in[:2]),
		"ip_address_type": text("ipv4"),
	})
}

func group(t *testing.T, c *aws.Clients, name, protocol string, port int) modules.Row {
	t.Helper()
	_, vpc := subnets(t, c)
	return create(t, newTargetGroup(c), modules.Row{
		"target_group_name": text(name), "target_type": text("instance"), "protocol": text(protocol),
		"port": modules.Int(port), "vpc": text(vpc),
	})
}

func TestLoadBalancerLifecycle(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application", "network"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := awstest.Clients(t)
			balancer(t, c, "other", kind)
			in, _ := subnets(t, c)
			awstest.Lifecycle(t, awstest.Case{
				Resource: newLoadBalancer(c), Scope: west,
				Want: modules.Row{
					"load_balancer_name": text("life"), "load_balancer_type": text(kind), "scheme": text("internal"),
					"subnets": modules.Strings(in[:2]), "ip_address_type": text("ipv4"),
					"has_security_groups": modules.Bool(true),
					"attributes":          modules.StringMap(map[string]string{"idle_timeout.timeout_seconds": "90"}),
					"tags":                modules.StringMap(map[string]string{"env": "test"}),
				},
				Changes: map[string][]modules.Value{
					"subnets":         {modules.Strings([]string{in[2], in[0]}), modules.Strings(in[:3])},
					"ip_address_type": {text("dualstack")},
					"attributes": {modules.StringMap(map[string]string{
						"deletion_protection.enabled": "true", "access_logs.s3.enabled": "true",
						"access_logs.s3.bucket": "logs",
					})},
					"tags": tags,
				},
				// moto keeps none of them: see TestAddresses. It has no ModifyCapacityReservation: see TestCapacity.
				Elsewhere: []string{"enforce_security_group_inbound_rules_on_private_link_traffic", "ipv4_ipam_pool_id",
					"minimum_load_balancer_capacity", allocations, privates},
				Calls: map[string]int{"tags": 2},
			})
		})
	}
}

// moto makes gateway load balancers with a scheme, and several load balancers of
// one name.
func TestLoadBalancerSecurityGroups(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	in, vpc := subnets(t, c)
	ctx, permit := t.Context(), awstest.Permit()
	client, err := c.Permitted(permit).EC2(ctx, west)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateSecurityGroup(ctx,
		&ec2.CreateSecurityGroupInput{GroupName: awssdk.String("web"), Description: awssdk.String("web"), VpcId: &vpc})
	if err != nil {
		t.Fatal(err)
	}
	for kind, begins := range map[string]int{"application": 0, "network": 1, "gateway": 0} {
		b := create(t, newLoadBalancer(c), modules.Row{
			"load_balancer_name": text(kind), "load_balancer_type": text(kind), "subnets": modules.Strings(in[:2]),
			"ip_address_type":     text("ipv4"),
			"has_security_groups": modules.Bool(kind != "gateway"),
		})
		var rows []modules.Row
		err := awstest.List(ctx, newSecurityGroups(c), west, func(page []modules.Row) error {
			for _, row := range page {
				if row["load_balancer_id"] == b["load_balancer_arn"] {
					rows = append(rows, row)
				}
			}
			return nil
		})
		// AWS gives an application load balancer the default group, moto none.
		if err != nil || len(rows) != begins {
			t.Errorf("%s: begins with the groups %v, %v; want %d", kind, rows, err, begins)
		}
		if kind != "gateway" {
			want := modules.Row{"load_balancer_id": b["load_balancer_arn"], "security_group_id": text(*made.GroupId)}
			awstest.Lifecycle(t, awstest.Case{Resource: newSecurityGroups(c), Scope: west, Want: want})
		}
	}
}

func TestTargetGroupLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	_, vpc := subnets(t, c)
	seconds := func(n ...int) (values []modules.Value) {
		for _, n := range n {
			values = append(values, modules.Int(n))
		}
		return values
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newTargetGroup(c), Scope: west,
		Want: modules.Row{
			"target_group_name": text("life"), "target_type": text("ip"), "protocol": text("HTTP"),
			"port": modules.Int(8080), "vpc": text(vpc),
			"health_check_path": text("/health"), "matcher": text("200-299"),
			"attributes": modules.StringMap(map[string]string{"deregistration_delay.timeout_seconds": "30"}),
			"tags":       modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"health_check_enabled":          {modules.Bool(false), modules.Bool(true)},
			"health_check_protocol":         {text("HTTPS")},
			"health_check_port":             {text("8081"), text("traffic-port")},
			"health_check_path":             {text("/")},
			"health_check_interval_seconds": seconds(60),
			"health_check_timeout_seconds":  seconds(10),
			"healthy_threshold_count":       seconds(3),
			"unhealthy_threshold_count":     seconds(4),
			"matcher":                       {text("200")},
			"attributes": {modules.StringMap(map[string]string{"stickiness.enabled": "true",
				"slow_start.duration_seconds": "60"})},
			"tags": tags,
		},
		Calls: map[string]int{"tags": 2},
	})
}

// A name that is taken is that of what is meant. moto refuses it of target
// groups only.
func TestTargetGroupIsTakenOver(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	if one, two := group(t, c, "one", "HTTP", 80), group(t, c, "one", "HTTP", 80); one["target_group_arn"] != two["target_group_arn"] {
		t.Errorf("there are %v and %v", one, two)
	}
}

func TestTargetGroupOfFunction(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	made := create(t, newTargetGroup(c),
		modules.Row{"target_group_name": text("function"), "target_type": text("lambda")})
	rows, err := awstest.Get(t.Context(), newTargetGroup(c), west, []modules.Row{made})
	if err != nil || len(rows) != 1 || !rows[0]["protocol"].IsNull() || !rows[0]["port"].IsNull() ||
		!rows[0]["vpc"].IsNull() {
		t.Errorf("got %v, %v", rows, err)
	}
}

// moto's ModifyListener knows neither TLS, which network load balancers speak,
// nor AlpnPolicy; it makes a second listener on a port, where AWS answers
// DuplicateListener.
func TestListenerLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	b := balancer(t, c, "life", "application")
	one, two := group(t, c, "one", "HTTP", 80), group(t, c, "two", "HTTP", 81)
	redirect := document(t, `[{"Type":"redirect","RedirectConfig":{"Protocol":"HTTPS","Port":"443","StatusCode":"HTTP_301"}}]`)
	fixed := document(t, `[{"Type":"fixed-response","FixedResponseConfig":{"StatusCode":"404","ContentType":"text/plain","MessageBody":"no"}}]`)
	weighted := document(t, `[{"Type":"forward","ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"`+
		one["target_group_arn"].String()+`","Weight":3},{"TargetGroupArn":"`+two["target_group_arn"].String()+`"}]}}]`)
	r := newListener(c)
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: west,
		Want: modules.Row{
			"load_balancer_id": b["load_balancer_arn"], "port": modules.Int(80), "protocol": text("HTTP"),
			"action_type": text("forward"), "target_group_id": one["target_group_arn"], "default_actions": modules.Null,
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"port":            {modules.Int(8080)},
			"target_group_id": {two["target_group_arn"]},
			"attributes": {modules.StringMap(map[string]string{
				"routing.http.response.server.enabled": "false"})},
			"tags": tags,
		},
		Elsewhere: []string{"protocol", "action_type", "default_actions", "ssl_policy", "certificate_id",
			"alpn_policy"},
		Calls: map[string]int{"tags": 2},
	})

	// What it does, and the protocol with what belongs to it.
	ctx, permit := t.Context(), awstest.Permit()
	certs, err := aws.Client(ctx, c.Permitted(permit), west, func(cfg awssdk.Config) *acm.Client {
		return acm.NewFromConfig(cfg)
	})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := certs.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: awssdk.String("example.com")})
	if err != nil {
		t.Fatal(err)
	}
	want := modules.Row{
		"load_balancer_id": b["load_balancer_arn"], "port": modules.Int(80), "protocol": text("HTTP"),
		"action_type": text("redirect"), "target_group_id": modules.Null, "default_actions": redirect,
	}
	made := create(t, r, want)
	for i, change := range []modules.Row{
		{},
		{"action_type": text("fixed-response"), "default_actions": fixed},
		{"action_type": text("forward"), "default_actions": weighted},
		{"action_type": text("forward"), "default_actions": modules.Null, "target_group_id": one["target_group_arn"]},
		{"protocol": text("HTTPS"), "certificate_id": text(*cert.CertificateArn),
			"ssl_policy": text("ELBSecurityPolicy-TLS13-1-2-2021-06")},
	} {
		rows, err := awstest.Get(ctx, r, west, []modules.Row{made})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		var columns []string
		for column, v := range change {
			want[column] = v
			columns = append(columns, column)
		}
		if len(columns) > 0 {
			if err := awstest.Update(ctx, r, permit, west, rows[0], want, columns); err != nil {
				t.Fatal(i, err)
			}
			if rows, err = awstest.Get(ctx, r, west, []modules.Row{made}); err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
		}
		for column, v := range want {
			if !r.Table().Column(column).Same(rows[0][column], v) {
				t.Errorf("change %d: %s is %v, want %v", i, column, rows[0][column], v)
			}
		}
	}
	want["target_group_id"], want["default_actions"] = modules.Null,
		document(t, `[{"Type":"forward","Targetgroup":"x"}]`)
	if _, err := awstest.Create(ctx, r, permit, west, want, "bad"); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a member that there is not: %v, want class %s", err, modules.Invalid)
	}
}

// A gateway's listener has neither port nor protocol, in the API.
func TestGatewayListener(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	b, g := balancer(t, c, "gate", "gateway"), group(t, c, "appliances", "GENEVE", genevePort)
	made := create(t, newListener(c), modules.Row{
		"load_balancer_id": b["load_balancer_arn"], "port": modules.Int(genevePort), "protocol": text("GENEVE"),
		"action_type": text("forward"), "target_group_id": g["target_group_arn"],
	})
	rows, err := awstest.Get(t.Context(), newListener(c), west, []modules.Row{made})
	if err != nil || len(rows) != 1 || rows[0]["protocol"].String() != "GENEVE" ||
		rows[0]["port"].String() != strconv.Itoa(genevePort) {
		t.Errorf("got %v, %v", rows, err)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`[{"Type":"redirect","RedirectConfig":{"StatusCode":"HTTP_301"}}]`,
			`[{"Type":"redirect","Order":1,"RedirectConfig":{"StatusCode":"HTTP_301","Host":"#{host}","Path":"/#{path}","Port":"#{port}","Protocol":"#{protocol}","Query":"#{query}"}}]`, true},
		{`[{"Type":"redirect","RedirectConfig":{"StatusCode":"HTTP_301"}}]`,
			`[{"Type":"redirect","RedirectConfig":{"StatusCode":"HTTP_302"}}]`, false},
		{`[{"Type":"forward","ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"a"}]}}]`,
			`[{"Type":"forward","TargetGroupArn":"a","ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"a","Weight":1}],"TargetGroupStickinessConfig":{"Enabled":false}}}]`, true},
		{`[{"Type":"forward","ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"a"},{"TargetGroupArn":"b"}]}}]`,
			`[{"Type":"forward","ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"a","Weight":1},{"TargetGroupArn":"b","Weight":2}]}}]`, false},
		{
			`[{"Type":"authenticate-oidc","Order":1,"AuthenticateOidcConfig":{"Issuer":"i"}},{"Type":"forward","Order":2,"TargetGroupArn":"a"}]`,
			`[{"Type":"authenticate-oidc","Order":1,"AuthenticateOidcConfig":{"Issuer":"i","Scope":"openid","SessionTimeout":604800,"SessionCookieName":"AWSELBAuthSessionCookie","OnUnauthenticatedRequest":"authenticate"}},{"Type":"forward","Order":2,"TargetGroupArn":"a"}]`, true,
		},
		{`[{"Typ":"forward"}]`, `[{"Typ":"forward"}]`, false},
	} {
		if got := sameActions(c.a, c.b); got != c.same {
			t.Errorf("%s and %s are the same: %t", c.a, c.b, got)
		}
	}
	// A forward to one group is a column, whatever form AWS gives it.
	row := modules.Row{}
	arn := "arn:group"
	if err := setActions(row, []elbtypes.Action{{
		Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: &arn,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: &arn}}},
	}}); err != nil || row["target_group_id"] != text(arn) || !row["default_actions"].IsNull() {
		t.Errorf("got %v, %v", row, err)
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	column := newLoadBalancer(nil).Table().Column("attributes")
	all := modules.StringMap(map[string]string{"a": "1", "b": "2"})
	for want, same := range map[modules.Value]bool{
		modules.StringMap(map[string]string{"a": "1"}):                               true,
		modules.StringMap(map[string]string{"a": "2"}):                               false,
		modules.StringMap(map[string]string{"c": "1"}):                               false,
		modules.StringMap(map[string]string{"a": "1", "b": "2", "c": "", "d": "no"}): true, // a newer AWS tells more
	} {
		if got := column.Same(all, want); got != same {
			t.Errorf("%v: %t", want, got)
		}
	}
	keys, _ := changes(all, modules.StringMap(map[string]string{"b": "3", "a": "1", "0": "x"}))
	if !slices.Equal(keys, []string{"0", "b"}) {
		t.Errorf("changes %v", keys)
	}
}

// TestCapacity: what is kept ready is set, and given back; a gateway load balancer has none.
func TestCapacity(t *testing.T) {
	t.Parallel()
	var got []url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch arn := r.Form.Get("LoadBalancerArn"); {
		case r.Form.Get("Action") == "DescribeLoadBalancers":
			arn = r.Form.Get("LoadBalancerArns.member.1")
			fmt.Fprintf(w, `<DescribeLoadBalancersResponse><DescribeLoadBalancersResult><LoadBalancers><member><LoadBalancerArn>%s</LoadBalancerArn></member></LoadBalancers></DescribeLoadBalancersResult></DescribeLoadBalancersResponse>`, arn)
		case r.Form.Get("Action") == "DescribeCapacityReservation" && arn == "gateway":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>OperationNotPermitted</Code></Error></ErrorResponse>`)
		case r.Form.Get("Action") == "DescribeCapacityReservation" && arn == "kept":
			fmt.Fprint(w, `<DescribeCapacityReservationResponse><DescribeCapacityReservationResult><MinimumLoadBalancerCapacity><CapacityUnits>500</CapacityUnits></MinimumLoadBalancerCapacity></DescribeCapacityReservationResult></DescribeCapacityReservationResponse>`)
		case r.Form.Get("Action") == "ModifyCapacityReservation":
			got = append(got, r.Form)
			fmt.Fprint(w, `<ModifyCapacityReservationResponse><ModifyCapacityReservationResult/></ModifyCapacityReservationResponse>`)
		default:
			fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Attributes/><TagDescriptions/></%[1]sResult></%[1]sResponse>`, r.Form.Get("Action"))
		}
	}))
	t.Cleanup(server.Close)
	r := newLoadBalancer(awstest.Fake(server.URL))
	const column = "minimum_load_balancer_capacity"
	for arn, want := range map[string]modules.Value{"kept": modules.Int(500), "other": modules.Null, "gateway": modules.Null} {
		rows, err := awstest.Get(t.Context(), r, west, []modules.Row{{"load_balancer_arn": text(arn)}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: got %v, %v", arn, rows, err)
		}
		if v, read := rows[0][column]; !read || v != want {
			t.Errorf("%s: %v is kept ready, want %v", arn, v, want)
		}
	}
	have := modules.Row{"load_balancer_arn": text("kept"), column: modules.Int(500)}
	for _, units := range []modules.Value{modules.Int(600), modules.Null} {
		want := have.Clone()
		want[column] = units
		if err := awstest.Update(t.Context(), r, awstest.Permit(), west, have, want, []string{column}); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0].Get("MinimumLoadBalancerCapacity.CapacityUnits") != "600" || got[0].Has("ResetCapacityReservation") ||
		got[1].Get("ResetCapacityReservation") != "true" || got[1].Has("MinimumLoadBalancerCapacity.CapacityUnits") {
		t.Errorf("sent: %v", got)
	}
}
