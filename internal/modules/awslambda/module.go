// Package awslambda is the module aws_lambda: functions that run without
// servers.
//
// It promises what the contract in package modules asks of its table
// lambda_function. A function's name is its identity and unique in a region, so
// that creations are found again by name. Code is pushed and not read back; its
// hash tells which code runs.
package awslambda

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_lambda, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_lambda",
		Version:      1,
		Doc:          "Functions that run without servers (Lambda).",
		Dependencies: []string{"aws_iam"},
		Resources:    []modules.Resource{newFunction(c)},
		Functions:    []*modules.Function{invoke(c)},
	}
}
