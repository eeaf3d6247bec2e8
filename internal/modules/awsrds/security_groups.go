package awsrds

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newInstanceGroups makes the table rds_security_groups.
func newInstanceGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("rds_security_groups",
			"The security groups of database instances. One that has no other has the default group of its VPC. "+
				"Members of a cluster have the cluster's: db_cluster_security_groups.",
			modules.Column{Name: "rds_id", References: &modules.Reference{Table: "rds", Key: "db_instance_identifier"},
				Doc: "The instance."},
			modules.EventMappings("rds.amazonaws.com", modules.Request("dBInstanceIdentifier", "ModifyDBInstance"))...),
		Owner:  "rds_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(newInstance(c), declare.Identity("db_instance_identifier"),
			func(db *rdstypes.DBInstance) aws.MemberList {
				list := aws.MemberList{Owner: awssdk.ToString(db.DBInstanceIdentifier)}
				if db.DBClusterIdentifier == nil {
					list.Members = groupsOf(db.VpcSecurityGroups)
				}
				return list
			}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := declare.Client(ctx, c, scope, rds.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.ModifyDBInstance(ctx, &rds.ModifyDBInstanceInput{
				DBInstanceIdentifier: &have.Owner, VpcSecurityGroupIds: want, ApplyImmediately: awssdk.Bool(true),
			})
			return err
		},
		Standard: standardGroup(c),
	}
}

// newClusterGroups makes the table db_cluster_security_groups.
func newClusterGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("db_cluster_security_groups",
			"The security groups of database clusters and their instances. A cluster that has no other has the "+
				"default group of its VPC.",
			modules.Column{Name: "db_cluster_id",
				References: &modules.Reference{Table: "db_cluster", Key: "db_cluster_identifier"}, Doc: "The cluster."},
			modules.EventMappings("rds.amazonaws.com", modules.Request("dBClusterIdentifier", "ModifyDBCluster"))...),
		Owner:  "db_cluster_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(newCluster(c), declare.Identity("db_cluster_identifier"),
			func(db *rdstypes.DBCluster) aws.MemberList {
				return aws.MemberList{Owner: awssdk.ToString(db.DBClusterIdentifier),
					Members: groupsOf(db.VpcSecurityGroups)}
			}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := declare.Client(ctx, c, scope, rds.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.ModifyDBCluster(ctx, &rds.ModifyDBClusterInput{
				DBClusterIdentifier: &have.Owner, VpcSecurityGroupIds: want, ApplyImmediately: awssdk.Bool(true),
			})
			return err
		},
		Standard: standardGroup(c),
	}
}

// groupsOf returns the ids of the groups, without those that are on their way
// out.
func groupsOf(memberships []rdstypes.VpcSecurityGroupMembership) []string {
	var ids []string
	for _, m := range memberships {
		if awssdk.ToString(m.Status) != "removing" {
			ids = append(ids, awssdk.ToString(m.VpcSecurityGroupId))
		}
	}
	return ids
}

// standardGroup returns what finds the group that a database has when there is
// no other: the default group of the VPC that the groups it has are of, since
// RDS does not tell a cluster's VPC.
func standardGroup(c *aws.Clients) func(context.Context, modules.Scope, aws.MemberList) (string, error) {
	return func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
		return c.DefaultGroupLike(ctx, scope, list.Members[0])
	}
}
