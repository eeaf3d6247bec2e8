package awssecuritygroup

import (
	"context"
	"errors"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// rule is the table security_group_rule.
type rule struct {
	aws.EC2Objects[ec2types.SecurityGroupRule]
}

func newRule(c *aws.Clients) *rule {
	return &rule{aws.EC2Objects[ec2types.SecurityGroupRule]{
		Clients:     c,
		Description: describeRule(),
		IDFilter:    "security-group-rule-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.SecurityGroupRule) error) error {
			return aws.Pages(ctx, ec2.NewDescribeSecurityGroupRulesPaginator(client, &ec2.DescribeSecurityGroupRulesInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeSecurityGroupRulesOutput) error { return page(out.SecurityGroupRules) })
		},
		Rows: ruleRows,
		Tags: func(r ec2types.SecurityGroupRule) []ec2types.Tag { return r.Tags },
	}}
}

func describeRule() *modules.Table {
	return &modules.Table{
		Name:     "security_group_rule",
		Doc:      "Rules of security groups: what traffic they let in and out. What no rule allows is not let through.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "security_group_rule_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The rule's id, such as sgr-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "security_group_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
				References: &modules.Reference{Table: "security_group", Key: "group_id", Part: modules.PartFirst},
				Doc:        "The group it is of. Deleting the group deletes its rules."},
			modules.Column{Name: "is_egress", Type: modules.TypeBool, Required: true, CreateOnly: true,
				Doc: "Whether it is about what goes out (true) or comes in (false)."},
			modules.Column{Name: "ip_protocol", Type: modules.TypeText, Required: true, Equal: sameProtocol,
				Doc: "tcp, udp, icmp, icmpv6, a protocol's number, or -1 for all."},
			modules.Column{Name: "from_port", Type: modules.TypeInteger, Chosen: true,
				Check: "from_port BETWEEN -1 AND 65535",
				Doc:   "The first port; the type with ICMP. -1: all, which it is if left out."},
			modules.Column{Name: "to_port", Type: modules.TypeInteger, Chosen: true,
				Check: "to_port BETWEEN -1 AND 65535",
				Doc:   "The last port; the code with ICMP. -1: all, which it is if left out."},
			modules.Column{Name: "cidr_ipv4", Type: modules.TypeCIDR, CreateOnly: true, Check: "family(cidr_ipv4) = 4",
				Doc: "The other side: an IPv4 network."},
			modules.Column{Name: "cidr_ipv6", Type: modules.TypeCIDR, CreateOnly: true, Check: "family(cidr_ipv6) = 6",
				Doc: "The other side: an IPv6 network."},
			modules.Column{Name: "prefix_list_id", Type: modules.TypeText, CreateOnly: true,
				Doc: "The other side: a prefix list, such as pl-0a1b2c3d."},
			modules.Column{Name: "source_security_group", Type: modules.TypeBigint, CreateOnly: true,
				References: &modules.Reference{Table: "security_group", Key: "group_id"},
				Doc:        "The other side: what is in a security group, which may be the rule's own. NULL also for groups of other accounts."},
			modules.Column{Name: "description", Type: modules.TypeText,
				Check: "length(description) BETWEEN 1 AND 255",
				Doc:   "What it is for, up to 255 characters."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is one of the rules that AWS itself has given a VPC's default group."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"num_nonnulls(cidr_ipv4, cidr_ipv6, prefix_list_id, source_security_group) <= 1",
			// AWS would turn these into -1.
			"ip_protocol <> '-1' OR coalesce(from_port, -1) = -1 AND coalesce(to_port, -1) = -1",
		},
	}
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

// ruleRows finds out which groups are default ones, of which rules do not tell.
func ruleRows(ctx context.Context, client *ec2.Client, rules []ec2types.SecurityGroupRule) ([]modules.Row, error) {
	defaults := map[string]bool{}
	if slices.ContainsFunc(rules, asMade) {
		err := describeGroups(ctx, client, []ec2types.Filter{aws.EC2Filter("group-name", defaultName)}, func(groups []ec2types.SecurityGroup) error {
			for _, g := range groups {
				defaults[awssdk.ToString(g.GroupId)] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	rows := make([]modules.Row, len(rules))
	for i, r := range rules {
		var err error
		if rows[i], err = ruleRow(r); err != nil {
			return nil, err
		}
		rows[i]["is_default"] = modules.Bool(asMade(r) && defaults[awssdk.ToString(r.GroupId)])
	}
	return rows, nil
}

// asMade reports whether the rule is like those of a new default group: all
// that comes from the group itself, and all that goes out ("Default security
// groups for your VPCs", VPC User Guide).
func asMade(r ec2types.SecurityGroupRule) bool {
	if awssdk.ToString(r.IpProtocol) != "-1" {
		return false
	}
	if awssdk.ToBool(r.IsEgress) {
		return awssdk.ToString(r.CidrIpv4) == "0.0.0.0/0" || awssdk.ToString(r.CidrIpv6) == "::/0"
	}
	return r.ReferencedGroupInfo != nil && awssdk.ToString(r.ReferencedGroupInfo.GroupId) == awssdk.ToString(r.GroupId)
}

func ruleRow(r ec2types.SecurityGroupRule) (modules.Row, error) {
	v4, err := aws.CIDR(r.CidrIpv4)
	if err != nil {
		return nil, err
	}
	v6, err := aws.CIDR(r.CidrIpv6)
	if err != nil {
		return nil, err
	}
	row := modules.Row{
		"security_group_rule_id": modules.TextPtr(r.SecurityGroupRuleId),
		"security_group_id":      modules.TextPtr(r.GroupId),
		"is_egress":              modules.Bool(awssdk.ToBool(r.IsEgress)),
		"ip_protocol":            modules.TextPtr(r.IpProtocol),
		"from_port":              modules.IntPtr(r.FromPort),
		"to_port":                modules.IntPtr(r.ToPort),
		"cidr_ipv4":              v4,
		"cidr_ipv6":              v6,
		"prefix_list_id":         modules.TextPtr(r.PrefixListId),
		"source_security_group":  modules.Null,
		"description":            modules.NonEmpty(awssdk.ToString(r.Description)),
		"tags":                   aws.EC2Tags.Value(r.Tags),
	}
	if r.ReferencedGroupInfo != nil {
		row["source_security_group"] = modules.TextPtr(r.ReferencedGroupInfo.GroupId)
	}
	return row, nil
}

// Create creates a rule. The rule that AWS has given a new group and a record
// may ask for as well (all goes out) is taken for the one created: it is made
// with the group, so that nobody else's record stands for it.
func (r *rule) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	permission := permissionOf(want)
	tags := aws.EC2TagSpecification(ec2types.ResourceTypeSecurityGroupRule, want, token)
	var made []ec2types.SecurityGroupRule
	if want["is_egress"].Bool() {
		out, failed := client.AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{
			GroupId: want["security_group_id"].Ptr(), IpPermissions: permission, TagSpecifications: tags,
		})
		if err = failed; err == nil {
			made = out.SecurityGroupRules
		}
	} else {
		out, failed := client.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: want["security_group_id"].Ptr(), IpPermissions: permission, TagSpecifications: tags,
		})
		if err = failed; err == nil {
			made = out.SecurityGroupRules
		}
	}
	switch {
	case modules.ClassOf(err) == modules.Exists && err != nil:
		return r.existing(ctx, client, want, err)
	case err != nil:
		return nil, err
	case len(made) != 1:
		return nil, errors.New("the rule was created, and AWS does not say as which")
	}
	return modules.Row{"security_group_rule_id": modules.TextPtr(made[0].SecurityGroupRuleId)}, nil
}

