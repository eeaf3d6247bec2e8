// Package awsvpc is the module aws_vpc: virtual private clouds and their
// subnets.
//
// It promises what the contract in package modules asks of its tables vpc and
// subnet. Both are created with a tag that holds the creation's token, because
// CreateVpc and CreateSubnet take no client token.
package awsvpc

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_vpc, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_vpc",
		Version:      1,
		Doc:          "Virtual private clouds (VPC) and their subnets.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newVPC(c), newSubnet(c)},
	}
}
