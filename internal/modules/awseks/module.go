// Package awseks is the module aws_eks: Kubernetes clusters of Amazon EKS, and
// their managed node groups.
//
// It promises what the contract in package modules asks of its tables. Names
// are the identities, by which a creation is found again. EKS makes one change of
// an object at a time, and refuses others meanwhile, which then wait.
//
// It is long because a cluster and its node groups take one change at a time and a call for each kind, and are there
// long before they can be used.
package awseks

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_eks, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_eks", Version: 5, Doc: "Kubernetes clusters (EKS) and their managed node groups.",
		Dependencies: []string{"aws_autoscaling", "aws_iam"},
		Resources:    []modules.Resource{newCluster(c), newNodeGroup(c)},
	}
}