// existing returns the rule that lets everything out, which want asks for and
// AWS has made; for other rules the error that said that there is one.
func (r *rule) existing(ctx context.Context, client *ec2.Client, want modules.Row, exists error) (modules.Row, error) {
	if !want["is_egress"].Bool() || protocol(want["ip_protocol"].String()) != "-1" {
		return nil, exists
	}
	found := exists
	var row modules.Row
	err := r.Describe(ctx, client, []ec2types.Filter{aws.EC2Filter("group-id", want["security_group_id"].String())}, func(rules []ec2types.SecurityGroupRule) error {
		for _, candidate := range rules {
			have, err := ruleRow(candidate)
			if err != nil {
				return err
			}
			if asMade(candidate) && have["is_egress"] == want["is_egress"] && have["cidr_ipv4"] == want["cidr_ipv4"] && have["cidr_ipv6"] == want["cidr_ipv6"] {
				row, found = have, nil
			}
		}
		return nil
	})
	return row, errors.Join(err, found)
}

func permissionOf(want modules.Row) []ec2types.IpPermission {
	p := ec2types.IpPermission{IpProtocol: want["ip_protocol"].Ptr(), FromPort: port(want["from_port"]), ToPort: port(want["to_port"])}
	about := want["description"].Ptr()
	switch {
	case !want["cidr_ipv4"].IsNull():
		p.IpRanges = []ec2types.IpRange{{CidrIp: want["cidr_ipv4"].Ptr(), Description: about}}
	case !want["cidr_ipv6"].IsNull():
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: want["cidr_ipv6"].Ptr(), Description: about}}
	case !want["prefix_list_id"].IsNull():
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: want["prefix_list_id"].Ptr(), Description: about}}
	case !want["source_security_group"].IsNull():
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: want["source_security_group"].Ptr(), Description: about}}
	}
	return []ec2types.IpPermission{p}
}

func port(v modules.Value) *int32 {
	if v.IsNull() {
		return awssdk.Int32(-1)
	}
	return v.Int32Ptr()
}

// Update changes protocol, ports and description, which are set together, and
// tags.
func (r *rule) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(columns, func(c string) bool { return c != modules.ColumnTags }) {
		_, err := client.ModifySecurityGroupRules(ctx, &ec2.ModifySecurityGroupRulesInput{
			GroupId: have["security_group_id"].Ptr(),
			SecurityGroupRules: []ec2types.SecurityGroupRuleUpdate{{
				SecurityGroupRuleId: have["security_group_rule_id"].Ptr(),
				SecurityGroupRule: &ec2types.SecurityGroupRuleRequest{
					IpProtocol: want["ip_protocol"].Ptr(), FromPort: port(want["from_port"]), ToPort: port(want["to_port"]),
					CidrIpv4: have["cidr_ipv4"].Ptr(), CidrIpv6: have["cidr_ipv6"].Ptr(),
					PrefixListId: have["prefix_list_id"].Ptr(), ReferencedGroupId: have["source_security_group"].Ptr(),
					Description: awssdk.String(want["description"].String()), // left out, it would stay
				},
			}},
		})
		if err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// Delete deletes a rule.
func (r *rule) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) (err error) {
		group, ids := have["security_group_id"].Ptr(), []string{have["security_group_rule_id"].String()}
		if have["is_egress"].Bool() {
			_, err = client.RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: group, SecurityGroupRuleIds: ids})
		} else {
			_, err = client.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: group, SecurityGroupRuleIds: ids})
		}
		return err
	})
}

// Protected keeps the rules of default groups that AWS has made: whatever was
// started without a group of its own speaks through them.
func (r *rule) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "AWS made it with the VPC's default security group; change it, or remove it by other means, if that is really meant"
	}
	return ""
}
