package awsrds

import (
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
)

// newSubnetGroup declares the table db_subnet_group.
func newSubnetGroup(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[rdstypes.DBSubnetGroup]{
		Name:    "db_subnet_group",
		Doc:     "Subnet groups: the subnets that database instances are put into.",
		Service: declare.Service(rds.NewFromConfig),
		Columns: []declare.Column{
			name("name", "DBSubnetGroupName", "The group's name, in lower case."),
			description("DBSubnetGroupDescription", "What it is for."),
			declare.Texts("subnets", "Subnets[].SubnetIdentifier",
				"The ids of its subnets, such as subnet-0a1b2c3d, of one VPC and in at least two availability zones.").
				In("SubnetIds").Required().Unordered().Check("cardinality(subnets) > 0").
				Records("subnet", "subnet_id", 6),
			arn("DBSubnetGroupArn"),
			declare.Text("vpc_id", "VpcId", "The id of the VPC that the subnets are parts of.").Computed(),
			tagsApart(),
		},
		Published: declare.Published{Type: "AWS::RDS::DBSubnetGroup", Since: 5},

		Kind:   "subgrp:",
		List:   declare.Pages(rds.NewDescribeDBSubnetGroupsPaginator, "DBSubnetGroups", declare.PageSize(pageSize)),
		Get:    declare.One(declare.Call((*rds.Client).DescribeDBSubnetGroups), "DBSubnetGroups[0]"),
		Create: declare.Call((*rds.Client).CreateDBSubnetGroup),
		Updates: []declare.Update{declare.Replace(declare.Call((*rds.Client).ModifyDBSubnetGroup), "description",
			"subnets")},
		Delete: declare.Call((*rds.Client).DeleteDBSubnetGroup),
	})
}
