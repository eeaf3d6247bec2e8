// Package awsecr is the module aws_ecr: private and public registries of
// container images.
//
// It promises what the contract in package modules asks of its tables. A
// repository's name is its identity; its policy is an object of its own, as
// users of IaSQL know it; its images are pushed by other means, and can be
// looked at and deleted here.
//
// Public registries are another service, which not every account and endpoint
// knows: their tables are their own, so that nothing else fails with them.
package awsecr

import (
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most results a page of ECR's Describe operations may have.
const pageSize = 1000

// Module returns the module aws_ecr, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_ecr",
		Version:      2,
		Doc:          "Private and public repositories of container images (Elastic Container Registry, ECR).",
		Dependencies: []string{"aws_account"},
		Resources: []modules.Resource{newRepository(c), newPolicy(c), newImage(c), newPublicRepository(c),
			newPublicImage(c)},
	}
}

// repositories lists the private repositories.
func repositories() *declare.Listing {
	return declare.Pages(ecr.NewDescribeRepositoriesPaginator, "Repositories", declare.PageSize(pageSize))
}

// ofRepository declares the column that names the repository an object is of.
func ofRepository(name string, part modules.Part, doc string) declare.Column {
	return declare.Ref(name, "RepositoryName", "repository", "repository_name",
		doc).Required().Identity().Part(part, "")
}
