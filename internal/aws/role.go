package aws

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/modules"
)

// RoleARN returns the ARN of the role with that name, which holds its path too;
// nil for NULL. A role that is not there may be on its way.
func RoleARN(ctx context.Context, c *Clients, scope modules.Scope, name modules.Value) (*string, error) {
	if name.IsNull() {
		return nil, nil
	}
	client, err := Client(ctx, c, modules.Scope{Account: scope.Account}, func(cfg awssdk.Config) *iam.Client {
		return iam.NewFromConfig(cfg)
	})
	if err != nil {
		return nil, err
	}
	out, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: name.Ptr()})
	if IsNotFound(err) {
		return nil, &modules.Error{Class: modules.Dependency, Code: "NoSuchEntity",
			Message: fmt.Sprintf("there is no role %s", name), Err: err}
	}
	if err != nil {
		return nil, err
	}
	return out.Role.Arn, nil
}
