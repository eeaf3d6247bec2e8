// Package awss3 is the module aws_s3: buckets.
//
// It promises what the contract in package modules asks of its table bucket. A
// bucket's name is its identity and unique in all of AWS, so that creations are
// found again by name.
package awss3

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_s3, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_s3",
		Version:      1,
		Doc:          "Buckets of the Simple Storage Service (S3).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newBucket(c)},
	}
}
