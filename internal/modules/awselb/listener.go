package awselb

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// genevePort is where gateway load balancers listen, which the API neither takes
// nor tells ("Listeners for your Gateway Load Balancers", User Guide).
const genevePort = 6081

// newListener declares the table listener.
func newListener(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[elbtypes.Listener]{
		Name:    "listener",
		Doc:     "Listeners: the ports that load balancers listen on, and what they do with what comes in.",
		Service: declare.Service(elb.NewFromConfig),
		// CreateListener takes no token; it answers a repeated call with the
		// listener there is only if nothing has been changed meanwhile.
		Creation: modules.ByTag,
		Columns: []declare.Column{
			arn("listener_arn", "ListenerArn"),
			declare.Ref("load_balancer_id", "LoadBalancerArn", "load_balancer", "load_balancer_arn",
				"The load balancer it is of.").
				Required().Identity().CreateOnly().Part(modules.PartAlong, ""),
			declare.Integer("port", "Port", "The port. 6081 of gateway load balancers.").Required().Between(1, 65535),
			declare.Text("protocol", "Protocol",
				"The protocol: HTTP or HTTPS of application, TCP, TLS, UDP, TCP_UDP, QUIC or TCP_QUIC of network, "+
					"GENEVE of gateway load balancers.").
				Required().OneOf("HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "GENEVE", "QUIC", "TCP_QUIC"),
			declare.Text("action_type", "",
				"What is done with requests that no rule is about: the type of the last of the default actions. "+
					"Default forward.").
				Default("'forward'").OneOf("forward", "redirect", "fixed-response"),
			declare.Ref("target_group_id", "", "target_group", "target_group_arn",
				"The target group they are forwarded to. NULL where default_actions say something else (in IaSQL it "+
					"was required)."),
			declare.JSON("default_actions", "",
				`What else is done, in the words of the API, such as [{"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}]; members that are left out have AWS's defaults. `+
					`Actions of type authenticate-oidc keep the client secret they have; it cannot be set here.`).Same(
				sameActions).
				// A secret has no place in a column that can be read.
				Check(`jsonb_typeof(default_actions) = 'array' AND default_actions -> -1 ->> 'Type' = action_type AND NOT jsonb_path_exists(default_actions, '$[*].AuthenticateOidcConfig.ClientSecret')`),
			declare.Text("ssl_policy", "SslPolicy",
				"Which TLS versions and ciphers are spoken, such as ELBSecurityPolicy-TLS13-1-2-2021-06; AWS's "+
					"default if left out. NULL without TLS.").OptionalComputed(),
			declare.Ref("certificate_id", "Certificates[0].CertificateArn", "certificate", "arn",
				"The certificate; required for HTTPS and TLS."),
			declare.Text("alpn_policy", "AlpnPolicy[0]",
				"Which versions of HTTP are negotiated, of TLS listeners. NULL: none.").
				OneOf("HTTP1Only", "HTTP2Only", "HTTP2Optional",
					"HTTP2Preferred").As(unlessNone).Unset(modules.Text(none)),
			attributes(declare.Call((*elb.Client).DescribeListenerAttributes, declare.IfAllowed(), declare.Rarely()),
				`Its attributes by the names they have in the API, a JSON object of strings such as {"routing.http.response.server.enabled": "false"} of HTTP, {"tcp.idle_timeout.seconds": "600"} of TCP listeners.`).
				Since(4),
			tagged("listener_arn"),
		},
		Published: declare.Published{Type: "AWS::ElasticLoadBalancingV2::Listener", Since: 4,
			Filled: map[string][]string{"MutualAuthentication": {"AdvertiseTrustStoreCaNames",
				"IgnoreClientCertificateExpiry",
				"TrustStoreAssociationStatus"}},
			Columns: map[string]string{"ListenerAttributes": "attributes"},
			Docs:    map[string]string{"MutualAuthentication": `Whether clients show certificates, of HTTPS listeners: {"Mode": "verify", "TrustStoreArn": "arn:…"}, {"Mode": "passthrough"} or {"Mode": "off"}.`},
		},
		Checks: []string{
			"(target_group_id IS NULL) <> (default_actions IS NULL) AND (target_group_id IS NULL OR action_type = " +
				"'forward')",
			fmt.Sprintf("protocol <> 'GENEVE' OR port = %d", genevePort),
		},
		Uniques: [][]string{{"load_balancer_id", "port"}},
		// A port can be listened on once.
		DestroyBeforeCreate: true,

		// They can only be listed by load balancer.
		Kind: "listener/",
		EventMappings: modules.EventMappings("elasticloadbalancing.amazonaws.com",
			modules.Request("listenerArn", "ModifyListenerAttributes", "AddListenerCertificates",
				"RemoveListenerCertificates"),
		),
		List: declare.Pages(elb.NewDescribeListenersPaginator, "Listeners", declare.PageSize(pageSize)).
			Within(loadBalancers(), "LoadBalancerArn", "LoadBalancerArn"),
		Get: declare.Batch(declare.Call((*elb.Client).DescribeListeners), "ListenerArns", "listener_arn", mostNames,
			"Listeners"),
		Row: func(_ context.Context, _ *declare.Step, l *elbtypes.Listener, row modules.Row) error {
			if l.Protocol == "" {
				row["port"], row["protocol"] = modules.Int(genevePort), modules.NonEmpty(elbtypes.ProtocolEnumGeneve)
			}
			return setActions(row, l.DefaultActions)
		},
		Create: declare.Call((*elb.Client).CreateListener, declare.Answer("Listeners[0]"), declare.Failed(uncertified),
			declare.Edit(func(_ context.Context, s *declare.Step, in *elb.CreateListenerInput) (err error) {
				if in.Protocol == elbtypes.ProtocolEnumGeneve {
					in.Port, in.Protocol = nil, ""
				}
				in.DefaultActions, err = actionsOf(s.Want)
				return err
			})),
		CreateBy: createListener,
		Updates: []declare.Update{
			declare.Modify(declare.Call((*elb.Client).ModifyListener, declare.Edit(modifyListener),
				declare.Failed(uncertified)),
				"port", "protocol", "action_type", "target_group_id", "default_actions", "ssl_policy", "certificate_id",
				"alpn_policy", "mutual_authentication"),
			declare.Modify(declare.Call((*elb.Client).ModifyListenerAttributes,
				declare.Fill(func(s *declare.Step, in *elb.ModifyListenerAttributesInput) {
					keys, values := changes(s.Have["attributes"], s.Want["attributes"])
					for _, key := range keys {
						in.Attributes = append(in.Attributes,
							elbtypes.ListenerAttribute{Key: &key, Value: awssdk.String(values[key])})
					}
				})), "attributes"),
		},
		Delete: declare.Call((*elb.Client).DeleteListener), // with its rules
	})
}

