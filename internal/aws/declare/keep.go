package declare

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// KeepSecret puts a secret that AWS tells once, and that no table may hold (R16), into a new SecureString of the
// Parameter Store, as CloudFormation does with a private key (page AWS::EC2::KeyPair of its user guide). If
// that fails, undo is called, since nobody would ever know the secret; it is called also when ctx has ended.
func KeepSecret(ctx context.Context, c *aws.Clients, scope modules.Scope, name, description, secret string,
	undo func(context.Context) error) error {
	client, err := Client(ctx, c, scope, ssm.NewFromConfig)
	if err == nil {
		_, err = client.PutParameter(ctx,
			&ssm.PutParameterInput{Name: &name, Description: &description, Value: &secret,
				Type: ssmtypes.ParameterTypeSecureString})
	}
	if err == nil {
		return nil
	}
	why := &modules.Error{Class: modules.ClassOf(err), Err: err}
	var cloud *modules.Error
	if errors.As(err, &cloud) {
		err = cloud // without what the SDK says around it
	}
	if failed := undo(context.WithoutCancel(ctx)); failed != nil {
		why.Class = modules.MayHaveHappened
		why.Message = fmt.Sprintf("the secret could not be kept as parameter %s (%v), and what it is of could not be "+
			"deleted again (%v): delete it, nobody knows its secret", name, err, failed)
		return why
	}
	if why.Class == modules.MayHaveHappened {
		why.Class = modules.Transient // the parameter may be there; what it would be of is not
	}
	why.Message = fmt.Sprintf("the secret could not be kept as parameter %s, so that what it is of was deleted "+
		"again: %v", name, err)
	return why
}
