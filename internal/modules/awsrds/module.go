// Package awsrds is the module aws_rds: relational databases.
//
// It promises what the contract in package modules asks of its tables. The
// names of its objects are identities and unique in a region, so that creations
// are found again by name. Instances and clusters take minutes to come, to
// change and to go; what has been asked of one and is under way counts as what
// it has.
//
// There are two kinds of clusters. The instances of an Aurora cluster are
// records that users make; those of a Multi-AZ DB cluster AWS makes and deletes
// with the cluster, so that the engine never does. What a cluster decides for its
// members is NULL in their records: a change of the cluster changes them in no
// column, and no mode can set the two against each other.
package awsrds

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// pageSize is the most results a page of RDS's Describe operations may have.
	pageSize = 100
	// auroraPrefix begins the names of Aurora's engines.
	auroraPrefix = "aurora"
)

// Module returns the module aws_rds, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_rds",
		Version:      1,
		Doc:          "Relational databases (RDS): instances, clusters, and their security groups, parameter groups and subnet groups.",
		Dependencies: []string{"aws_security_group"},
		Resources: []modules.Resource{
			newParameterGroup(c), newSubnetGroup(c), newCluster(c), newClusterGroups(c), newInstance(c), newInstanceGroups(c),
		},
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

// filtered calls read with a filter on the names, as many times as it takes;
// once and without one if names is nil.
func filtered(filter string, names []string, read func([]rdstypes.Filter) error) error {
	if names == nil {
		return read(nil)
	}
	for some := range slices.Chunk(names, pageSize) {
		if err := read([]rdstypes.Filter{{Name: &filter, Values: some}}); err != nil {
			return err
		}
	}
	return nil
}

// underWay has what was asked for and is under way count as what there is, so
// that it is not asked again.
func underWay(row, pending modules.Row) {
	for column, v := range pending {
		if !v.IsNull() {
			row[column] = v
		}
	}
}

// unlessDeleting returns the error of a deletion, nil for what is gone or being
// deleted: that is refused by its state.
func unlessDeleting(ctx context.Context, r modules.Resource, scope modules.Scope, have modules.Row, status string, err error) error {
	if err == nil || modules.ClassOf(err) != modules.Dependency {
		return aws.IfExists(err)
	}
	rows, failed := r.Get(ctx, scope, []modules.Row{have})
	if failed == nil && (len(rows) == 0 || rows[0][status].String() == "deleting") {
		return nil
	}
	return err
}

func boolPtr(v modules.Value) *bool {
	if v.IsNull() {
		return nil
	}
	return awssdk.Bool(v.Bool())
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