// uncertified waits for a certificate that AWS has yet to issue.
var uncertified = declare.Unissued("UnsupportedCertificate", "certificate_id", "")

const none = "None"

// unlessNone reads the policy None as none.
var unlessNone = declare.UnlessIs(none)

// modifyListener sends with the protocol what belongs to it, since AWS accepts the
// one only with the other.
func modifyListener(_ context.Context, s *declare.Step, in *elb.ModifyListenerInput) (err error) {
	if s.Changes("protocol") {
		in.SslPolicy = s.Want["ssl_policy"].Ptr()
		if id := s.Want["certificate_id"]; !id.IsNull() {
			in.Certificates = []elbtypes.Certificate{{CertificateArn: id.Ptr()}}
		}
	}
	if s.Changes("action_type", "target_group_id", "default_actions") {
		in.DefaultActions, err = actionsOf(s.Want)
	}
	return err
}

// createListener creates a listener. One that there is already on the port, which
// can only have been made a moment ago, is taken over.
func createListener(ctx context.Context, s *declare.Step) (modules.Row, error) {
	row, err := s.Create(ctx)
	if !aws.HasCode(err, "DuplicateListener") {
		return row, err
	}
	balancer, port := s.Want["load_balancer_id"], s.Want["port"].Int32Ptr()
	if s.Want["protocol"].String() == string(elbtypes.ProtocolEnumGeneve) {
		port = nil
	}
	search := aws.Pages(ctx, elb.NewDescribeListenersPaginator(declare.ClientOf[*elb.Client](s),
		&elb.DescribeListenersInput{LoadBalancerArn: balancer.Ptr(), PageSize: awssdk.Int32(pageSize)}),
		func(out *elb.DescribeListenersOutput) error {
			for _, l := range out.Listeners {
				if awssdk.ToInt32(l.Port) == awssdk.ToInt32(port) {
					row = modules.Row{"load_balancer_id": balancer, "listener_arn": modules.TextPtr(l.ListenerArn)}
				}
			}
			return nil
		})
	if search != nil || row == nil {
		return nil, err
	}
	return row, nil
}
