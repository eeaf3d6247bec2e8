package awssecuritygroup

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newRule declares the table security_group_rule.
func newRule(c *aws.Clients) *declare.Resource {
	// A change sends the rule as a whole.
	in := func(c declare.Column, member string) declare.Column {
		return c.In("SecurityGroupRules[0].SecurityGroupRule." + member)
	}
	port := func(name, member, doc string) declare.Column {
		return in(declare.Integer(name, member, doc).OptionalComputed().Between(-1, 65535).Unset(modules.Int(-1)),
			member)
	}
	calls := newBatcher()
	return declare.New(c, declare.Table[ec2types.SecurityGroupRule]{
		Name:     "security_group_rule",
		Doc:      "Rules of security groups: what traffic they let in and out. What no rule allows is not let through.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("security_group_rule_id", "SecurityGroupRuleId",
				"The rule's id, such as sgr-0a1b2c3d; NULL until it is created.").In(
				"SecurityGroupRules[0].SecurityGroupRuleId"),
			declare.Ref("security_group_id", "GroupId", "security_group", "group_id",
				"The group it is of. Deleting the group deletes its rules.").Required().CreateOnly().Part(
				modules.PartFirst, ""),
			declare.Bool("is_egress", "IsEgress",
				"Whether it is about what goes out (true) or comes in (false).").Required().CreateOnly(),
			in(declare.Text("ip_protocol", "IpProtocol",
				"tcp, udp, icmp, icmpv6, a protocol's number, or -1 for all.").Required().Same(sameProtocol),
				"IpProtocol"),
			port("from_port", "FromPort", "The first port; the type with ICMP, of which -1 is all. All if left out."),
			port("to_port", "ToPort", "The last port; the code with ICMP, of which -1 is all. All if left out."),
			in(declare.CIDR("cidr_ipv4", "CidrIpv4",
				"The other side: an IPv4 network.").FixedKind().Check("family(cidr_ipv4) = 4"), "CidrIpv4"),
			in(declare.CIDR("cidr_ipv6", "CidrIpv6",
				"The other side: an IPv6 network.").FixedKind().Check("family(cidr_ipv6) = 6"), "CidrIpv6"),
			in(declare.Text("prefix_list_id", "PrefixListId",
				"The other side: a prefix list, such as pl-0a1b2c3d.").CreateOnly(), "PrefixListId"),
			in(declare.Ref("source_security_group", "ReferencedGroupInfo.GroupId", "security_group", "group_id",
				"The other side: what is in a security group, which may be the rule's own. NULL also for groups of "+
					"other accounts.").CreateOnly(), "ReferencedGroupId"),
			// left out, it would stay
			in(declare.Text("description", "Description", "What it is for, up to 255 characters.").Length(1,
				255).Unset(modules.Text("")), "Description"),
			declare.Bool("is_default", "",
				"Whether it is one of the rules that AWS itself has given a VPC's default group.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeSecurityGroupRule),
		},
		Published: declare.Published{Type: "AWS::EC2::SecurityGroupIngress", Since: 4,
			Columns: map[string]string{"CidrIp": "cidr_ipv4", "CidrIpv6": "cidr_ipv6", "Description": "description",
				"FromPort": "from_port", "IpProtocol": "ip_protocol", "ToPort": "to_port",
				"GroupName": "security_group_id", "SourcePrefixListId": "prefix_list_id",
				"SourceSecurityGroupId": "source_security_group", "SourceSecurityGroupName": "source_security_group",
			},
			Without: map[string]string{
				"SourceSecurityGroupOwnerId": "the group that source_security_group names is of the rule's own " +
					"account"},
		},
		AlsoPublished: []declare.Published{{Type: "AWS::EC2::SecurityGroupEgress", Since: 4,
			Columns: map[string]string{"CidrIp": "cidr_ipv4", "CidrIpv6": "cidr_ipv6", "Description": "description",
				"FromPort": "from_port", "IpProtocol": "ip_protocol", "ToPort": "to_port",
				"DestinationPrefixListId": "prefix_list_id", "DestinationSecurityGroupId": "source_security_group"},
		}},
		Checks: []string{
			"num_nonnulls(cidr_ipv4, cidr_ipv6, prefix_list_id, source_security_group) <= 1",
			// AWS would turn these into -1.
			"lower(ip_protocol) IN ('tcp', 'udp', 'icmp', 'icmpv6', '6', '17', '1', '58') OR coalesce(from_port, -1) " +
				"= -1 AND coalesce(to_port, -1) = -1",
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Response("securityGroupRuleSet.securityGroupRuleId", "AuthorizeSecurityGroupIngress",
				"AuthorizeSecurityGroupEgress"),
			modules.Response("revokedSecurityGroupRuleSet.securityGroupRuleId", "RevokeSecurityGroupIngress",
				"RevokeSecurityGroupEgress"),
			modules.Request("securityGroupRule.securityGroupRuleId",
				"ModifySecurityGroupRules").Or("requestParameters.securityGroupRules.securityGroupRuleId"),
			modules.Request("groupId", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress",
				"RevokeSecurityGroupIngress", "RevokeSecurityGroupEgress", "ModifySecurityGroupRules",
				"UpdateSecurityGroupRuleDescriptionsIngress",
				"UpdateSecurityGroupRuleDescriptionsEgress").In("security_group_id"),
		),
		List:     rules(),
		Get:      declare.EC2Filter("security-group-rule-id"),
		Rows:     ofDefaultGroups,
		HasToken: hasToken,
		CreateBy: calls.authorize,
		Updates: []declare.Update{declare.Restate(declare.Call((*ec2.Client).ModifySecurityGroupRules),
			"ip_protocol", "from_port", "to_port", "cidr_ipv4", "cidr_ipv6", "description")},
		DeleteBy:  calls.revoke,
		Protected: keepGiven,
	})
}

