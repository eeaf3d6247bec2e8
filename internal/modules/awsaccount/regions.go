package awsaccount

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// notOptedIn is the opt_in_status of regions that the account cannot use.
const notOptedIn = "not-opted-in"

// regions is the table aws_regions. Regions are AWS's to make: its rows can be
// neither inserted nor deleted, only told to be the default or not looked at.
type regions struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRegions(c *aws.Clients) *regions {
	return &regions{clients: c, description: describeRegions()}
}

func describeRegions() *modules.Table {
	return &modules.Table{
		Name:           "aws_regions",
		Doc:            "The regions that are enabled for each account.",
		Provider:       aws.Provider,
		Reach:          modules.PerAccount,
		DefinesRegions: true,
		Columns: aws.PerAccount(
			modules.Column{Name: "region", Type: modules.TypeText, Required: true, Identity: true, Assigned: true,
				Doc: "The region's name, such as us-east-1."},
			modules.Column{Name: "opt_in_status", Type: modules.TypeText, Assigned: true,
				Doc: "opt-in-not-required, or opted-in for regions that the account had to ask for."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Required: true, Default: "false", Local: true,
				Doc: "Whether rows that name no region are in this one. Setting it here unsets it elsewhere in the account."},
			modules.Column{Name: "is_enabled", Type: modules.TypeBool, Required: true, Default: "true", Local: true,
				Doc: "Whether the engine looks at the region. Where it does not, nothing is changed on either side."},
		),
	}
}

// Table returns the description.
func (r *regions) Table() *modules.Table { return r.description }

// List gives the regions that are enabled for the account to page.
func (r *regions) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	rows, err := r.describe(ctx, scope)
	if err != nil {
		return err
	}
	return page(rows)
}

// Get reads the regions with these names.
func (r *regions) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	rows, err := r.describe(ctx, scope)
	if err != nil {
		return nil, err
	}
	names := aws.Column(identities, "region")
	return slices.DeleteFunc(rows, func(row modules.Row) bool { return !slices.Contains(names, row["region"].String()) }), nil
}

// describe reads the enabled regions, all in one call: DescribeRegions has no
// pages. Regions that are not opted in to are left out by AWS when it is not
// asked for all (page DescribeRegions), and here whatever the server does.
func (r *regions) describe(ctx context.Context, scope modules.Scope) ([]modules.Row, error) {
	scope = modules.Scope{Account: scope.Account}
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	standard, err := r.clients.DefaultRegion(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.DescribeRegions(ctx, &ec2.DescribeRegionsInput{AllRegions: awssdk.Bool(false)})
	if err != nil {
		return nil, err
	}
	rows := make([]modules.Row, 0, len(out.Regions))
	for _, region := range out.Regions {
		if awssdk.ToString(region.OptInStatus) == notOptedIn {
			continue
		}
		rows = append(rows, modules.Row{
			"region":        modules.TextPtr(region.RegionName),
			"opt_in_status": modules.TextPtr(region.OptInStatus),
			"is_default":    modules.Bool(awssdk.ToString(region.RegionName) == standard),
			"is_enabled":    modules.Bool(true),
		})
	}
	return rows, nil
}
