package awslambda

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table lambda_function_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("lambda_function_security_groups",
			"The security groups of functions that are in a VPC. Such a function has one at least: the VPC's default "+
				"group when there is no other, "+
				"and until the first is given. A function that moves to another VPC begins anew with that one's "+
				"default group.",
			modules.Column{Name: "lambda_function_id",
				References: &modules.Reference{Table: "lambda_function", Key: "arn"},
				Doc:        "The function, whose column subnets says in which VPC it is."},
			modules.EventMappings("lambda.amazonaws.com",
				modules.Response("functionArn", "CreateFunction", "UpdateFunctionConfiguration"))...),
		Owner:  "lambda_function_id",
		Member: aws.GroupColumn,
		// GetFunction takes ARNs for names
		Lists: declare.Lists(newFunction(c, nil), declare.Identity("name"), memberList),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			if len(have.Subnets) == 0 {
				// Its subnets may be about to be set: this can heal.
				return &modules.Error{Class: modules.Dependency, Code: "NoVPC",
					Message: "the function " + have.Owner +
						" is in no VPC, where alone it can have security groups: set lambda_function.subnets"}
			}
			client, err := declare.Client(ctx, c, scope, lambda.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
				FunctionName: &have.Owner, VpcConfig: &lambdatypes.VpcConfig{SubnetIds: have.Subnets,
					SecurityGroupIds: want},
			})
			return refused(ctx, nil, err)
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

func memberList(f *lambda.GetFunctionOutput) aws.MemberList {
	list := aws.MemberList{Owner: awssdk.ToString(f.Configuration.FunctionArn)}
	if vpc := f.Configuration.VpcConfig; vpc != nil && len(vpc.SubnetIds) > 0 {
		list.Subnets, list.Members = vpc.SubnetIds, vpc.SecurityGroupIds
	}
	return list
}