func rules() *declare.Listing {
	return declare.Pages(ec2.NewDescribeSecurityGroupRulesPaginator, "SecurityGroupRules",
		declare.PageSize(aws.PageSize))
}

// protocols are the numbers for which AWS returns a name (page IpPermission).
var protocols = map[string]string{"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6", "all": "-1"}

func sameProtocol(a, b string) bool { return protocol(a) == protocol(b) }

func protocol(p string) string {
	p = strings.ToLower(p)
	if name, ok := protocols[p]; ok {
		return name
	}
	return p
}

// ofDefaultGroups finds out which groups are default ones, of which rules do not
// tell.
func ofDefaultGroups(ctx context.Context, s *declare.Step, rules []*ec2types.SecurityGroupRule,
	rows []modules.Row) error {
	var defaults []ec2types.SecurityGroup
	if slices.ContainsFunc(rules, asMade) {
		var err error
		if defaults, err = declare.Find[ec2types.SecurityGroup](ctx, s.Source(), groups(), "group-name",
			defaultName); err != nil {
			return err
		}
	}
	for i, r := range rules {
		rows[i]["is_default"] = modules.Bool(asMade(r) &&
			slices.ContainsFunc(defaults, func(g ec2types.SecurityGroup) bool {
				return awssdk.ToString(g.GroupId) == awssdk.ToString(r.GroupId)
			}))
	}
	return nil
}

// asMade reports whether the rule is like those of a new default group: all
// that comes from the group itself, and all that goes out ("Default security
// groups for your VPCs", VPC User Guide).
func asMade(r *ec2types.SecurityGroupRule) bool {
	if awssdk.ToString(r.IpProtocol) != "-1" {
		return false
	}
	if awssdk.ToBool(r.IsEgress) {
		return awssdk.ToString(r.CidrIpv4) == "0.0.0.0/0" || awssdk.ToString(r.CidrIpv6) == "::/0"
	}
	return r.ReferencedGroupInfo != nil && awssdk.ToString(r.ReferencedGroupInfo.GroupId) == awssdk.ToString(r.GroupId)
}

func permissionOf(want modules.Row) ec2types.IpPermission {
	from, to := int32(-1), int32(-1)
	// which have ports and no word for all of them
	if name := protocol(want["ip_protocol"].String()); name == "tcp" || name == "udp" {
		from, to = 0, 65535
	}
	port := func(v modules.Value, left int32) *int32 {
		if v.IsNull() {
			return &left
		}
		return v.Int32Ptr()
	}
	p := ec2types.IpPermission{IpProtocol: want["ip_protocol"].Ptr(), FromPort: port(want["from_port"], from),
		ToPort: port(want["to_port"], to)}
	about := want["description"].Ptr()
	switch {
	case !want["cidr_ipv4"].IsNull():
		p.IpRanges = []ec2types.IpRange{{CidrIp: want["cidr_ipv4"].Ptr(), Description: about}}
	case !want["cidr_ipv6"].IsNull():
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: want["cidr_ipv6"].Ptr(), Description: about}}
	case !want["prefix_list_id"].IsNull():
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: want["prefix_list_id"].Ptr(), Description: about}}
	case !want["source_security_group"].IsNull():
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: want["source_security_group"].Ptr(),
			Description: about}}
	}
	return p
}

// keepGiven keeps the rules of default groups that AWS has made: whatever was
// started without a group of its own speaks through them.
func keepGiven(have modules.Row) string {
	if have["is_default"].Bool() {
		return "AWS made it with the VPC's default security group; change it, or remove it by other means, if that " +
			"is really meant"
	}
	return ""
}
