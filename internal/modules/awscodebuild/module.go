// Package awscodebuild is the module aws_codebuild: build projects, their builds
// and the credentials of source repositories.
//
// It promises what the contract in package modules asks of its tables. A
// project's name is its identity; a region has one credential for each kind of
// source provider. Builds are started by the function codebuild_start_build, and
// not by a row: CodeBuild knows the token of a start for five minutes only, after
// which a start whose answer was lost would happen twice.
package awscodebuild

import (
	"github.com/aws/aws-sdk-go-v2/service/codebuild"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// most is how many projects, or builds, are read by one call (pages
// BatchGetProjects and BatchGetBuilds of the AWS CodeBuild API Reference).
const most = 100

var service = declare.Service(codebuild.NewFromConfig)

// Module returns the module aws_codebuild, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:    "aws_codebuild",
		Version: 3,
		Doc: "Projects that build software, their builds, and the credentials of source repositories " +
			"(CodeBuild).",
		Dependencies: []string{"aws_iam"},
		Resources:    []modules.Resource{newProject(c), newSourceCredentials(c), newBuild(c)},
		Functions:    []*modules.Function{start(c), buildImage(c)},
	}
}
