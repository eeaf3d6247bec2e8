package awselb

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// loadBalancer is the table load_balancer.
type loadBalancer struct{ *declare.Resource }

// Protected keeps load balancers that somebody has protected. Users who delete
// one all the same are refused by AWS; that it does not exist is no error there.
func (loadBalancer) Protected(have modules.Row) string {
	if have["attributes"].StringMap()["deletion_protection.enabled"] == "true" {
		return "its attribute deletion_protection.enabled is true"
	}
	return ""
}

// newLoadBalancer declares the table load_balancer.
func newLoadBalancer(c *aws.Clients) loadBalancer {
	return loadBalancer{declare.New(c, declare.Table[elbtypes.LoadBalancer]{
		Name:    "load_balancer",
		Doc:     "Load balancers. Deleting one deletes its listeners.",
		Service: declare.Service(elb.NewFromConfig),
		// CreateLoadBalancer takes no token; it answers a repeated call with the
		// load balancer there is only if nothing has been changed meanwhile.
		Creation: modules.ByTag,
		Columns: slices.Concat([]declare.Column{
			arn("load_balancer_arn", "LoadBalancerArn"),
			declare.Text("load_balancer_name", "LoadBalancerName",
				"Its name, unique in the account and region: up to 32 letters, digits and hyphens, not at the ends.").
				In("Name").
				Required().CreateOnly().Check(
				`load_balancer_name ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$' AND load_balancer_name NOT LIKE 'internal-%'`),
			declare.Text("load_balancer_type", "Type",
				"application (HTTP), network (TCP, UDP, TLS) or gateway (appliances). Default application.").
				Default("'application'").CreateOnly().OneOf("application", "network", "gateway"),
			declare.Text("scheme", "Scheme",
				"Whether it has public addresses; internet-facing if left out. NULL of a gateway load balancer (in "+
					"IaSQL it was required).").
				CreateOnly().OptionalComputed().OneOf("internet-facing", "internal"),
			declare.Texts("subnets", "AvailabilityZones[].SubnetId",
				"The ids of the subnets it is in, such as subnet-0a1b2c3d, one in each availability zone; an "+
					"application load balancer needs two. Ids, since AWS creates none without subnets.").
				In("Subnets").Required().Unordered().Check("cardinality(subnets) > 0").
				Records("subnet", "subnet_id", 5),
		}, addressColumns(), []declare.Column{
			declare.Text("ip_address_type", "IpAddressType",
				"Which addresses clients use. Default ipv4.").Default("'ipv4'").OneOf("ipv4", "dualstack",
				"dualstack-without-public-ipv4"),
			declare.Bool("has_security_groups", "",
				"Whether it has security groups, those in load_balancer_security_groups. Application load balancers "+
					"have, gateway load balancers have not; of a network load balancer it has to be said at its "+
					"creation, and is false if left out.").
				CreateOnly().OptionalComputed(),
			declare.Text("customer_owned_ipv4_pool", "CustomerOwnedIpv4Pool",
				"The id of the customer-owned address pool, on Outposts.").CreateOnly(),
			attributes(declare.Call((*elb.Client).DescribeLoadBalancerAttributes),
				`Its attributes by the names they have in the API, a JSON object of strings such as {"idle_timeout.timeout_seconds": "120", "deletion_protection.enabled": "true", "access_logs.s3.enabled": "true", "access_logs.s3.bucket": "logs"}.`),
			declare.Text("enforce_security_group_inbound_rules_on_private_link_traffic",
				"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic",
				"Whether the security groups of a network load "+
					"balancer are asked about traffic that comes by PrivateLink, too: on, if left out, or off.").
				OptionalComputed().OneOf("off", "on").Since(4),
			declare.Text("ipv4_ipam_pool_id", "IpamPools.Ipv4IpamPoolId",
				"The IPAM pool that the public addresses of an application load balancer are of first. NULL: none.").
				Since(4),
			declare.Integer("minimum_load_balancer_capacity", "MinimumLoadBalancerCapacity.CapacityUnits",
				"How many capacity units AWS keeps ready, which costs. NULL: none.").
				Born(modules.Null).
				// a gateway load balancer has none
				From(declare.Call((*elb.Client).DescribeCapacityReservation, declare.IfAllowed(), declare.Rarely(),
					declare.None("OperationNotPermitted", "ValidationError"))).Since(4),
			declare.Text("dns_name", "DNSName", "The name by which clients reach it.").Computed(),
			declare.Text("canonical_hosted_zone_id", "CanonicalHostedZoneId",
				"The hosted zone of dns_name, for alias records.").Computed(),
			declare.Time("created_time", "CreatedTime", "When it was created.").Incarnation(),
			declare.Text("state", "State.Code", "provisioning, active, active_impaired or failed.").Computed(),
			declare.Text("state_reason", "State.Reason",
				"Why it is in that state, if AWS says so.").Computed().Since(3),
			declare.Texts("availability_zones", "AvailabilityZones[].ZoneName",
				"The availability zones of its subnets.").Computed().Unordered(),
			declare.Ref("vpc", "VpcId", "vpc", "vpc_id", "The VPC of its subnets.").Computed(),
			declare.Texts("dns_names", "",
				"Names of which an alias record is put into the account's hosted zones, as a row of "+
					"resource_record_set "+
					"(module aws_route53), when AWS tells dns_name: {www.example.com}. The rows stay when the load "+
					"balancer goes. AWS does not know of it.").Unordered().EmptyIsNull().Local().Since(7),
			tagged("load_balancer_arn"),
		}),
		Published: declare.Published{Type: "AWS::ElasticLoadBalancingV2::LoadBalancer", Since: 4,
			Columns: map[string]string{"LoadBalancerAttributes": "attributes",
				"SecurityGroups": "load_balancer_security_groups",
				"Type":           "load_balancer_type", "SubnetMappings": "subnets"},
			Docs: map[string]string{
				"EnablePrefixForIpv6SourceNat": "Whether a network load balancer with UDP and dualstack has " +
					"addresses for source NAT: on or off.",
			},
			Without: map[string]string{"EnableCapacityReservationProvisionStabilize": declare.Deed +
				": CloudFormation waits until the capacity is ready"},
		},
		Checks: []string{
			"NOT (load_balancer_type = 'application' AND has_security_groups IS FALSE OR load_balancer_type = " +
				"'gateway' AND has_security_groups)",
		},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "load_balancer_name"}},
		DestroyBeforeCreate: true,

		Kind: "loadbalancer/",
		EventMappings: modules.EventMappings("elasticloadbalancing.amazonaws.com",
			modules.Request("loadBalancerArn", "SetSecurityGroups", "ModifyIpPools", "ModifyCapacityReservation"),
		),
		List: loadBalancers(),
		Get:  declare.Named("LoadBalancerArns", mostNames),
		Row: func(_ context.Context, _ *declare.Step, b *elbtypes.LoadBalancer, row modules.Row) error {
			row["has_security_groups"] = modules.Bool(b.Type == elbtypes.LoadBalancerTypeEnumApplication ||
				len(b.SecurityGroups) > 0)
			readAddresses(b, row)
			return nil
		},
		Create: declare.Call((*elb.Client).CreateLoadBalancer, declare.Answer("LoadBalancers[0]"),
			declare.Edit(func(ctx context.Context, s *declare.Step, in *elb.CreateLoadBalancerInput) error {
				if err := firstGroup(ctx, s, in); err != nil {
					return err
				}
				return withAddresses(ctx, s, in)
			})),
		CreateBy: createLoadBalancer,
		Updates: []declare.Update{
			declare.Modify(declare.Call((*elb.Client).SetIpAddressType), "ip_address_type"),
			declare.Modify(declare.Call((*elb.Client).SetSubnets,
				declare.Edit(keepAddresses)), "subnets", allocations, privates,
				"enable_prefix_for_ipv6_source_nat"),
			declare.By(setPool, "ipv4_ipam_pool_id"),
			declare.Modify(declare.Call((*elb.Client).ModifyCapacityReservation,
				declare.Fill(func(s *declare.Step, in *elb.ModifyCapacityReservationInput) {
					if s.Want["minimum_load_balancer_capacity"].IsNull() {
						in.MinimumLoadBalancerCapacity, in.ResetCapacityReservation = nil, awssdk.Bool(true)
					}
				})), "minimum_load_balancer_capacity"),
			declare.By(enforce, "enforce_security_group_inbound_rules_on_private_link_traffic"),
			declare.Modify(declare.Call((*elb.Client).ModifyLoadBalancerAttributes,
				declare.Fill(func(s *declare.Step, in *elb.ModifyLoadBalancerAttributesInput) {
					keys, values := changes(s.Have["attributes"], s.Want["attributes"])
					for _, key := range keys {
						in.Attributes = append(in.Attributes,
							elbtypes.LoadBalancerAttribute{Key: &key, Value: awssdk.String(values[key])})
					}
				})), "attributes"),
		},
		Delete:  declare.Call((*elb.Client).DeleteLoadBalancer), // which is not shown from then on
		Forming: declare.In("state", string(elbtypes.LoadBalancerStateEnumProvisioning)),
		Failed:  declare.In("state", string(elbtypes.LoadBalancerStateEnumFailed)).Because("state_reason"),
	})}
}

