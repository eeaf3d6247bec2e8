package awsvpc

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// lastEntry is the number of the entries that deny what no other has allowed:
// every list has them, and they can be neither changed nor removed ("Default
// network ACL for a VPC", VPC User Guide).
const lastEntry = 32767

// networkACL is the table network_acl.
type networkACL struct {
	aws.EC2Objects[ec2types.NetworkAcl]
}

func newNetworkACL(c *aws.Clients) *networkACL {
	return &networkACL{aws.EC2Objects[ec2types.NetworkAcl]{
		Clients: c,
		Description: &modules.Table{
			Name:     "network_acl",
			Doc:      "Network access control lists: what traffic is let into and out of subnets. A subnet uses one (subnet.network_acl_id), its VPC's default one unless told otherwise.",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByTag,
			Columns: aws.Regional(
				modules.Column{Name: "network_acl_id", Type: modules.TypeText, Identity: true, Assigned: true,
					Doc: "The list's id, such as acl-0a1b2c3d; NULL until it is created."},
				modules.Column{Name: "vpc_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
					References: &modules.Reference{Table: "vpc", Key: "vpc_id", Part: modules.PartAlong, PartIf: "is_default"},
					Doc:        "The VPC it is of."},
				modules.Column{Name: "entries", Type: modules.TypeJSON, EmptyIsNull: true, Equal: sameEntries,
					Check: "jsonb_typeof(entries) = 'array'",
					Doc: `Its entries, a JSON array of objects such as {"RuleNumber": 100, "Egress": false, "RuleAction": "allow", "Protocol": "6", "CidrBlock": "0.0.0.0/0", "PortRange": {"From": 80, "To": 80}}; ` +
						`further members are Ipv6CidrBlock and IcmpTypeCode ({"Code": -1, "Type": -1}). Without the last entries, which deny everything and which every list has.`},
				modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
					Doc: "Whether it is the VPC's default list, which AWS makes by itself and which goes with the VPC."},
				aws.TagsColumn(),
			),
		},
		Describe: networkACLs, // by no filter: there are few, and moto has none for ids
		Rows:     networkACLRows,
		Tags:     func(l ec2types.NetworkAcl) []ec2types.Tag { return l.Tags },
	}}
}

func networkACLs(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.NetworkAcl) error) error {
	return aws.Pages(ctx, ec2.NewDescribeNetworkAclsPaginator(client, &ec2.DescribeNetworkAclsInput{
		Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
	}), func(out *ec2.DescribeNetworkAclsOutput) error { return page(out.NetworkAcls) })
}

