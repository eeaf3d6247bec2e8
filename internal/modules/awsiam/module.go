// Package awsiam is the module aws_iam: roles, users and their access keys.
//
// It promises what the contract in package modules asks of its tables iam_role,
// iam_user and access_key. Names are identities and unique in the account, so
// that creations are found again by name. Roles and users are listed with all
// their policies by GetAccountAuthorizationDetails, rather than by several calls
// for each.
//
// It is long because attached and inline policies are sets with a call for each member, users and roles share them, and
// passwords and access keys are functions whose answers are told once.
package awsiam

import (
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Module returns the module aws_iam, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_iam",
		Version:      7,
		Doc:          "Roles, users and access keys of Identity and Access Management (IAM).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newRole(c), newUser(c), newAccessKey(c)},
		Functions:    []*modules.Function{setPassword(c), requestAccessKey(c)},
	}
}

// service is IAM, which has no regions.
var service = declare.Service(iam.NewFromConfig).InRegion("")
