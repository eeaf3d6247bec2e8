// Package awssecretsmanager is the module aws_secrets_manager: secrets.
//
// It promises what the contract in package modules asks of its table secret. A
// secret's name is its identity and unique in the account and region, so that
// creations are found again by name. Values are written and never read.
//
// It is long because replicas are added, ended and encrypted one by one, in other regions, and a secret is not deleted
// before they are.
package awssecretsmanager

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_secrets_manager, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_secrets_manager",
		Version:      4,
		Doc:          "Secrets of Secrets Manager.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newSecret(c)},
	}
}
