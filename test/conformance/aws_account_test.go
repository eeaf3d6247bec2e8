package conformance

// The other tables of the module say how to reach accounts, and have no
// counterpart.
var awsAccount = Module{
	Name: "aws_account",
	Tables: []Table{{
		Name: "aws_regions", Identity: "region",
		Listed: `ec2 describe-regions --query Regions[?OptInStatus!=\'not-opted-in\'].RegionName`,
	}},
}
