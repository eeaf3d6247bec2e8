package awselb

import (
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// genevePort is where gateway load balancers listen, which the API neither takes
// nor tells ("Listeners for your Gateway Load Balancers", User Guide).
const genevePort = 6081

// listener is the table listener.
type listener struct {
	clients     *aws.Clients
	description *modules.Table
}

func newListener(c *aws.Clients) *listener {
	return &listener{clients: c, description: describeListener()}
}

func describeListener() *modules.Table {
	return &modules.Table{
		Name:     "listener",
		Doc:      "Listeners: the ports that load balancers listen on, and what they do with what comes in.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		// CreateListener takes no token; it answers a repeated call with the
		// listener there is only if nothing has been changed meanwhile.
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "listener_arn", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			modules.Column{Name: "load_balancer_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "load_balancer", Key: "load_balancer_arn", Part: modules.PartAlong},
				Doc:        "The load balancer it is of."},
			modules.Column{Name: "port", Type: modules.TypeInteger, Required: true, Check: "port BETWEEN 1 AND 65535",
				Doc: "The port. 6081 of gateway load balancers."},
			modules.Column{Name: "protocol", Type: modules.TypeText, Required: true,
				Enum: []string{"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "GENEVE"},
				Doc:  "The protocol: HTTP or HTTPS of application, TCP, TLS, UDP or TCP_UDP of network, GENEVE of gateway load balancers."},
			modules.Column{Name: "action_type", Type: modules.TypeText, Required: true, Default: "'forward'",
				Enum: []string{"forward", "redirect", "fixed-response"},
				Doc:  "What is done with requests that no rule is about: the type of the last of the default actions. Default forward."},
			modules.Column{Name: "target_group_id", Type: modules.TypeBigint,
				References: &modules.Reference{Table: "target_group", Key: "target_group_arn"},
				Doc:        "The target group they are forwarded to. NULL where default_actions say something else (in IaSQL it was required)."},
			modules.Column{Name: "default_actions", Type: modules.TypeJSON, Equal: sameActions,
				// A secret has no place in a column that can be read.
				Check: `jsonb_typeof(default_actions) = 'array' AND default_actions -> -1 ->> 'Type' = action_type AND NOT jsonb_path_exists(default_actions, '$[*].AuthenticateOidcConfig.ClientSecret')`,
				Doc: `What else is done, in the words of the API, such as [{"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}]; members that are left out have AWS's defaults. ` +
					`Actions of type authenticate-oidc keep the client secret they have; it cannot be set here.`},
			modules.Column{Name: "ssl_policy", Type: modules.TypeText, Chosen: true,
				Doc: "Which TLS versions and ciphers are spoken, such as ELBSecurityPolicy-TLS13-1-2-2021-06; AWS's default if left out. NULL without TLS."},
			modules.Column{Name: "certificate_id", Type: modules.TypeBigint,
				References: &modules.Reference{Table: "certificate", Key: "arn"},
				Doc:        "The certificate; required for HTTPS and TLS."},
			modules.Column{Name: "alpn_policy", Type: modules.TypeText, Enum: []string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"},
				Doc: "Which versions of HTTP are negotiated, of TLS listeners. NULL: none."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"(target_group_id IS NULL) <> (default_actions IS NULL) AND (target_group_id IS NULL OR action_type = 'forward')",
			fmt.Sprintf("protocol <> 'GENEVE' OR port = %d", genevePort),
		},
		Uniques: [][]string{{"load_balancer_id", "port"}},
		// A port can be listened on once.
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *listener) Table() *modules.Table { return r.description }

func listenerARN(l elbtypes.Listener) *string { return l.ListenerArn }

// each gives the listeners of every load balancer to page, which must be safe
// for concurrent use: they can only be asked for by load balancer.
func each(ctx context.Context, client *elb.Client, page func(context.Context, []elbtypes.Listener) error) error {
	return describeAll(ctx, client, func(balancers []elbtypes.LoadBalancer) error {
		return aws.Each(ctx, aws.Breadth, balancers, func(ctx context.Context, b elbtypes.LoadBalancer) error {
			return aws.IfExists(ofBalancer(ctx, client, b.LoadBalancerArn, func(some []elbtypes.Listener) error { return page(ctx, some) }))
		})
	})
}

func ofBalancer(ctx context.Context, client *elb.Client, arn *string, page func([]elbtypes.Listener) error) error {
	return aws.Pages(ctx, elb.NewDescribeListenersPaginator(client, &elb.DescribeListenersInput{LoadBalancerArn: arn, PageSize: awssdk.Int32(pageSize)}),
		func(out *elb.DescribeListenersOutput) error { return page(out.Listeners) })
}

// List gives every listener of the scope to page.
func (r *listener) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	collect, rows := aws.Collector()
	err = each(ctx, client, func(ctx context.Context, listeners []elbtypes.Listener) error {
		rows, err := tagged(ctx, client, listeners, listenerARN, listenerRow)
		if err != nil {
			return err
		}
		return collect(rows)
	})
	if err != nil {
		return err
	}
	return page(rows())
}

// Get reads the listeners with these ARNs.
func (r *listener) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.InBatches(ctx, mostNames, aws.Column(identities, "listener_arn"), func(ctx context.Context, arns []string) ([]modules.Row, error) {
		out, err := client.DescribeListeners(ctx, &elb.DescribeListenersInput{ListenerArns: arns})
		if err != nil {
			return nil, err
		}
		return tagged(ctx, client, out.Listeners, listenerARN, listenerRow)
	})
}

// FindCreated returns, by token, the listeners that were created with one of the
// tokens.
func (r *listener) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	collect, rows := aws.Collector()
	err = each(ctx, client, func(_ context.Context, listeners []elbtypes.Listener) error {
		var some []modules.Row
		for _, l := range listeners {
			some = append(some, identityOf(l))
		}
		return collect(some)
	})
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, client, "listener_arn", aws.Column(rows(), "listener_arn"), tokens)
	for _, identity := range found {
		for _, row := range rows() {
			if row["listener_arn"] == identity["listener_arn"] {
				identity["load_balancer_id"] = row["load_balancer_id"]
			}
		}
	}
	return found, err
}