// loadBalancers lists the load balancers.
func loadBalancers() *declare.Listing {
	return declare.Pages(elb.NewDescribeLoadBalancersPaginator, "LoadBalancers", declare.PageSize(pageSize))
}

// createLoadBalancer creates a load balancer, or takes over the one of that name.
// Attributes, which CreateLoadBalancer does not take, are left to the update.
func createLoadBalancer(ctx context.Context, s *declare.Step) (modules.Row, error) {
	row, err := s.Create(ctx)
	if aws.HasCode(err, "DuplicateLoadBalancerName") {
		there, failure := declare.ClientOf[*elb.Client](s).DescribeLoadBalancers(ctx,
			&elb.DescribeLoadBalancersInput{Names: []string{s.Want["load_balancer_name"].String()}})
		if failure == nil && len(there.LoadBalancers) == 1 && isWanted(there.LoadBalancers[0], s.Want) {
			return modules.Row{"load_balancer_arn": modules.TextPtr(there.LoadBalancers[0].LoadBalancerArn)}, nil
		}
	}
	return row, err
}

// isWanted reports whether a load balancer of a record's name may be the record's: what is fixed
// at its creation is as wanted. Its predecessor, whose name may be taken for a while after it has been deleted,
// is not.
func isWanted(b elbtypes.LoadBalancer, want modules.Row) bool {
	scheme := want["scheme"]
	return string(b.Type) == want["load_balancer_type"].String() &&
		(scheme.IsNull() || string(b.Scheme) == scheme.String()) &&
		awssdk.ToString(b.CustomerOwnedIpv4Pool) == want["customer_owned_ipv4_pool"].String()
}

