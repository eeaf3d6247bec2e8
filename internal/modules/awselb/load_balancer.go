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

// loadBalancer is the table load_balancer.
type loadBalancer struct {
	clients     *aws.Clients
	description *modules.Table
}

func newLoadBalancer(c *aws.Clients) *loadBalancer {
	return &loadBalancer{clients: c, description: describeLoadBalancer()}
}

func describeLoadBalancer() *modules.Table {
	return &modules.Table{
		Name:     "load_balancer",
		Doc:      "Load balancers. Deleting one deletes its listeners.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		// CreateLoadBalancer takes no token; it answers a repeated call with the
		// load balancer there is only if nothing has been changed meanwhile.
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "load_balancer_arn", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			modules.Column{Name: "load_balancer_name", Type: modules.TypeText, Required: true, CreateOnly: true,
				Check: `load_balancer_name ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$' AND load_balancer_name NOT LIKE 'internal-%'`,
				Doc:   "Its name, unique in the account and region: up to 32 letters, digits and hyphens, not at the ends."},
			modules.Column{Name: "load_balancer_type", Type: modules.TypeText, Required: true, CreateOnly: true, Default: "'application'",
				Enum: []string{"application", "network", "gateway"},
				Doc:  "application (HTTP), network (TCP, UDP, TLS) or gateway (appliances). Default application."},
			modules.Column{Name: "scheme", Type: modules.TypeText, CreateOnly: true, Chosen: true, Enum: []string{"internet-facing", "internal"},
				Doc: "Whether it has public addresses; internet-facing if left out. NULL of a gateway load balancer (in IaSQL it was required)."},
			modules.Column{Name: "subnets", Type: modules.TypeTexts, Required: true, Unordered: true,
				Check: "cardinality(subnets) > 0",
				Doc:   "The ids of the subnets it is in, such as subnet-0a1b2c3d, one in each availability zone; an application load balancer needs two. Ids, since AWS creates none without subnets."},
			modules.Column{Name: "ip_address_type", Type: modules.TypeText, Required: true, Default: "'ipv4'",
				Enum: []string{"ipv4", "dualstack", "dualstack-without-public-ipv4"},
				Doc:  "Which addresses clients use. Default ipv4."},
			modules.Column{Name: "has_security_groups", Type: modules.TypeBool, CreateOnly: true, Chosen: true,
				Doc: "Whether it has security groups, those in load_balancer_security_groups. Application load balancers have, gateway load balancers have not; of a network load balancer it has to be said at its creation, and is false if left out."},
			modules.Column{Name: "customer_owned_ipv4_pool", Type: modules.TypeText, CreateOnly: true,
				Doc: "The id of the customer-owned address pool, on Outposts."},
			attributesColumn(`Its attributes by the names they have in the API, a JSON object of strings such as {"idle_timeout.timeout_seconds": "120", "deletion_protection.enabled": "true", "access_logs.s3.enabled": "true", "access_logs.s3.bucket": "logs"}.`),
			modules.Column{Name: "dns_name", Type: modules.TypeText, Assigned: true,
				Doc: "The name by which clients reach it."},
			modules.Column{Name: "canonical_hosted_zone_id", Type: modules.TypeText, Assigned: true,
				Doc: "The hosted zone of dns_name, for alias records."},
			modules.Column{Name: "created_time", Type: modules.TypeTime, Assigned: true, Doc: "When it was created."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "provisioning, active, active_impaired or failed."},
			modules.Column{Name: "availability_zones", Type: modules.TypeTexts, Assigned: true, Unordered: true,
				Doc: "The availability zones of its subnets."},
			modules.Column{Name: "vpc", Type: modules.TypeBigint, Assigned: true, References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc: "The VPC of its subnets."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"NOT (load_balancer_type = 'application' AND has_security_groups IS FALSE OR load_balancer_type = 'gateway' AND has_security_groups)",
		},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "load_balancer_name"}},
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *loadBalancer) Table() *modules.Table { return r.description }

// List gives every load balancer of the scope to page.
func (r *loadBalancer) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return describeAll(ctx, client, func(balancers []elbtypes.LoadBalancer) error {
		rows, err := loadBalancerRows(ctx, client, balancers)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// describeAll gives all load balancers to page.
func describeAll(ctx context.Context, client *elb.Client, page func([]elbtypes.LoadBalancer) error) error {
	return aws.Pages(ctx, elb.NewDescribeLoadBalancersPaginator(client, &elb.DescribeLoadBalancersInput{PageSize: awssdk.Int32(pageSize)}),
		func(out *elb.DescribeLoadBalancersOutput) error { return page(out.LoadBalancers) })
}

// Get reads the load balancers with these ARNs.
func (r *loadBalancer) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.InBatches(ctx, mostNames, aws.Column(identities, "load_balancer_arn"), func(ctx context.Context, arns []string) ([]modules.Row, error) {
		out, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: arns})
		if err != nil {
			return nil, err
		}
		return loadBalancerRows(ctx, client, out.LoadBalancers)
	})
}

