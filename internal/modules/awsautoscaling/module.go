// Package awsautoscaling is the module aws_autoscaling: Auto Scaling groups of
// EC2, and the launch templates that their instances are made from.
//
// It promises what the contract in package modules asks of its tables. Names
// are unique in a region, and so a creation is found again by its name. A group
// is never deleted with its instances: ForceDelete, which does that, is not used.
//
// It is long because a group's hooks, notifications, warm pool and propagated tags are objects of their own to the API,
// each with its calls, and one column here; and a template is changed by a new version of it, which has to become the
// default.
package awsautoscaling

import (
	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Module returns the module aws_autoscaling, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_autoscaling", Version: 5,
		Doc:          "Launch templates, and the Auto Scaling groups of instances made from them.",
		Dependencies: []string{"aws_elb", "aws_security_group", "aws_vpc"},
		Resources:    []modules.Resource{newLaunchTemplate(c), newGroup(c)},
	}
}

// ofNodeGroup says that EKS made an object, whose tag eks:nodegroup-name says for
// which node group (Amazon EKS User Guide, "Simplify node lifecycle with managed
// node groups").
var ofNodeGroup = declare.IfSet("eks_nodegroup", "EKS made it for the node group %s, and deletes it with that")
