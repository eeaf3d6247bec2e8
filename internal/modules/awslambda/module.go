// Package awslambda is the module aws_lambda: functions that run without
// servers, and their security groups.
//
// It promises what the contract in package modules asks of its tables. A
// function's name is its identity and unique in a region, so that creations are
// found again by name. Code is pushed and not read back; its hash tells which
// code runs. Subnets and security groups, which Lambda sets together, are a
// column and a table: what changes one keeps the other.
//
// It is long because code and configuration are changed by two calls that wait for each other, a runtime's management
// is a third, the network is one member of three columns, and one function calls functions.
package awslambda

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

//go:embed sql/after.sql
var after string

// Module returns the module aws_lambda, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	groups := newSecurityGroups(c)
	return &modules.Module{
		Name:         "aws_lambda",
		Version:      8,
		Doc:          "Functions that run without servers (Lambda).",
		Dependencies: []string{"aws_iam", "aws_security_group"},
		Resources:    []modules.Resource{newFunction(c, groups), groups},
		Functions:    []*modules.Function{invoke(c)},
		Migrations:   map[int]string{1: after},
	}
}