// FindCreated returns, by token, the load balancers that were created with one
// of the tokens.
func (r *loadBalancer) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	var arns []string
	err = describeAll(ctx, client, func(balancers []elbtypes.LoadBalancer) error {
		for _, b := range balancers {
			arns = append(arns, awssdk.ToString(b.LoadBalancerArn))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return find(ctx, client, "load_balancer_arn", arns, tokens)
}

func loadBalancerRows(ctx context.Context, client *elb.Client, balancers []elbtypes.LoadBalancer) ([]modules.Row, error) {
	arn := func(b elbtypes.LoadBalancer) *string { return b.LoadBalancerArn }
	return tagged(ctx, client, balancers, arn, func(ctx context.Context, b elbtypes.LoadBalancer) (modules.Row, error) {
		attributes, err := client.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: b.LoadBalancerArn})
		if err != nil {
			return nil, err
		}
		var subnets, zones []string
		for _, zone := range b.AvailabilityZones {
			subnets = append(subnets, awssdk.ToString(zone.SubnetId))
			zones = append(zones, awssdk.ToString(zone.ZoneName))
		}
		row := modules.Row{
			"load_balancer_name":       modules.TextPtr(b.LoadBalancerName),
			"load_balancer_type":       modules.NonEmpty(b.Type),
			"scheme":                   modules.NonEmpty(b.Scheme),
			"subnets":                  modules.Strings(subnets),
			"ip_address_type":          modules.NonEmpty(b.IpAddressType),
			"has_security_groups":      modules.Bool(b.Type == elbtypes.LoadBalancerTypeEnumApplication || len(b.SecurityGroups) > 0),
			"customer_owned_ipv4_pool": modules.NonEmpty(awssdk.ToString(b.CustomerOwnedIpv4Pool)),
			"load_balancer_arn":        modules.TextPtr(b.LoadBalancerArn),
			"dns_name":                 modules.NonEmpty(awssdk.ToString(b.DNSName)),
			"canonical_hosted_zone_id": modules.NonEmpty(awssdk.ToString(b.CanonicalHostedZoneId)),
			"created_time":             modules.TimePtr(b.CreatedTime),
			"state":                    modules.Null,
			"availability_zones":       modules.Strings(zones),
			"vpc":                      modules.NonEmpty(awssdk.ToString(b.VpcId)),
		}
		if b.State != nil {
			row["state"] = modules.NonEmpty(b.State.Code)
		}
		values := map[string]string{}
		for _, a := range attributes.Attributes {
			values[awssdk.ToString(a.Key)] = awssdk.ToString(a.Value)
		}
		row["attributes"] = modules.StringMap(values)
		return row, nil
	})
}

// Create creates a load balancer, or takes over the one of that name. Attributes,
// which CreateLoadBalancer does not take, are left to Update.
func (r *loadBalancer) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &elb.CreateLoadBalancerInput{
		Name:                  want["load_balancer_name"].Ptr(),
		Type:                  elbtypes.LoadBalancerTypeEnum(want["load_balancer_type"].String()),
		Scheme:                elbtypes.LoadBalancerSchemeEnum(want["scheme"].String()),
		Subnets:               want["subnets"].Strings(),
		IpAddressType:         elbtypes.IpAddressType(want["ip_address_type"].String()),
		CustomerOwnedIpv4Pool: want["customer_owned_ipv4_pool"].Ptr(),
		Tags:                  tagList(want, token),
	}
	if in.Type == elbtypes.LoadBalancerTypeEnumNetwork && want["has_security_groups"].Bool() {
		if in.SecurityGroups, err = r.first(ctx, scope, in.Subnets); err != nil {
			return nil, err
		}
	}
	out, err := client.CreateLoadBalancer(ctx, in)
	if err == nil {
		return modules.Row{"load_balancer_arn": modules.TextPtr(out.LoadBalancers[0].LoadBalancerArn)}, nil
	}
	if aws.HasCode(err, "DuplicateLoadBalancerName") {
		there, failure := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{*in.Name}})
		if failure == nil && len(there.LoadBalancers) == 1 && there.LoadBalancers[0].Type == in.Type {
			return modules.Row{"load_balancer_arn": modules.TextPtr(there.LoadBalancers[0].LoadBalancerArn)}, nil
		}
	}
	return nil, err
}

// first returns the security group that a network load balancer begins with: one
// that begins with none can never have any (page SetSecurityGroups). It is the
// one that AWS gives to application load balancers.
func (r *loadBalancer) first(ctx context.Context, scope modules.Scope, subnets []string) ([]string, error) {
	vpc, err := r.clients.VPCOf(ctx, scope, subnets[0])
	if err != nil {
		return nil, err
	}
	group, err := r.clients.DefaultGroup(ctx, scope, vpc)
	return []string{group}, err
}

// Update changes each of what can be changed in a call of its own.
func (r *loadBalancer) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	arn := have["load_balancer_arn"].Ptr()
	if slices.Contains(columns, "ip_address_type") {
		_, err := client.SetIpAddressType(ctx, &elb.SetIpAddressTypeInput{
			LoadBalancerArn: arn, IpAddressType: elbtypes.IpAddressType(want["ip_address_type"].String()),
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "subnets") {
		if _, err := client.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: arn, Subnets: want["subnets"].Strings()}); err != nil {
			return err
		}
	}
	if slices.Contains(columns, "attributes") {
		in := &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: arn}
		keys, values := changes(have["attributes"], want["attributes"])
		for _, key := range keys {
			in.Attributes = append(in.Attributes, elbtypes.LoadBalancerAttribute{Key: &key, Value: awssdk.String(values[key])})
		}
		if _, err := client.ModifyLoadBalancerAttributes(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, *arn, have, want)
	}
	return nil
}

// Delete deletes a load balancer with its listeners. AWS refuses it while
// deletion_protection.enabled is true; that it does not exist is no error there
// either.
func (r *loadBalancer) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: have["load_balancer_arn"].Ptr()})
	return aws.IfExists(err)
}

// Protected keeps load balancers that somebody has protected.
func (r *loadBalancer) Protected(have modules.Row) string {
	if have["attributes"].StringMap()["deletion_protection.enabled"] == "true" {
		return "its attribute deletion_protection.enabled is true"
	}
	return ""
}
