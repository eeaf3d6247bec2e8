package awselb

import (
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// The columns of the addresses that a network load balancer has in its subnets. An address of the one kind, or of the
// other, is said of each subnet (page SubnetMapping).
const (
	allocations = "allocation_ids"
	privates    = "private_ipv4_addresses"
)

func addressColumns() []declare.Column {
	return []declare.Column{
		declare.Texts(allocations, "",
			"The ids of the allocations of the Elastic IP addresses that an internet-facing "+
				"network load balancer has, one for each of its subnets: the first for the first, unless a subnet has "+
				"one of "+
				"them already. AWS's addresses if left out. AWS may refuse another one for a subnet that stays.").
			Unordered().EmptyIsNull().OptionalComputed().Exclusive().Since(6).Records("elastic_ip", "allocation_id", 6),
		declare.Texts(privates, "", "The private addresses that an internal network load balancer has, one in each of "+
			"its subnets: the first in the first, unless a subnet has one of them already. AWS's choice if left out.").
			Unordered().EmptyIsNull().OptionalComputed().Since(6),
	}
}

// readAddresses reads the addresses, in the order of the subnets.
func readAddresses(b *elbtypes.LoadBalancer, row modules.Row) {
	var ids, ips []string
	for _, zone := range b.AvailabilityZones {
		ids = append(ids, allocationsOf(zone)...)
		ips = append(ips, privatesOf(zone)...)
	}
	row[allocations], row[privates] = modules.Null, modules.Null
	if len(ids) > 0 {
		row[allocations] = modules.Strings(ids)
	}
	if len(ips) > 0 {
		row[privates] = modules.Strings(ips)
	}
}

func allocationsOf(zone elbtypes.AvailabilityZone) (ids []string) {
	for _, a := range zone.LoadBalancerAddresses {
		if a.AllocationId != nil {
			ids = append(ids, *a.AllocationId)
		}
	}
	return ids
}

func privatesOf(zone elbtypes.AvailabilityZone) (ips []string) {
	for _, a := range zone.LoadBalancerAddresses {
		if a.PrivateIPv4Address != nil {
			ips = append(ips, *a.PrivateIPv4Address)
		}
	}
	return ips
}

// withAddresses has the creation say the addresses with the subnets.
func withAddresses(_ context.Context, s *declare.Step, in *elb.CreateLoadBalancerInput) error {
	mappings, err := mapped(s.Want["subnets"].Strings(), s.Want[allocations].Strings(), s.Want[privates].Strings(), nil,
		true)
	if mappings != nil {
		in.Subnets, in.SubnetMappings = nil, mappings
	}
	return err
}

// keepAddresses has SetSubnets, which replaces everything, say what each subnet has: what nobody has changed of those
// that stay is as the load balancer has it (R35), the IPv6 addresses too, which no column shows.
func keepAddresses(ctx context.Context, s *declare.Step, in *elb.SetSubnetsInput) error {
	if in.Subnets == nil { // which it does not do without
		in.Subnets = s.Have["subnets"].Strings()
	}
	if s.Have["load_balancer_type"].String() != string(elbtypes.LoadBalancerTypeEnumNetwork) {
		return nil
	}
	is, err := declare.ClientOf[*elb.Client](s).DescribeLoadBalancers(ctx,
		&elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{s.Have["load_balancer_arn"].String()}})
	if err != nil || len(is.LoadBalancers) == 0 {
		return err
	}
	list := func(column string) []string {
		if s.Changes(column) && !s.Want[column].IsNull() {
			return s.Want[column].Strings()
		}
		return s.Have[column].Strings()
	}
	mappings, err := mapped(in.Subnets, list(allocations), list(privates), is.LoadBalancers[0].AvailabilityZones,
		s.Changes(allocations, privates))
	if in.EnablePrefixForIpv6SourceNat == elbtypes.EnablePrefixForIpv6SourceNatEnumOff {
		for i := range mappings {
			mappings[i].SourceNatIpv6Prefix = nil
		}
	}
	if mappings != nil {
		in.Subnets, in.SubnetMappings = nil, mappings
	}
	return err
}

// mapped says which address each subnet is to have; nil where nothing is said of any. A subnet that has one of the
// addresses keeps it. The others get the rest in their order. exactly refuses a list that has too many.
func mapped(subnets, ids, ips []string, has []elbtypes.AvailabilityZone, exactly bool) ([]elbtypes.SubnetMapping,
	error) {
	zones := map[string]elbtypes.AvailabilityZone{}
	for _, zone := range has {
		zones[awssdk.ToString(zone.SubnetId)] = zone
	}
	all, says := make([]elbtypes.SubnetMapping, len(subnets)), false
	for i, subnet := range subnets {
		zone := zones[subnet]
		all[i].SubnetId = awssdk.String(subnet)
		for _, a := range zone.LoadBalancerAddresses {
			if a.IPv6Address != nil {
				all[i].IPv6Address = a.IPv6Address
			}
		}
		if len(zone.SourceNatIpv6Prefixes) > 0 {
			all[i].SourceNatIpv6Prefix = &zone.SourceNatIpv6Prefixes[0]
		}
		says = says || all[i].IPv6Address != nil || all[i].SourceNatIpv6Prefix != nil
	}
	for _, kind := range []struct {
		column string
		wanted []string
		of     func(elbtypes.AvailabilityZone) []string
		at     func(*elbtypes.SubnetMapping) **string
	}{
		{allocations, ids, allocationsOf, func(m *elbtypes.SubnetMapping) **string { return &m.AllocationId }},
		{privates, ips, privatesOf, func(m *elbtypes.SubnetMapping) **string { return &m.PrivateIPv4Address }},
	} {
		rest := slices.Clone(kind.wanted)
		for i, subnet := range subnets {
			for _, had := range kind.of(zones[subnet]) {
				if at := slices.Index(rest, had); at >= 0 {
					*kind.at(&all[i]) = awssdk.String(had)
					rest, says = slices.Delete(rest, at, at+1), true
				}
			}
		}
		for i := range all {
			if to := kind.at(&all[i]); *to == nil && len(rest) > 0 {
				*to, rest, says = awssdk.String(rest[0]), rest[1:], true
			}
		}
		if len(rest) > 0 && exactly {
			return nil, &modules.Error{Class: modules.Invalid, Code: "TooManyAddresses", Message: fmt.Sprintf(
				"%s has more addresses than there are subnets: name one for each subnet, or add subnets", kind.column)}
		}
	}
	if !says {
		return nil, nil
	}
	return all, nil
}
