package conformance

var awsOrganizations = Module{
	Name: "aws_organizations",
	CLI: []string{`organizations create-organization --feature-set ALL`,
		`organizations create-account --account-name shop --email shop@example.com`},
	Tables: []Table{{
		Name: "organization_account", Identity: "aws_account_id",
		Listed: `organizations list-accounts --query Accounts[].Id`,
	}},
}
