package declare

import (
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// touches returns the calls that touch objects of the table: those that it makes itself,
// and where CloudTrail's records name the object. What the declaration says counts before
// that, by the call's name.
func (b *binding) mappings(declared []modules.EventMapping, kind string) []modules.EventMapping {
	mappings := slices.Clone(declared)
	source := aws.EventSource(b.service.client.Elem().PkgPath())
	add := func(t modules.EventMapping) {
		t.Source = source
		t.Name = aws.EventName(source, modules.Operation(t.Name))
		if slices.ContainsFunc(declared, func(d modules.EventMapping) bool {
			return d.Source == t.Source && d.Name == t.Name
		}) || aws.IsRead(t.Name) {
			for i := range declared {
				if d := &mappings[i]; d.Source == t.Source && d.Name == t.Name && d.Extent == modules.Everything &&
					t.Extent == modules.ButTags {
					d.Extent = t.Extent // where it names objects is declared, and what it changes is known
				}
			}
			return
		}
		if at := slices.IndexFunc(mappings, func(d modules.EventMapping) bool {
			return d.Source == t.Source && d.Name == t.Name && d.Column == t.Column
		}); at >= 0 {
			for _, path := range t.At {
				if !slices.Contains(mappings[at].At, path) {
					mappings[at].At = append(mappings[at].At, path)
				}
			}
			if mappings[at].Extent != t.Extent {
				mappings[at].Extent = modules.Everything
			}
			return
		}
		mappings = append(mappings, t)
	}
	if b.create != nil {
		add(b.creates())
	}
	for _, u := range b.updates {
		for _, op := range []*Op{u.op, u.unset} {
			if op != nil {
				t := b.names(op)
				if _, tags := op.in.FieldByNameFunc(func(member string) bool {
					return strings.Contains(member, "Tag")
				}); !tags {
					t.Extent = modules.ButTags
				}
				add(t)
			}
		}
	}
	if b.remove != nil {
		add(b.names(b.remove))
	}
	if b.tags != nil {
		for _, t := range b.tagged(kind) {
			add(t)
		}
	}
	return mappings
}

// creates returns the touch of the creation.
func (b *binding) creates() modules.EventMapping {
	t := modules.EventMapping{Name: b.create.name}
	answer, err := resolve(b.create.out, b.create.answer)
	if err != nil {
		return t
	}
	for i := range b.columns {
		c := &b.columns[i]
		if !c.Column.Identity {
			continue
		}
		if c.Column.Computed {
			if p := b.answered(c, answer.leaf); p != nil {
				t.At = []string{recorded("responseElements", b.create.answer+"."+p.text)}
			}
		} else if p := b.create.bind(c); p != nil {
			t.At = []string{recorded("requestParameters", p.text)}
		}
		break // the first column of the identity tells
	}
	return t
}

// names returns the touch of a call that names the object in its input: by the first
// column of the identity, or else by the ARN or what there is.
func (b *binding) names(op *Op) modules.EventMapping {
	t := modules.EventMapping{Name: op.name}
	identity := b.description.Identity()
	rank := func(k target) int {
		switch {
		case k.column.Name == identity[0]:
			return 0
		case k.column.Name == aws.ColumnARN:
			return 1
		case k.column.Column.Identity:
			return 2
		}
		return 3
	}
	keys := slices.Clone(b.keys[op])
	slices.SortStableFunc(keys, func(x, y target) int { return rank(x) - rank(y) })
	for _, k := range keys {
		if k.column.Column.Computed || k.column.Column.Identity {
			t.At = []string{recorded("requestParameters", k.path.text)}
			if k.column.Name != identity[0] {
				t.Column = k.column.Name
			}
			break
		}
	}
	return t
}

// tagged returns the event mappings of the calls that change tags. One call of a service tags
// objects of several tables; what the object is called tells of which.
func (b *binding) tagged(kind string) []modules.EventMapping {
	g := b.tags.tagging
	if g.kind != "" {
		var mappings []modules.EventMapping
		for _, name := range []string{"CreateTags", "DeleteTags"} {
			mappings = append(mappings, modules.EventMapping{Name: name, Extent: modules.JustTags,
				At: []string{"requestParameters.resourcesSet.resourceId"}, Column: g.owner,
				Prefix: ec2Prefixes[g.kind]})
		}
		return mappings
	}
	var mappings []modules.EventMapping
	for _, op := range []*Op{g.set, g.remove} {
		if op == nil {
			continue
		}
		t := b.names(op)
		t.Extent = modules.JustTags
		if len(t.At) > 0 && (t.Column == aws.ColumnARN || b.description.Identity()[0] == aws.ColumnARN ||
			strings.HasSuffix(t.Column, "_arn") || strings.HasSuffix(b.description.Identity()[0], "_arn")) {
			t.Prefix = kind
		}
		mappings = append(mappings, t)
	}
	return mappings
}

// ec2Prefixes are what the ids of EC2's objects begin with (EC2 User Guide, "Resource IDs").
var ec2Prefixes = map[ec2types.ResourceType]string{
	ec2types.ResourceTypeDhcpOptions:          "dopt-",
	ec2types.ResourceTypeElasticIp:            "eipalloc-",
	ec2types.ResourceTypeInstance:             "i-",
	ec2types.ResourceTypeInternetGateway:      "igw-",
	ec2types.ResourceTypeKeyPair:              "key-",
	ec2types.ResourceTypeLaunchTemplate:       "lt-",
	ec2types.ResourceTypeNatgateway:           "nat-",
	ec2types.ResourceTypeNetworkAcl:           "acl-",
	ec2types.ResourceTypeRouteTable:           "rtb-",
	ec2types.ResourceTypeSecurityGroup:        "sg-",
	ec2types.ResourceTypeSecurityGroupRule:    "sgr-",
	ec2types.ResourceTypeSubnet:               "subnet-",
	ec2types.ResourceTypeVolume:               "vol-",
	ec2types.ResourceTypeVpc:                  "vpc-",
	ec2types.ResourceTypeVpcEndpoint:          "vpce-",
	ec2types.ResourceTypeVpcPeeringConnection: "pcx-",
}

// recorded returns a path of the SDK's as a record of CloudTrail has it, but for its case:
// lists need no brackets.
func recorded(root, path string) string {
	steps := []string{root}
	if path == "Bucket" {
		path = "BucketName" // S3 says so
	}
	for rest := strings.Trim(path, "."); rest != ""; {
		name, _, _, after, err := cut(rest)
		if err != nil {
			break
		}
		steps = append(steps, strings.ToLower(name[:1])+name[1:])
		rest = after
	}
	return strings.Join(steps, ".")
}

// InstanceEventMappings returns the event mappings of the tables whose objects are instances of EC2.
func InstanceEventMappings() []modules.EventMapping {
	return modules.EventMappings("ec2.amazonaws.com",
		modules.Response("instancesSet.instanceId", "RunInstances"),
		modules.Request("instancesSet.instanceId", "TerminateInstances", "StartInstances", "StopInstances",
			"RebootInstances", "MonitorInstances", "UnmonitorInstances"),
		modules.Request("instanceId", "ModifyPrivateDnsNameOptions", "ModifyInstanceAttribute",
			"ResetInstanceAttribute",
			"ModifyInstanceMetadataOptions", "ModifyInstanceMaintenanceOptions", "ModifyInstancePlacement",
			"ModifyInstanceCapacityReservationAttributes", "ModifyInstanceCpuOptions", "AssociateIamInstanceProfile",
			"AssociateAddress", "AttachNetworkInterface", "AttachVolume", "DetachVolume"),
		modules.Response("iamInstanceProfileAssociation.instanceId", "ReplaceIamInstanceProfileAssociation",
			"DisassociateIamInstanceProfile"),
		modules.Request("instanceCreditSpecifications.instanceId", "ModifyInstanceCreditSpecification"),
		modules.Unnamed("DisassociateAddress", "DetachNetworkInterface", "ModifyNetworkInterfaceAttribute"),
	)
}
