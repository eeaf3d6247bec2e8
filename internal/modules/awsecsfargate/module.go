// Package awsecsfargate is the module aws_ecs_fargate: containers that run
// without servers of one's own.
//
// It promises what the contract in package modules asks of its tables. A
// cluster's name is its identity. A revision of a task definition cannot be
// changed: changing its row registers another and retires the old one. Subnets
// and security groups of a service, which ECS sets together, are a column and a
// table: what changes one keeps the other.
package awsecsfargate

import (
	"context"
	_ "embed"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

//go:embed sql/after.sql
var after string

// inactive is the status of what has been deleted and is still told of.
const inactive = "INACTIVE"

// Module returns the module aws_ecs_fargate, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	groups := newSecurityGroups(c)
	return &modules.Module{
		Name:         "aws_ecs_fargate",
		Version:      1,
		Doc:          "Clusters, task definitions and services of the Elastic Container Service (ECS).",
		Dependencies: []string{"aws_elb", "aws_iam"},
		Resources:    []modules.Resource{newCluster(c), newTaskDefinition(c), newService(c, groups), groups},
		Functions:    []*modules.Function{runTask(c), deployService(c)},
		Migrations:   map[int]string{1: after},
	}
}

var ecsTags = aws.TagType[ecstypes.Tag]{
	Split: func(t ecstypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) ecstypes.Tag { return ecstypes.Tag{Key: key, Value: value} },
}

func client(ctx context.Context, c *aws.Clients, scope modules.Scope) (*ecs.Client, error) {
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) *ecs.Client { return ecs.NewFromConfig(cfg) })
}

func updateTags(ctx context.Context, client *ecs.Client, arn *string, have, want modules.Row) error {
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &ecs.TagResourceInput{ResourceArn: arn, Tags: ecsTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &ecs.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		})
}