// firstGroup gives a network load balancer the security group that it begins
// with: one that begins with none can never have any (page SetSecurityGroups). It
// is the one that AWS gives to application load balancers.
func firstGroup(ctx context.Context, s *declare.Step, in *elb.CreateLoadBalancerInput) error {
	if in.Type != elbtypes.LoadBalancerTypeEnumNetwork || !s.Want["has_security_groups"].Bool() {
		return nil
	}
	vpc, err := s.Clients.VPCOf(ctx, s.Scope, in.Subnets[0])
	if err != nil {
		return err
	}
	group, err := s.Clients.DefaultGroup(ctx, s.Scope, vpc)
	in.SecurityGroups = []string{group}
	return err
}

// setPool says of which pool addresses are.
func setPool(ctx context.Context, s *declare.Step) error {
	in := &elb.ModifyIpPoolsInput{LoadBalancerArn: s.Have["load_balancer_arn"].Ptr()}
	if pool := s.Want["ipv4_ipam_pool_id"]; pool.IsNull() {
		in.RemoveIpamPools = []elbtypes.RemoveIpamPoolEnum{elbtypes.RemoveIpamPoolEnumIpv4}
	} else {
		in.IpamPools = &elbtypes.IpamPools{Ipv4IpamPoolId: pool.Ptr()}
	}
	_, err := declare.ClientOf[*elb.Client](s).ModifyIpPools(ctx, in)
	return err
}

// enforce says whether security groups are asked about PrivateLink. SetSecurityGroups takes that with the groups: they
// stay as they are.
func enforce(ctx context.Context, s *declare.Step) error {
	want := s.Want["enforce_security_group_inbound_rules_on_private_link_traffic"]
	if want.IsNull() {
		return nil
	}
	client, name := declare.ClientOf[*elb.Client](s), s.Have["load_balancer_arn"].String()
	is, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{name}})
	if err != nil || len(is.LoadBalancers) == 0 {
		return err
	}
	in := &elb.SetSecurityGroupsInput{LoadBalancerArn: &name, SecurityGroups: is.LoadBalancers[0].SecurityGroups}
	in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic =
		elbtypes.EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum(want.String())
	_, err = client.SetSecurityGroups(ctx, in)
	return err
}
