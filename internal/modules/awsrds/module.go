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
//
// It is long because an instance is made in four ways (new, from a snapshot, of a time, as a replica), what is asked of
// it waits for a window beside what it has, and roles, log exports and volumes change by what is added and what is
// removed.
package awsrds

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/rds"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
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
		Name:    "aws_rds",
		Version: 6,
		Doc: "Relational databases (RDS): instances, clusters, and their security groups, parameter groups " +
			"and subnet groups.",
		Dependencies: []string{"aws_security_group"},
		Resources: []modules.Resource{
			newParameterGroup(c), newSubnetGroup(c), newCluster(c), newClusterGroups(c), newInstance(c),
			newInstanceGroups(c),
		},
	}
}

// name declares the column with an object's name, which RDS keeps in lower case.
func name(column, member, doc string) declare.Column {
	return declare.Name(column, member, doc).Check("length(" + column + ") BETWEEN 1 AND 255 AND " + column +
		" ~ '^[a-z0-9][a-z0-9._ -]*$'")
}

// description declares the column description.
func description(member, doc string) declare.Column {
	return declare.Text("description", member, doc).Required().Check("description <> ''")
}

// finalSnapshots is what the documentation says of deletions.
const finalSnapshots = "Deleting one deletes its data, after a final snapshot: its name, -final- and the time (IaSQL " +
	"took none, and nor did this module before version 3). " +
	"The snapshot costs until it is deleted; skip_final_snapshot does without it, and deletion_protection keeps " +
	"the data."

// arn declares the column arn, by which tags are read and changed.
func arn(member string) declare.Column { return declare.ARN("arn", member).In("ResourceName") }

// tagsApart declares the column tags where a call of its own reads it.
func tagsApart(options ...declare.Option) declare.Column {
	return tagList("TagList").From(declare.Call((*rds.Client).ListTagsForResource, options...))
}

func tagList(member string) declare.Column {
	return declare.Tags(member, (*rds.Client).AddTagsToResource, (*rds.Client).RemoveTagsFromResource)
}

// underWay says that what was asked for and is under way counts as what there
// is, so that it is not asked again.
func underWay(c declare.Column) declare.Column { return c.First("PendingModifiedValues." + c.Member()) }

// sameStrings reports whether two JSON objects hold the same once all their
// members are texts: 100 and "100" are the same to RDS.
func sameStrings(a, b string) bool {
	return maps.Equal(modules.Text(a).StringMap(), modules.Text(b).StringMap())
}