// networkACLRows leaves out the default lists of VPCs that are gone: moto keeps
// them, and nobody could delete them.
func networkACLRows(ctx context.Context, client *ec2.Client, lists []ec2types.NetworkAcl) ([]modules.Row, error) {
	var vpcs []string
	for _, l := range lists {
		if awssdk.ToBool(l.IsDefault) {
			vpcs = append(vpcs, awssdk.ToString(l.VpcId))
		}
	}
	there := map[string]bool{}
	err := aws.EC2Chunks(vpcs, "vpc-id", func(filters []ec2types.Filter) error {
		return aws.Pages(ctx, ec2.NewDescribeVpcsPaginator(client, &ec2.DescribeVpcsInput{Filters: filters, MaxResults: awssdk.Int32(aws.PageSize)}),
			func(out *ec2.DescribeVpcsOutput) error {
				for _, v := range out.Vpcs {
					there[awssdk.ToString(v.VpcId)] = true
				}
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	rows := make([]modules.Row, 0, len(lists))
	for _, l := range lists {
		standard := awssdk.ToBool(l.IsDefault)
		if standard && !there[awssdk.ToString(l.VpcId)] {
			continue
		}
		entries, err := modules.JSON(entriesOf(l))
		if err != nil {
			return nil, err
		}
		rows = append(rows, modules.Row{
			"network_acl_id": modules.TextPtr(l.NetworkAclId),
			"vpc_id":         modules.TextPtr(l.VpcId),
			"entries":        entries,
			"is_default":     modules.Bool(standard),
			"tags":           aws.EC2Tags.Value(l.Tags),
		})
	}
	return rows, nil
}

// entry is an entry as the column has it: in the words of the API.
type entry struct {
	RuleNumber    int32
	Egress        bool
	RuleAction    string
	Protocol      string
	CidrBlock     string     `json:",omitempty"`
	Ipv6CidrBlock string     `json:",omitempty"`
	PortRange     *portRange `json:",omitempty"`
	IcmpTypeCode  *icmpType  `json:",omitempty"`
}

type portRange struct{ From, To int32 }

type icmpType struct{ Code, Type int32 }

func (e entry) compare(o entry) int {
	if e.Egress != o.Egress {
		if o.Egress {
			return -1
		}
		return 1
	}
	return cmp.Compare(e.RuleNumber, o.RuleNumber)
}

func entriesOf(l ec2types.NetworkAcl) []entry {
	entries := []entry{}
	for _, e := range l.Entries {
		if awssdk.ToInt32(e.RuleNumber) >= lastEntry {
			continue // 32768 with IPv6
		}
		out := entry{
			RuleNumber: awssdk.ToInt32(e.RuleNumber), Egress: awssdk.ToBool(e.Egress), RuleAction: string(e.RuleAction),
			Protocol: awssdk.ToString(e.Protocol), CidrBlock: awssdk.ToString(e.CidrBlock), Ipv6CidrBlock: awssdk.ToString(e.Ipv6CidrBlock),
		}
		if p := e.PortRange; p != nil {
			out.PortRange = &portRange{awssdk.ToInt32(p.From), awssdk.ToInt32(p.To)}
		}
		if t := e.IcmpTypeCode; t != nil {
			out.IcmpTypeCode = &icmpType{awssdk.ToInt32(t.Code), awssdk.ToInt32(t.Type)}
		}
		entries = append(entries, out)
	}
	slices.SortFunc(entries, entry.compare)
	return entries
}

// protocolNumbers are the names for which people know no numbers; AWS returns
// numbers (IANA's, "-1" for all).
var protocolNumbers = map[string]string{"all": "-1", "icmp": "1", "tcp": "6", "udp": "17", "icmpv6": "58"}

// parseEntries reads the column, in the form AWS returns it.
func parseEntries(text string) ([]entry, error) {
	if text == "" {
		return nil, nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	var entries []entry
	if err := dec.Decode(&entries); err != nil {
		return nil, &modules.Error{Class: modules.Invalid, Code: "entries", Message: err.Error(), Err: err}
	}
	for i := range entries {
		e := &entries[i]
		e.RuleAction = strings.ToLower(e.RuleAction)
		if number, ok := protocolNumbers[strings.ToLower(e.Protocol)]; ok {
			e.Protocol = number
		}
	}
	slices.SortFunc(entries, entry.compare)
	return entries, nil
}

func sameEntries(a, b string) bool {
	x, errX := parseEntries(a)
	y, errY := parseEntries(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// Create creates a list without entries, which are left to Update.
func (r *networkACL) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateNetworkAcl(ctx, &ec2.CreateNetworkAclInput{
		VpcId:             want["vpc_id"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeNetworkAcl, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"network_acl_id": modules.TextPtr(out.NetworkAcl.NetworkAclId)}, nil
}

// Update changes the entries that differ, and tags.
func (r *networkACL) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "entries") {
		if err := updateEntries(ctx, client, have["network_acl_id"].Ptr(), have["entries"].String(), want["entries"].String()); err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

func updateEntries(ctx context.Context, client *ec2.Client, id *string, have, want string) error {
	old, err := parseEntries(have)
	if err != nil {
		return err
	}
	entries, err := parseEntries(want)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := slices.IndexFunc(old, func(o entry) bool { return o.compare(e) == 0 })
		switch {
		case at < 0:
			in := &ec2.CreateNetworkAclEntryInput{
				NetworkAclId: id, RuleNumber: &e.RuleNumber, Egress: &e.Egress, Protocol: &e.Protocol, RuleAction: ec2types.RuleAction(e.RuleAction),
				CidrBlock: optional(e.CidrBlock), Ipv6CidrBlock: optional(e.Ipv6CidrBlock), PortRange: e.ports(), IcmpTypeCode: e.icmp(),
			}
			if _, err := client.CreateNetworkAclEntry(ctx, in); err != nil {
				return err
			}
		case !reflect.DeepEqual(old[at], e):
			in := &ec2.ReplaceNetworkAclEntryInput{
				NetworkAclId: id, RuleNumber: &e.RuleNumber, Egress: &e.Egress, Protocol: &e.Protocol, RuleAction: ec2types.RuleAction(e.RuleAction),
				CidrBlock: optional(e.CidrBlock), Ipv6CidrBlock: optional(e.Ipv6CidrBlock), PortRange: e.ports(), IcmpTypeCode: e.icmp(),
			}
			if _, err := client.ReplaceNetworkAclEntry(ctx, in); err != nil {
				return err
			}
		}
	}
	for _, o := range old {
		if slices.ContainsFunc(entries, func(e entry) bool { return o.compare(e) == 0 }) {
			continue
		}
		_, err := client.DeleteNetworkAclEntry(ctx, &ec2.DeleteNetworkAclEntryInput{NetworkAclId: id, RuleNumber: &o.RuleNumber, Egress: &o.Egress})
		if aws.IfExists(err) != nil {
			return err
		}
	}
	return nil
}

func (e entry) ports() *ec2types.PortRange {
	if e.PortRange == nil {
		return nil
	}
	return &ec2types.PortRange{From: &e.PortRange.From, To: &e.PortRange.To}
}

func (e entry) icmp() *ec2types.IcmpTypeCode {
	if e.IcmpTypeCode == nil {
		return nil
	}
	return &ec2types.IcmpTypeCode{Code: &e.IcmpTypeCode.Code, Type: &e.IcmpTypeCode.Type}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Delete deletes a list.
func (r *networkACL) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteNetworkAcl(ctx, &ec2.DeleteNetworkAclInput{NetworkAclId: have["network_acl_id"].Ptr()})
		return err
	})
}

// Protected keeps default lists, which AWS itself refuses to delete.
func (r *networkACL) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "it is the VPC's default network ACL, which AWS made by itself and which goes with the VPC"
	}
	return ""
}
