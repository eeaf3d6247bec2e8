package awsvpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newNetworkACL declares the table network_acl. A list is created without
// entries, which are left to the update.
func newNetworkACL(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.NetworkAcl]{
		Name: "network_acl",
		Doc: "Network access control lists: what traffic is let into and out of subnets. A subnet uses one " +
			"(subnet.network_acl_id), its VPC's default one unless told otherwise.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("network_acl_id", "NetworkAclId",
				"The list's id, such as acl-0a1b2c3d; NULL until it is created."),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id",
				"The VPC it is of.").Required().CreateOnly().Part(modules.PartAlong, "is_default"),
			declare.JSON("entries", "Entries",
				`Its entries, a JSON array of objects such as {"RuleNumber": 100, "Egress": false, "RuleAction": "allow", "Protocol": "6", "CidrBlock": "0.0.0.0/0", "PortRange": {"From": 80, "To": 80}}; `+
					`further members are Ipv6CidrBlock and IcmpTypeCode ({"Code": -1, "Type": -1}). Without the last entries, which deny everything and which every list has.`).
				EmptyIsNull().Same(sameEntries).Check("jsonb_typeof(entries) = 'array'").As(
				declare.Codec{Decode: entriesOf}),
			declare.Bool("is_default", "IsDefault",
				"Whether it is the VPC's default list, which AWS makes by itself and which goes with the VPC.").
				Computed().Usual(modules.Bool(false)),
			declare.EC2Tags(ec2types.ResourceTypeNetworkAcl),
		},
		Published: declare.Published{Type: "AWS::EC2::NetworkAcl", Since: 6},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("networkAclId", "CreateNetworkAclEntry", "DeleteNetworkAclEntry", "ReplaceNetworkAclEntry"),
		),
		List:   networkACLs(),
		Get:    declare.Search(), // by no filter: there are few, and moto has none for ids
		Rows:   withoutOrphans,
		Create: declare.Call((*ec2.Client).CreateNetworkAcl, declare.Answer("NetworkAcl")),
		Updates: []declare.Update{declare.By(func(ctx context.Context, s *declare.Step) error {
			return updateEntries(ctx, declare.ClientOf[*ec2.Client](s), s.Have["network_acl_id"].Ptr(),
				s.Have["entries"].String(), s.Want["entries"].String())
		}, "entries")},
		Delete: declare.Call((*ec2.Client).DeleteNetworkAcl),
		// AWS itself refuses to delete it.
		Made: "is_default",
		Refuses: []declare.Refusal{{When: declare.IsTrue("is_default"),
			Why:    "it is the VPC's default network ACL, which AWS made by itself and which goes with the VPC",
			Source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteNetworkAcl.html"}},
	})
}

func networkACLs() *declare.Listing {
	return declare.Pages(ec2.NewDescribeNetworkAclsPaginator, "NetworkAcls", declare.PageSize(aws.PageSize)).
		FilterAt("association.subnet-id", "Associations[].SubnetId")
}

// withoutOrphans leaves out the default lists of VPCs that are gone: moto keeps
// them, and nobody could delete them.
func withoutOrphans(ctx context.Context, s *declare.Step, lists []*ec2types.NetworkAcl, rows []modules.Row) error {
	var vpcs []string
	for _, l := range lists {
		if awssdk.ToBool(l.IsDefault) {
			vpcs = append(vpcs, awssdk.ToString(l.VpcId))
		}
	}
	found, err := declare.Find[ec2types.Vpc](ctx, s.Source(), vpcList(), "vpc-id", vpcs...)
	for i, l := range lists {
		if awssdk.ToBool(l.IsDefault) && !slices.ContainsFunc(found, func(v ec2types.Vpc) bool {
			return awssdk.ToString(v.VpcId) == awssdk.ToString(l.VpcId)
		}) {
			rows[i] = nil
		}
	}
	return err
}

// lastEntry is the number of the entries that deny what no other has allowed:
// every list has them, and they can be neither changed nor removed ("Default
// network ACL for a VPC", VPC User Guide).
const lastEntry = 32767

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

// recast fills a structure from another whose members have the same names.
func recast(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// number tells an entry from the others of its list.
func (e entry) number() string { return fmt.Sprint(e.Egress, e.RuleNumber) }

// entriesOf returns the entries of a list that can be changed.
func entriesOf(member any) (modules.Value, error) {
	entries := []entry{}
	for _, given := range member.([]ec2types.NetworkAclEntry) {
		var e entry
		if err := recast(given, &e); err != nil {
			return modules.Null, err
		}
		if e.RuleNumber < lastEntry { // 32768 with IPv6
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, entry.compare)
	return modules.JSON(entries)
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
		e.asKept()
	}
	slices.SortFunc(entries, entry.compare)
	return entries, nil
}

// asKept brings an entry into the form in which AWS keeps it (page
// CreateNetworkAclEntry of the Amazon EC2 API Reference): a network has no host bits,
// and with all protocols, or one other than TCP, UDP and ICMP, ports and types do not
// count.
func (e *entry) asKept() {
	for _, block := range []*string{&e.CidrBlock, &e.Ipv6CidrBlock} {
		if prefix, err := netip.ParsePrefix(*block); err == nil {
			*block = prefix.Masked().String()
		}
	}
	switch e.Protocol {
	case "6", "17":
		e.IcmpTypeCode = nil
	case "1", "58":
		e.PortRange = nil
	default:
		e.PortRange, e.IcmpTypeCode = nil, nil
	}
}

var sameEntries = declare.Equal(parseEntries, func(x, y []entry) bool { return reflect.DeepEqual(x, y) })

// updateEntries changes the entries that differ.
func updateEntries(ctx context.Context, client *ec2.Client, id *string, have, want string) error {
	old, err := parseEntries(have)
	if err != nil {
		return err
	}
	entries, err := parseEntries(want)
	if err != nil {
		return err
	}
	return declare.Parts(old, entries, entry.number, func(a, b entry) bool { return reflect.DeepEqual(a, b) },
		func(e entry, had *entry) error {
			if had != nil {
				in := &ec2.ReplaceNetworkAclEntryInput{NetworkAclId: id}
				if err := recast(e, in); err != nil {
					return err
				}
				_, err := client.ReplaceNetworkAclEntry(ctx, in)
				return err
			}
			in := &ec2.CreateNetworkAclEntryInput{NetworkAclId: id}
			if err := recast(e, in); err != nil {
				return err
			}
			_, err := client.CreateNetworkAclEntry(ctx, in)
			return err
		}, func(e entry) error {
			_, err := client.DeleteNetworkAclEntry(ctx,
				&ec2.DeleteNetworkAclEntryInput{NetworkAclId: id, RuleNumber: &e.RuleNumber, Egress: &e.Egress})
			return err
		})
}