func identityOf(l elbtypes.Listener) modules.Row {
	return modules.Row{"load_balancer_id": modules.TextPtr(l.LoadBalancerArn), "listener_arn": modules.TextPtr(l.ListenerArn)}
}

func listenerRow(_ context.Context, l elbtypes.Listener) (modules.Row, error) {
	row := modules.Row{
		"listener_arn":     modules.TextPtr(l.ListenerArn),
		"load_balancer_id": modules.TextPtr(l.LoadBalancerArn),
		"port":             modules.IntPtr(l.Port),
		"protocol":         modules.NonEmpty(l.Protocol),
		"ssl_policy":       modules.NonEmpty(awssdk.ToString(l.SslPolicy)),
		"certificate_id":   modules.Null,
		"alpn_policy":      modules.Null,
	}
	if l.Protocol == "" {
		row["port"], row["protocol"] = modules.Int(genevePort), modules.NonEmpty(elbtypes.ProtocolEnumGeneve)
	}
	if len(l.Certificates) > 0 {
		row["certificate_id"] = modules.NonEmpty(awssdk.ToString(l.Certificates[0].CertificateArn))
	}
	if len(l.AlpnPolicy) > 0 && l.AlpnPolicy[0] != "None" {
		row["alpn_policy"] = modules.NonEmpty(l.AlpnPolicy[0])
	}
	return row, setActions(row, l.DefaultActions)
}

func certificates(want modules.Row) []elbtypes.Certificate {
	if want["certificate_id"].IsNull() {
		return nil
	}
	return []elbtypes.Certificate{{CertificateArn: want["certificate_id"].Ptr()}}
}

// Create creates a listener. One that there is already on the port, which can
// only have been made a moment ago, is taken over.
func (r *listener) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &elb.CreateListenerInput{
		LoadBalancerArn: want["load_balancer_id"].Ptr(),
		Port:            want["port"].Int32Ptr(),
		Protocol:        elbtypes.ProtocolEnum(want["protocol"].String()),
		SslPolicy:       want["ssl_policy"].Ptr(),
		Certificates:    certificates(want),
		Tags:            tagList(want, token),
	}
	if in.Protocol == elbtypes.ProtocolEnumGeneve {
		in.Port, in.Protocol = nil, ""
	}
	if policy := want["alpn_policy"]; !policy.IsNull() {
		in.AlpnPolicy = []string{policy.String()}
	}
	if in.DefaultActions, err = actionsOf(want); err != nil {
		return nil, err
	}
	out, err := client.CreateListener(ctx, in)
	switch {
	case err == nil:
		return identityOf(out.Listeners[0]), nil
	case !aws.HasCode(err, "DuplicateListener"):
		return nil, err
	}
	var there modules.Row
	search := ofBalancer(ctx, client, in.LoadBalancerArn, func(listeners []elbtypes.Listener) error {
		for _, l := range listeners {
			if awssdk.ToInt32(l.Port) == awssdk.ToInt32(in.Port) {
				there = identityOf(l)
			}
		}
		return nil
	})
	if search != nil || there == nil {
		return nil, err
	}
	return there, nil
}

// Update changes everything but tags in one call. With the protocol goes what
// belongs to it, since AWS accepts the one only with the other.
func (r *listener) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(columns, name) })
	}
	in := &elb.ModifyListenerInput{ListenerArn: have["listener_arn"].Ptr()}
	if changed("port") {
		in.Port = want["port"].Int32Ptr()
	}
	if changed("protocol") {
		in.Protocol = elbtypes.ProtocolEnum(want["protocol"].String())
	}
	if changed("action_type", "target_group_id", "default_actions") {
		if in.DefaultActions, err = actionsOf(want); err != nil {
			return err
		}
	}
	if changed("protocol", "ssl_policy") {
		in.SslPolicy = want["ssl_policy"].Ptr()
	}
	if changed("protocol", "certificate_id") {
		in.Certificates = certificates(want)
	}
	if changed("alpn_policy") {
		in.AlpnPolicy = []string{"None"}
		if policy := want["alpn_policy"]; !policy.IsNull() {
			in.AlpnPolicy = []string{policy.String()}
		}
	}
	if slices.ContainsFunc(columns, func(name string) bool { return name != modules.ColumnTags }) {
		if _, err := client.ModifyListener(ctx, in); err != nil {
			return err
		}
	}
	if changed(modules.ColumnTags) {
		return updateTags(ctx, client, have["listener_arn"].String(), have, want)
	}
	return nil
}

// Delete deletes a listener with its rules.
func (r *listener) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: have["listener_arn"].Ptr()})
	return aws.IfExists(err)
}
