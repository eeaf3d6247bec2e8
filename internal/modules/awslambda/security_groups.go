package awslambda

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table lambda_function_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Description: aws.DescribeGroups("lambda_function_security_groups",
			"The security groups of functions that are in a VPC. Such a function has one at least: the VPC's default group when there is no other, "+
				"and until the first is given. A function that moves to another VPC begins anew with that one's default group.",
			modules.Column{Name: "lambda_function_id", References: &modules.Reference{Table: "lambda_function", Key: "arn"}, Doc: "The function, whose column subnets says in which VPC it is."}),
		Owner:  "lambda_function_id",
		Member: aws.GroupColumn,
		Lists: func(ctx context.Context, scope modules.Scope, owners []string, page func([]aws.MemberList) error) error {
			client, err := client(ctx, c, scope)
			if err != nil {
				return err
			}
			if owners == nil {
				return aws.Pages(ctx, lambda.NewListFunctionsPaginator(client, &lambda.ListFunctionsInput{}), func(out *lambda.ListFunctionsOutput) error {
					lists := make([]aws.MemberList, len(out.Functions))
					for i, f := range out.Functions {
						lists[i] = memberList(f.FunctionArn, f.VpcConfig)
					}
					return page(lists)
				})
			}
			for _, owner := range owners {
				// Which may be called more often than GetFunctionConfiguration: see read.
				out, err := client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &owner})
				switch {
				case aws.IfExists(err) != nil:
					return err
				case err != nil:
					continue
				}
				if err := page([]aws.MemberList{memberList(out.Configuration.FunctionArn, out.Configuration.VpcConfig)}); err != nil {
					return err
				}
			}
			return nil
		},
		Set: func(ctx context.Context, scope modules.Scope, have aws.MemberList, want []string) error {
			if len(have.Subnets) == 0 {
				// Its subnets may be about to be set: this can heal.
				return &modules.Error{Class: modules.Dependency, Code: "NoVPC",
					Message: "the function " + have.Owner + " is in no VPC, where alone it can have security groups: set lambda_function.subnets"}
			}
			client, err := client(ctx, c, scope)
			if err != nil {
				return err
			}
			_, err = client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
				FunctionName: &have.Owner, VpcConfig: &lambdatypes.VpcConfig{SubnetIds: have.Subnets, SecurityGroupIds: want},
			})
			return refused(err)
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			vpc, err := c.VPCOf(ctx, scope, list.Subnets[0])
			if err != nil {
				return "", err
			}
			return c.DefaultGroup(ctx, scope, vpc)
		},
	}
}

func memberList(arn *string, vpc *lambdatypes.VpcConfigResponse) aws.MemberList {
	list := aws.MemberList{Owner: awssdk.ToString(arn)}
	if vpc != nil && len(vpc.SubnetIds) > 0 {
		list.Subnets, list.Members = vpc.SubnetIds, vpc.SecurityGroupIds
	}
	return list
}
