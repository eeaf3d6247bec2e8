package awselb

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// targetGroup is the table target_group.
type targetGroup struct {
	clients     *aws.Clients
	description *modules.Table
}

func newTargetGroup(c *aws.Clients) *targetGroup {
	return &targetGroup{clients: c, description: describeTargetGroup()}
}

// The limits are those of the page CreateTargetGroup of the API Reference.
func describeTargetGroup() *modules.Table {
	protocols := []string{"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "GENEVE"}
	check := func(name string, kind modules.Type, limit, doc string) modules.Column {
		return modules.Column{Name: name, Type: kind, Chosen: true, Check: limit, Doc: doc + " AWS's default if left out."}
	}
	return &modules.Table{
		Name:     "target_group",
		Doc:      "Target groups: where load balancers send what they receive. One that a listener uses can be neither deleted nor replaced: make another of another name, and move the listener to it.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag, // as load balancers
		Columns: aws.Regional(
			modules.Column{Name: "target_group_arn", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			modules.Column{Name: "target_group_name", Type: modules.TypeText, Required: true, CreateOnly: true,
				Check: `target_group_name ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$'`,
				Doc:   "Its name, unique in the account and region: up to 32 letters, digits and hyphens, not at the ends."},
			modules.Column{Name: "target_type", Type: modules.TypeText, Required: true, CreateOnly: true, Default: "'instance'",
				Enum: []string{"instance", "ip", "lambda", "alb"},
				Doc:  "What its targets are: instance, ip (addresses), lambda (one function) or alb (one application load balancer). Default instance."},
			modules.Column{Name: "protocol", Type: modules.TypeText, CreateOnly: true, Enum: protocols,
				Doc: "The protocol that targets understand. NULL for lambda."},
			modules.Column{Name: "port", Type: modules.TypeInteger, CreateOnly: true, Check: "port BETWEEN 1 AND 65535",
				Doc: "The port of targets that are registered without one. NULL for lambda."},
			modules.Column{Name: "vpc", Type: modules.TypeBigint, CreateOnly: true, References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc: "The VPC that targets are in. NULL for lambda."},
			modules.Column{Name: "protocol_version", Type: modules.TypeText, CreateOnly: true, Chosen: true, Enum: []string{"HTTP1", "HTTP2", "GRPC"},
				Doc: "The version of HTTP; HTTP1 if left out. NULL for other protocols."},
			modules.Column{Name: "ip_address_type", Type: modules.TypeText, CreateOnly: true, Chosen: true, Enum: []string{"ipv4", "ipv6"},
				Doc: "Which addresses of targets are used; ipv4 if left out."},
			check("health_check_enabled", modules.TypeBool, "", "Whether targets are checked; always true but for lambda."),
			modules.Column{Name: "health_check_protocol", Type: modules.TypeText, Chosen: true, Enum: protocols,
				Doc: "The protocol of health checks: HTTP, HTTPS or TCP. AWS's default if left out."},
			check("health_check_port", modules.TypeText, `health_check_port ~ '^(traffic-port|[0-9]{1,5})$'`,
				"The port of health checks; traffic-port is the port that the target receives traffic on."),
			check("health_check_path", modules.TypeText, `length(health_check_path) BETWEEN 1 AND 1024`,
				"The path, or method of gRPC, that health checks ask for, such as /health."),
			check("health_check_interval_seconds", modules.TypeInteger, "health_check_interval_seconds BETWEEN 5 AND 300",
				"How many seconds lie between two checks of a target, from 5 to 300."),
			check("health_check_timeout_seconds", modules.TypeInteger, "health_check_timeout_seconds BETWEEN 2 AND 120",
				"After how many seconds without an answer a check has failed, from 2 to 120."),
			check("healthy_threshold_count", modules.TypeInteger, "healthy_threshold_count BETWEEN 2 AND 10",
				"After how many checks in a row that succeed a target is healthy, from 2 to 10."),
			check("unhealthy_threshold_count", modules.TypeInteger, "unhealthy_threshold_count BETWEEN 2 AND 10",
				"After how many checks in a row that fail a target is unhealthy, from 2 to 10."),
			check("matcher", modules.TypeText, "length(matcher) BETWEEN 1 AND 64",
				"The HTTP or gRPC codes that are healthy answers, such as 200-299 or 0-99. NULL where checks are by TCP."),
			attributesColumn(`Its attributes by the names they have in the API, a JSON object of strings such as {"deregistration_delay.timeout_seconds": "30", "stickiness.enabled": "true"}.`),
			aws.TagsColumn(),
		),
		Checks:              []string{"target_type = 'lambda' AND num_nonnulls(protocol, port, vpc) = 0 OR target_type <> 'lambda' AND num_nulls(protocol, port, vpc) = 0"},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "target_group_name"}},
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *targetGroup) Table() *modules.Table { return r.description }

// List gives every target group of the scope to page.
func (r *targetGroup) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return describeGroups(ctx, client, func(groups []elbtypes.TargetGroup) error {
		rows, err := targetGroupRows(ctx, client, groups)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// describeGroups gives all target groups to page.
func describeGroups(ctx context.Context, client *elb.Client, page func([]elbtypes.TargetGroup) error) error {
	return aws.Pages(ctx, elb.NewDescribeTargetGroupsPaginator(client, &elb.DescribeTargetGroupsInput{PageSize: awssdk.Int32(pageSize)}),
		func(out *elb.DescribeTargetGroupsOutput) error { return page(out.TargetGroups) })
}

// Get reads the target groups with these ARNs.
func (r *targetGroup) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.InBatches(ctx, mostNames, aws.Column(identities, "target_group_arn"), func(ctx context.Context, arns []string) ([]modules.Row, error) {
		out, err := client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: arns})
		if err != nil {
			return nil, err
		}
		return targetGroupRows(ctx, client, out.TargetGroups)
	})
}

