// Package awsecsfargate is the module aws_ecs_fargate: containers that run
// without servers of one's own.
//
// It promises what the contract in package modules asks of its tables. A
// cluster's name is its identity. A revision of a task definition cannot be
// changed: changing its row registers another and retires the old one. Subnets
// and security groups of a service, which ECS sets together, are a column and a
// table: what changes one keeps the other.
//
// It is long because a task definition has documents that AWS spells anew and completes, scaling is of another service,
// and a service keeps its network as a whole.
package awsecsfargate

import (
	_ "embed"

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
		Name:    "aws_ecs_fargate",
		Version: 7,
		Doc: "Clusters, task definitions and services of the Elastic Container Service (ECS), and what " +
			"scales services.",
		Dependencies: []string{"aws_elb", "aws_iam"},
		Resources: []modules.Resource{newCluster(c), newTaskDefinition(c), newService(c, groups), groups,
			newScalingTarget(c), newScalingPolicy(c)},
		Functions:  []*modules.Function{runTask(c), deployService(c)},
		Migrations: map[int]string{1: after},
	}
}
