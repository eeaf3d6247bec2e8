// Package awsmemorydb is the module aws_memory_db: MemoryDB clusters.
//
// It promises what the contract in package modules asks of its tables. Names are
// identities and unique in a region, so that creations are found again by name.
// Clusters take minutes to come, to change and to go. Deleting one takes a final
// snapshot.
package awsmemorydb

import (
	"github.com/aws/aws-sdk-go-v2/service/memorydb"
	mdbtypes "github.com/aws/aws-sdk-go-v2/service/memorydb/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

var service = declare.Service(memorydb.NewFromConfig)

// Module returns the module aws_memory_db, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:    "aws_memory_db",
		Version: 4,
		Doc: "Durable databases in memory (MemoryDB): clusters, their subnet groups and their security " +
			"groups.",
		Dependencies: []string{"aws_security_group"},
		Resources:    []modules.Resource{newSubnetGroup(c), newCluster(c), newGroups(c)},
	}
}

// name declares the column with an object's name.
func name(column, member, input, doc string) declare.Column {
	return declare.Name(column, member, doc).In(input).Matches(`^[a-z][a-z0-9-]*$`)
}

func tags() declare.Column {
	return declare.Tags("TagList", (*memorydb.Client).TagResource,
		(*memorydb.Client).UntagResource).From(declare.Call((*memorydb.Client).ListTags))
}

// newSubnetGroup declares the table subnet_group.
func newSubnetGroup(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[mdbtypes.SubnetGroup]{
		Name:    "subnet_group",
		Doc:     "Subnet groups: the subnets that clusters are put into.",
		Service: service,
		Columns: []declare.Column{
			name("subnet_group_name", "Name", "SubnetGroupName",
				"The group's name: lowercase letters, digits and hyphens, a letter first."),
			declare.Text("description", "Description", "What it is for.").Unset(modules.Text("")),
			declare.Texts("subnets", "Subnets[].Identifier",
				"The ids of its subnets, such as subnet-0a1b2c3d, of one VPC.").
				In("SubnetIds").Required().Unordered().Check("cardinality(subnets) > 0").
				Records("subnet", "subnet_id", 4),
			declare.Text("vpc_id", "VpcId", "The id of the VPC that the subnets are parts of.").Computed(),
			declare.ARN("arn", "ARN"),
			tags(),
		},
		Published:           declare.Published{Type: "AWS::MemoryDB::SubnetGroup", Since: 3},
		DestroyBeforeCreate: true,

		Kind:    "subnetgroup/",
		List:    declare.Pages(memorydb.NewDescribeSubnetGroupsPaginator, "SubnetGroups"),
		Get:     declare.One(declare.Call((*memorydb.Client).DescribeSubnetGroups), "SubnetGroups[0]"),
		Create:  declare.Call((*memorydb.Client).CreateSubnetGroup),
		Updates: []declare.Update{declare.Modify(declare.Call((*memorydb.Client).UpdateSubnetGroup))},
		Delete:  declare.Call((*memorydb.Client).DeleteSubnetGroup),
		Refuses: []declare.Refusal{{When: func(have modules.Row) bool {
			return have["subnet_group_name"].String() == "default"
		}, Why: "it is the default subnet group, which AWS made by itself",
			Source: "https://docs.aws.amazon.com/memorydb/latest/APIReference/API_DeleteSubnetGroup.html"}},
	})
}
