// Package awsrds is the module aws_rds: relational databases.
//
// It promises what the contract in package modules asks of its tables. The
// names of its objects are identities and unique in a region, so that creations
// are found again by name. Instances take minutes to come, to change and to go;
// what has been asked of one and is under way counts as what it has.
package awsrds

import (
	"context"
	"maps"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// pageSize is the most results a page of RDS's Describe operations may have.
const pageSize = 100

// Module returns the module aws_rds, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_rds",
		Version:      1,
		Doc:          "Relational databases (RDS): instances, their parameter groups and subnet groups.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newParameterGroup(c), newSubnetGroup(c), newInstance(c)},
	}
}

var rdsTags = aws.TagType[rdstypes.Tag]{
	Split: func(t rdstypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) rdstypes.Tag { return rdstypes.Tag{Key: key, Value: value} },
}

func client(ctx context.Context, c *aws.Clients, scope modules.Scope) (*rds.Client, error) {
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) *rds.Client { return rds.NewFromConfig(cfg) })
}

// nameColumn describes the column with an object's name, which RDS keeps in
// lower case.
func nameColumn(name, doc string) modules.Column {
	return modules.Column{Name: name, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: "length(" + name + ") BETWEEN 1 AND 255 AND " + name + " ~ '^[a-z0-9][a-z0-9._ -]*$'", Doc: doc}
}

func readTags(ctx context.Context, client *rds.Client, arn *string) (modules.Value, error) {
	out, err := client.ListTagsForResource(ctx, &rds.ListTagsForResourceInput{ResourceName: arn})
	if err != nil {
		return modules.Null, err
	}
	return rdsTags.Value(out.TagList), nil
}

func updateTags(ctx context.Context, client *rds.Client, have, want modules.Row) error {
	arn := have["arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.AddTagsToResource(ctx, &rds.AddTagsToResourceInput{ResourceName: arn, Tags: rdsTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.RemoveTagsFromResource(ctx, &rds.RemoveTagsFromResourceInput{ResourceName: arn, TagKeys: keys})
			return err
		})
}

// sameStrings reports whether two JSON objects hold the same once all their
// members are texts: 100 and "100" are the same to RDS.
func sameStrings(a, b string) bool {
	return maps.Equal(modules.Text(a).StringMap(), modules.Text(b).StringMap())
}

// sameVersion reports whether one version is the other or a less exact name of
// it: asked for "15", RDS installs, and tells, "15.8".
func sameVersion(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}
