// Package awscloudfront is the module aws_cloudfront: distributions of CloudFront,
// and what they sign requests to their origins with.
//
// It promises what the contract in package modules asks of its tables. CloudFront
// is one service for the world, so that each account has one listing.
//
// UpdateDistribution replaces the whole configuration. A change reads it, puts in
// what has changed, and sends it with the version that it has read (If-Match):
// what no column shows stays as it is. That version, the ETag, is no column: each
// change makes another, and only the one read just before a change is of any use.
//
// It is long because UpdateDistribution takes the whole configuration with its ETag, fills in what it is not told, and
// counts each list beside it; and an origin names its access control by an id that another record has.
package awscloudfront

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

var (
	//go:embed sql/functions.sql
	functions string
	//go:embed sql/after.sql
	after string
	//go:embed sql/names.sql
	names string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_cloudfront, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_cloudfront", Version: 5, Doc: "Distributions of CloudFront, AWS's content delivery network.",
		Dependencies: []string{"aws_acm"}, Resources: []modules.Resource{newOriginAccessControl(c), newDistribution(c)},
		Migrations: map[int]string{2: functions + after, 5: functions + names}, Drop: drop,
	}
}
