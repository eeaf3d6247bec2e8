package awselb

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newTargetGroup declares the table target_group. The limits are those of the
// page CreateTargetGroup of the API Reference.
func newTargetGroup(c *aws.Clients) *declare.Resource {
	protocols := []string{"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "GENEVE", "QUIC", "TCP_QUIC"}
	check := func(kind modules.Type, name, member, doc string) declare.Column {
		return declare.Of(kind, name, member, doc+" AWS's default if left out.").OptionalComputed()
	}
	return declare.New(c, declare.Table[elbtypes.TargetGroup]{
		Name: "target_group",
		Doc: "Target groups: where load balancers send what they receive. One that a listener uses can be " +
			"neither deleted nor replaced: make another of another name, and move the listener to it.",
		Service:  declare.Service(elb.NewFromConfig),
		Creation: modules.ByTag, // as load balancers
		Columns: []declare.Column{
			arn("target_group_arn", "TargetGroupArn"),
			declare.Text("target_group_name", "TargetGroupName",
				"Its name, unique in the account and region: up to 32 letters, digits and hyphens, not at the ends.").
				In("Name").
				Required().CreateOnly().Check(`target_group_name ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$'`),
			declare.Text("target_type", "TargetType",
				"What its targets are: instance, ip (addresses), lambda (one function) or alb (one application load "+
					"balancer). Default instance.").
				Default("'instance'").CreateOnly().OneOf("instance", "ip", "lambda", "alb"),
			declare.Text("protocol", "Protocol",
				"The protocol that targets understand. NULL for lambda.").CreateOnly().OneOf(protocols...),
			declare.Integer("port", "Port",
				"The port of targets that are registered without one. NULL for lambda.").CreateOnly().Between(1, 65535),
			declare.Ref("vpc", "VpcId", "vpc", "vpc_id", "The VPC that targets are in. NULL for lambda.").CreateOnly(),
			declare.Text("protocol_version", "ProtocolVersion",
				"The version of HTTP; HTTP1 if left out. NULL for other protocols.").CreateOnly().OptionalComputed().
				OneOf("HTTP1", "HTTP2", "GRPC"),
			declare.Text("ip_address_type", "IpAddressType",
				"Which addresses of targets are used; ipv4 if left out.").CreateOnly().OptionalComputed().OneOf("ipv4",
				"ipv6"),
			check(modules.TypeBool, "health_check_enabled", "HealthCheckEnabled",
				"Whether targets are checked; always true but for lambda."),
			check(modules.TypeText, "health_check_protocol", "HealthCheckProtocol",
				"The protocol of health checks: HTTP, HTTPS or TCP.").OneOf(protocols...),
			check(modules.TypeText, "health_check_port", "HealthCheckPort",
				"The port of health checks; traffic-port is the port that the target receives traffic on.").Matches(
				"^(traffic-port|[0-9]{1,5})$"),
			check(modules.TypeText, "health_check_path", "HealthCheckPath",
				"The path, or method of gRPC, that health checks ask for, such as /health.").Length(1, 1024),
			check(modules.TypeInteger, "health_check_interval_seconds", "HealthCheckIntervalSeconds",
				"How many seconds lie between two checks of a target, from 5 to 300.").Between(5, 300),
			check(modules.TypeInteger, "health_check_timeout_seconds", "HealthCheckTimeoutSeconds",
				"After how many seconds without an answer a check has failed, from 2 to 120.").Between(2, 120),
			check(modules.TypeInteger, "healthy_threshold_count", "HealthyThresholdCount",
				"After how many checks in a row that succeed a target is healthy, from 2 to 10.").Between(2, 10),
			check(modules.TypeInteger, "unhealthy_threshold_count", "UnhealthyThresholdCount",
				"After how many checks in a row that fail a target is unhealthy, from 2 to 10.").Between(2, 10),
			check(modules.TypeText, "matcher", "Matcher.HttpCode",
				"The HTTP or gRPC codes that are healthy answers, such as 200-299 or 0-99. NULL where checks are "+
					"by TCP.").First("Matcher.GrpcCode").Check("matcher <> ''"),
			attributes(declare.Call((*elb.Client).DescribeTargetGroupAttributes),
				`Its attributes by the names they have in the API, a JSON object of strings such as {"deregistration_delay.timeout_seconds": "30", "stickiness.enabled": "true"}.`),
			tagged("target_group_arn"),
		},
		Published: declare.Published{Type: "AWS::ElasticLoadBalancingV2::TargetGroup", Since: 4,
			Columns: map[string]string{"TargetGroupAttributes": "attributes", "Targets": "registered_instance"},
			Fixed:   []string{"TargetControlPort"},
			Docs: map[string]string{"TargetControlPort": "The port by which a target says how many requests it " +
				"can take."},
		},
		Checks: []string{"target_type = 'lambda' AND num_nonnulls(protocol, port, vpc) = 0 OR " +
			"target_type <> 'lambda' AND num_nulls(protocol, port, vpc) = 0"},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "target_group_name"}},
		DestroyBeforeCreate: true,

		Kind: "targetgroup/",
		List: declare.Pages(elb.NewDescribeTargetGroupsPaginator, "TargetGroups", declare.PageSize(pageSize)),
		Get:  declare.Named("TargetGroupArns", mostNames),
		Create: declare.Call((*elb.Client).CreateTargetGroup, declare.Answer("TargetGroups[0]"),
			declare.Fill(func(s *declare.Step, in *elb.CreateTargetGroupInput) {
				in.Matcher = matcher(in.Matcher, s.Want["protocol_version"])
			})),
		CreateBy: createTargetGroup,
		Updates: []declare.Update{
			declare.Modify(declare.Call((*elb.Client).ModifyTargetGroup,
				declare.Fill(func(s *declare.Step, in *elb.ModifyTargetGroupInput) {
					in.Matcher = matcher(in.Matcher, s.Have["protocol_version"])
				}))),
			declare.Modify(declare.Call((*elb.Client).ModifyTargetGroupAttributes,
				declare.Fill(func(s *declare.Step, in *elb.ModifyTargetGroupAttributesInput) {
					keys, values := changes(s.Have["attributes"], s.Want["attributes"])
					for _, key := range keys {
						in.Attributes = append(in.Attributes,
							elbtypes.TargetGroupAttribute{Key: &key, Value: awssdk.String(values[key])})
					}
				})), "attributes"),
		},
		Delete: declare.Call((*elb.Client).DeleteTargetGroup), // which takes its targets out of it
	})
}

// matcher returns what answers are healthy, which gRPC has codes of its own for.
func matcher(m *elbtypes.Matcher, version modules.Value) *elbtypes.Matcher {
	if m == nil || version.String() != "GRPC" {
		return m
	}
	return &elbtypes.Matcher{GrpcCode: m.HttpCode}
}

// createTargetGroup creates a target group, or takes over the one of that name.
// Attributes, which CreateTargetGroup does not take, are left to the update.
func createTargetGroup(ctx context.Context, s *declare.Step) (modules.Row, error) {
	row, err := s.Create(ctx)
	if aws.HasCode(err, "DuplicateTargetGroupName") {
		there, failure := declare.ClientOf[*elb.Client](s).DescribeTargetGroups(ctx,
			&elb.DescribeTargetGroupsInput{Names: []string{s.Want["target_group_name"].String()}})
		if failure == nil && len(there.TargetGroups) == 1 {
			return modules.Row{"target_group_arn": modules.TextPtr(there.TargetGroups[0].TargetGroupArn)}, nil
		}
	}
	return row, err
}
