// Package awsorganizations is the module aws_organizations: the accounts of an organization, and rules by which they
// are added to aws_account.
//
// It promises that a rule only ever adds: an account that leaves the organization, or is suspended, stays in
// aws_account with all that is known of it, until somebody removes it there.
package awsorganizations

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_organizations, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_organizations", Version: 1,
		Doc:          "The accounts of an organization (AWS Organizations), and rules by which they are managed, too.",
		Dependencies: []string{"aws_account"}, Resources: []modules.Resource{newAccount(c)},
		Migrations: map[int]string{1: rules}, Drop: drop,
	}
}

var (
	// rules makes the table of rules, and what applies them.
	//
	//go:embed sql/rules.sql
	rules string
	//go:embed sql/drop.sql
	drop string
)
