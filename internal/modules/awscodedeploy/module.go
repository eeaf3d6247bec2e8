// Package awscodedeploy is the module aws_codedeploy: applications, the groups of
// machines that they are deployed to, and deployments.
//
// It promises what the contract in package modules asks of its tables. Names are
// identities. Deployments are started by the function codedeploy_deploy, and not by
// a row: CreateDeployment takes no token and a deployment no tag, so that a start
// whose answer was lost could not be told from one that has not happened.
package awscodedeploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// How many applications and deployments are read by one call (pages
// BatchGetApplications and BatchGetDeployments of the CodeDeploy API Reference).
const (
	mostApplications = 100
	mostDeployments  = 25
)

var service = declare.Service(codedeploy.NewFromConfig)

// Module returns the module aws_codedeploy, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_codedeploy",
		Version:      3,
		Doc:          "Applications, the groups of machines that they are deployed to, and deployments (CodeDeploy).",
		Dependencies: []string{"aws_iam"},
		Resources:    []modules.Resource{newApplication(c), newGroup(c), newDeployment(c)},
		Functions:    []*modules.Function{deploy(c)},
	}
}

// tags declares the column tags. No call tells an ARN, by which tags are read and
// changed: it is made of what resource returns (CodeDeploy User Guide, "Resources
// and operations").
func tags(resource func(modules.Row) string) declare.Column {
	arn := func(ctx context.Context, s *declare.Step) (*string, error) {
		account, err := s.Clients.AccountID(ctx, s.Scope)
		if err != nil {
			return nil, err
		}
		partition := "aws"
		if of, _, ok := strings.Cut(s.Scope.Region, "-"); ok && of == "cn" {
			partition = "aws-cn"
		} else if strings.HasPrefix(s.Scope.Region, "us-gov-") {
			partition = "aws-us-gov"
		}
		text := fmt.Sprintf("arn:%s:codedeploy:%s:%s:%s", partition, s.Scope.Region, account, resource(s.Have))
		return &text, nil
	}
	return declare.TagsBy("Tags",
		declare.Call((*codedeploy.Client).TagResource,
			declare.Edit(func(ctx context.Context, s *declare.Step, in *codedeploy.TagResourceInput) (err error) {
				in.ResourceArn, err = arn(ctx, s)
				return err
			})),
		declare.Call((*codedeploy.Client).UntagResource,
			declare.Edit(func(ctx context.Context, s *declare.Step, in *codedeploy.UntagResourceInput) (err error) {
				in.ResourceArn, err = arn(ctx, s)
				return err
			})),
	).From(declare.Call((*codedeploy.Client).ListTagsForResource,
		declare.Edit(func(ctx context.Context, s *declare.Step, in *codedeploy.ListTagsForResourceInput) (err error) {
			in.ResourceArn, err = arn(ctx, s)
			return err
		})))
}

// applications lists the names of the applications.
func applications() *declare.Listing {
	return declare.Pages(codedeploy.NewListApplicationsPaginator, "Applications")
}

// newApplication declares the table codedeploy_application.
func newApplication(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[cdtypes.ApplicationInfo]{
		Name:    "codedeploy_application",
		Doc:     "Applications that are deployed. Deleting one deletes its deployment groups.",
		Service: service,
		Columns: []declare.Column{
			declare.Name("name", "ApplicationName", "The application's name, up to 100 characters.").Length(1, 100),
			declare.Text("compute_platform", "ComputePlatform",
				"What it runs on: Server, the default, Lambda or ECS.").Default("'Server'").OneOf("Server", "Lambda",
				"ECS").CreateOnly(),
			declare.Text("application_id", "ApplicationId", "Its id; NULL until it is created.").Computed(),
			tags(func(have modules.Row) string { return "application:" + have["name"].String() }),
		},
		Published:           declare.Published{Type: "AWS::CodeDeploy::Application", Since: 3},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("codedeploy.amazonaws.com",
			modules.Request("applicationName", "UpdateApplication").Or("requestParameters.newApplicationName"),
			modules.Request("resourceArn", "TagResource", "UntagResource").Beginning("application:").After(":"),
		),
		List: applications().Names("name", ""),
		Get: declare.Batch(declare.Call((*codedeploy.Client).BatchGetApplications), "ApplicationNames", "name",
			mostApplications, "ApplicationsInfo"),
		Create: declare.Call((*codedeploy.Client).CreateApplication),
		Delete: declare.Call((*codedeploy.Client).DeleteApplication),
	})
}
