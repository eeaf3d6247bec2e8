// Package awssecuritygroup is the module aws_security_group: the firewalls of
// VPCs and their rules.
//
// It promises what the contract in package modules asks of its tables
// security_group and security_group_rule. Rules are objects of their own, so
// that two groups can name each other, or a group itself, whatever the order in
// which they are made.
//
// It is long because rules are made and revoked many in one call, whose answer does not tell which is whose; each is
// found again by a mark in its tags.
package awssecuritygroup

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

//go:embed unique.sql
var uniqueRules string

// Module returns the module aws_security_group, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_security_group",
		Version:      4,
		Doc:          "Security groups, the firewalls of VPCs, and their rules.",
		Dependencies: []string{"aws_vpc"},
		Resources:    []modules.Resource{newGroup(c), newRule(c)},
		Migrations:   map[int]string{1: uniqueRules},
	}
}
