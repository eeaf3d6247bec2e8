package awsaccount

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// notOptedIn is the opt_in_status of regions that the account cannot use.
const notOptedIn = "not-opted-in"

// some refuses an answer without regions: every account has those that nobody has to opt
// in to (AWS Account Management Reference Guide, "Enable or disable AWS Regions"), and
// whoever believed it would forget all that is in them.
func some(out *ec2.DescribeRegionsOutput) error {
	if len(out.Regions) > 0 {
		return nil
	}
	return &modules.Error{Class: modules.Transient, Code: "NoRegions",
		Message: "EC2:DescribeRegions says that the account has no region at all, and every account has some. " +
			aws.Disbelieved}
}

// newRegions declares the table aws_regions. Regions are AWS's to make: its rows
// can be neither inserted nor deleted, only told to be the default or not looked
// at.
func newRegions(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.Region]{
		Name:           "aws_regions",
		Doc:            "The regions that are enabled for each account.",
		Service:        declare.Service(ec2.NewFromConfig).InRegion(""),
		PerAccount:     true,
		DefinesRegions: true,
		Columns: []declare.Column{
			declare.ID("region", "RegionName", "The region's name, such as us-east-1.").Required(),
			declare.Text("opt_in_status", "OptInStatus",
				"opt-in-not-required, or opted-in for regions that the account had to ask for.").Computed(),
			declare.Bool("is_default", "",
				"Whether rows that name no region are in this one. Setting it here unsets it elsewhere in the "+
					"account.").Default("false").Local(),
			declare.Bool("is_enabled", "",
				"Whether the engine looks at the region. Where it does not, nothing is changed on either side.").
				Default("true").Local(),
		},

		// DescribeRegions has no pages. Regions that are not opted in to are left out
		// by AWS when it is not asked for all (page DescribeRegions), and here whatever
		// the server does.
		EventMappings: modules.EventMappings("account.amazonaws.com",
			modules.Unnamed("EnableRegion", "DisableRegion"),
		),
		List: declare.Once(declare.Call((*ec2.Client).DescribeRegions,
			declare.With(&ec2.DescribeRegionsInput{AllRegions: awssdk.Bool(false)}), declare.Checked(some)), "Regions"),
		Get:  declare.Search(),
		Gone: func(r *ec2types.Region) bool { return awssdk.ToString(r.OptInStatus) == notOptedIn },
		Rows: func(ctx context.Context, s *declare.Step, _ []*ec2types.Region, rows []modules.Row) error {
			standard, err := s.Clients.DefaultRegion(ctx, modules.Scope{Account: s.Scope.Account})
			for _, row := range rows {
				row["is_default"], row["is_enabled"] = modules.Bool(row["region"].String() == standard),
					modules.Bool(true)
			}
			return err
		},
	})
}
