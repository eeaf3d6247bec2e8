// Package awsec2metadata is the module aws_ec2_metadata: facts of instances that
// nobody sets.
//
// It promises what the contract in package modules asks of a table that is only
// read.
package awsec2metadata

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_ec2_metadata, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_ec2_metadata",
		Version:      1,
		Doc:          "Facts of instances (EC2): addresses, processors, memory, root device.",
		Dependencies: []string{"aws_ec2"},
		Resources:    []modules.Resource{newMetadata(c)},
	}
}