// FindCreated returns, by token, the target groups that were created with one of
// the tokens.
func (r *targetGroup) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	var arns []string
	err = describeGroups(ctx, client, func(groups []elbtypes.TargetGroup) error {
		for _, g := range groups {
			arns = append(arns, awssdk.ToString(g.TargetGroupArn))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return find(ctx, client, "target_group_arn", arns, tokens)
}

func targetGroupRows(ctx context.Context, client *elb.Client, groups []elbtypes.TargetGroup) ([]modules.Row, error) {
	arn := func(g elbtypes.TargetGroup) *string { return g.TargetGroupArn }
	return tagged(ctx, client, groups, arn, func(ctx context.Context, g elbtypes.TargetGroup) (modules.Row, error) {
		attributes, err := client.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
		if err != nil {
			return nil, err
		}
		values := map[string]string{}
		for _, a := range attributes.Attributes {
			values[awssdk.ToString(a.Key)] = awssdk.ToString(a.Value)
		}
		row := modules.Row{
			"target_group_name":             modules.TextPtr(g.TargetGroupName),
			"target_type":                   modules.NonEmpty(g.TargetType),
			"protocol":                      modules.NonEmpty(g.Protocol),
			"port":                          modules.IntPtr(g.Port),
			"vpc":                           modules.NonEmpty(awssdk.ToString(g.VpcId)),
			"protocol_version":              modules.NonEmpty(awssdk.ToString(g.ProtocolVersion)),
			"ip_address_type":               modules.NonEmpty(g.IpAddressType),
			"health_check_enabled":          modules.BoolPtr(g.HealthCheckEnabled),
			"health_check_protocol":         modules.NonEmpty(g.HealthCheckProtocol),
			"health_check_port":             modules.NonEmpty(awssdk.ToString(g.HealthCheckPort)),
			"health_check_path":             modules.NonEmpty(awssdk.ToString(g.HealthCheckPath)),
			"health_check_interval_seconds": modules.IntPtr(g.HealthCheckIntervalSeconds),
			"health_check_timeout_seconds":  modules.IntPtr(g.HealthCheckTimeoutSeconds),
			"healthy_threshold_count":       modules.IntPtr(g.HealthyThresholdCount),
			"unhealthy_threshold_count":     modules.IntPtr(g.UnhealthyThresholdCount),
			"matcher":                       modules.Null,
			"attributes":                    modules.StringMap(values),
			"target_group_arn":              modules.TextPtr(g.TargetGroupArn),
		}
		if m := g.Matcher; m != nil {
			row["matcher"] = modules.NonEmpty(awssdk.ToString(m.HttpCode) + awssdk.ToString(m.GrpcCode)) // one of them is set
		}
		return row, nil
	})
}

// matcher returns what answers are healthy, which gRPC has codes of its own for.
func matcher(want modules.Row, version modules.Value) *elbtypes.Matcher {
	switch {
	case want["matcher"].IsNull():
		return nil
	case version.String() == "GRPC":
		return &elbtypes.Matcher{GrpcCode: want["matcher"].Ptr()}
	}
	return &elbtypes.Matcher{HttpCode: want["matcher"].Ptr()}
}

func boolPtr(v modules.Value) *bool {
	if v.IsNull() {
		return nil
	}
	return awssdk.Bool(v.Bool())
}

// Create creates a target group, or takes over the one of that name. Attributes,
// which CreateTargetGroup does not take, are left to Update.
func (r *targetGroup) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &elb.CreateTargetGroupInput{
		Name:                       want["target_group_name"].Ptr(),
		TargetType:                 elbtypes.TargetTypeEnum(want["target_type"].String()),
		Protocol:                   elbtypes.ProtocolEnum(want["protocol"].String()),
		Port:                       want["port"].Int32Ptr(),
		VpcId:                      want["vpc"].Ptr(),
		ProtocolVersion:            want["protocol_version"].Ptr(),
		IpAddressType:              elbtypes.TargetGroupIpAddressTypeEnum(want["ip_address_type"].String()),
		HealthCheckEnabled:         boolPtr(want["health_check_enabled"]),
		HealthCheckProtocol:        elbtypes.ProtocolEnum(want["health_check_protocol"].String()),
		HealthCheckPort:            want["health_check_port"].Ptr(),
		HealthCheckPath:            want["health_check_path"].Ptr(),
		HealthCheckIntervalSeconds: want["health_check_interval_seconds"].Int32Ptr(),
		HealthCheckTimeoutSeconds:  want["health_check_timeout_seconds"].Int32Ptr(),
		HealthyThresholdCount:      want["healthy_threshold_count"].Int32Ptr(),
		UnhealthyThresholdCount:    want["unhealthy_threshold_count"].Int32Ptr(),
		Matcher:                    matcher(want, want["protocol_version"]),
		Tags:                       tagList(want, token),
	}
	out, err := client.CreateTargetGroup(ctx, in)
	if err == nil {
		return modules.Row{"target_group_arn": modules.TextPtr(out.TargetGroups[0].TargetGroupArn)}, nil
	}
	if aws.HasCode(err, "DuplicateTargetGroupName") {
		there, failure := client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{*in.Name}})
		if failure == nil && len(there.TargetGroups) == 1 {
			return modules.Row{"target_group_arn": modules.TextPtr(there.TargetGroups[0].TargetGroupArn)}, nil
		}
	}
	return nil, err
}

