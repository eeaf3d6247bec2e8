package awsrds

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// subnetGroup is the table db_subnet_group.
type subnetGroup struct {
	clients     *aws.Clients
	description *modules.Table
}

func newSubnetGroup(c *aws.Clients) *subnetGroup {
	return &subnetGroup{clients: c, description: describeSubnetGroup()}
}

func describeSubnetGroup() *modules.Table {
	return &modules.Table{
		Name:     "db_subnet_group",
		Doc:      "Subnet groups: the subnets that database instances are put into.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			nameColumn("name", "The group's name, in lower case."),
			modules.Column{Name: "description", Type: modules.TypeText, Required: true, Check: "length(description) BETWEEN 1 AND 255",
				Doc: "What it is for."},
			modules.Column{Name: "subnets", Type: modules.TypeTexts, Required: true, Unordered: true, Check: "cardinality(subnets) > 0",
				Doc: "The ids of its subnets, such as subnet-0a1b2c3d, of one VPC and in at least two availability zones."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "vpc_id", Type: modules.TypeText, Assigned: true,
				Doc: "The id of the VPC that the subnets are parts of."},
			aws.TagsColumn(),
		),
	}
}

// Table returns the description.
func (r *subnetGroup) Table() *modules.Table { return r.description }

// List gives every group of the scope to page.
func (r *subnetGroup) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, rds.NewDescribeDBSubnetGroupsPaginator(client, &rds.DescribeDBSubnetGroupsInput{MaxRecords: awssdk.Int32(pageSize)}),
		func(out *rds.DescribeDBSubnetGroupsOutput) error {
			rows, err := aws.Read(ctx, out.DBSubnetGroups, func(ctx context.Context, g rdstypes.DBSubnetGroup) (modules.Row, error) {
				return subnetGroupRow(ctx, client, g)
			})
			if err != nil {
				return err
			}
			return page(rows)
		})
}

// Get reads the groups with these names.
func (r *subnetGroup) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		out, err := client.DescribeDBSubnetGroups(ctx, &rds.DescribeDBSubnetGroupsInput{DBSubnetGroupName: identity["name"].Ptr()})
		if err != nil || len(out.DBSubnetGroups) == 0 {
			return nil, err
		}
		return subnetGroupRow(ctx, client, out.DBSubnetGroups[0])
	})
}

func subnetGroupRow(ctx context.Context, client *rds.Client, g rdstypes.DBSubnetGroup) (modules.Row, error) {
	subnets := make([]string, len(g.Subnets))
	for i, s := range g.Subnets {
		subnets[i] = awssdk.ToString(s.SubnetIdentifier)
	}
	tags, err := readTags(ctx, client, g.DBSubnetGroupArn)
	if err != nil {
		return nil, err
	}
	return modules.Row{
		"name":        modules.TextPtr(g.DBSubnetGroupName),
		"description": modules.TextPtr(g.DBSubnetGroupDescription),
		"subnets":     modules.Strings(subnets),
		"arn":         modules.TextPtr(g.DBSubnetGroupArn),
		"vpc_id":      modules.TextPtr(g.VpcId),
		"tags":        tags,
	}, nil
}

// Create creates a group.
func (r *subnetGroup) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateDBSubnetGroup(ctx, &rds.CreateDBSubnetGroupInput{
		DBSubnetGroupName: want["name"].Ptr(), DBSubnetGroupDescription: want["description"].Ptr(),
		SubnetIds: want["subnets"].Strings(), Tags: rdsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"name": want["name"]}, nil
}

// Update changes description and subnets, which are set together, and tags.
func (r *subnetGroup) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "description") || slices.Contains(columns, "subnets") {
		_, err := client.ModifyDBSubnetGroup(ctx, &rds.ModifyDBSubnetGroupInput{
			DBSubnetGroupName: have["name"].Ptr(), DBSubnetGroupDescription: want["description"].Ptr(), SubnetIds: want["subnets"].Strings(),
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, have, want)
	}
	return nil
}

// Delete deletes a group, which no instance may use.
func (r *subnetGroup) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteDBSubnetGroup(ctx, &rds.DeleteDBSubnetGroupInput{DBSubnetGroupName: have["name"].Ptr()})
	return aws.IfExists(err)
}