// Update changes the health check in one call, then attributes and tags.
func (r *targetGroup) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	arn := have["target_group_arn"].Ptr()
	in := &elb.ModifyTargetGroupInput{TargetGroupArn: arn}
	for _, column := range columns {
		v := want[column]
		switch column {
		case "health_check_enabled":
			in.HealthCheckEnabled = boolPtr(v)
		case "health_check_protocol":
			in.HealthCheckProtocol = elbtypes.ProtocolEnum(v.String())
		case "health_check_port":
			in.HealthCheckPort = v.Ptr()
		case "health_check_path":
			in.HealthCheckPath = v.Ptr()
		case "health_check_interval_seconds":
			in.HealthCheckIntervalSeconds = v.Int32Ptr()
		case "health_check_timeout_seconds":
			in.HealthCheckTimeoutSeconds = v.Int32Ptr()
		case "healthy_threshold_count":
			in.HealthyThresholdCount = v.Int32Ptr()
		case "unhealthy_threshold_count":
			in.UnhealthyThresholdCount = v.Int32Ptr()
		case "matcher":
			in.Matcher = matcher(want, have["protocol_version"])
		}
	}
	if slices.ContainsFunc(columns, func(name string) bool { return name != "attributes" && name != modules.ColumnTags }) {
		if _, err := client.ModifyTargetGroup(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, "attributes") {
		in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: arn}
		keys, values := changes(have["attributes"], want["attributes"])
		for _, key := range keys {
			in.Attributes = append(in.Attributes, elbtypes.TargetGroupAttribute{Key: &key, Value: awssdk.String(values[key])})
		}
		if _, err := client.ModifyTargetGroupAttributes(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, *arn, have, want)
	}
	return nil
}

// Delete deletes a target group, which takes its targets out of it.
func (r *targetGroup) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: have["target_group_arn"].Ptr()})
	return aws.IfExists(err)
}
