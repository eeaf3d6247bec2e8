package awsiam

import (
	"context"
	"errors"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// setPassword is the function set_user_password. The request that carries the
// password loses it when the engine takes it (R16).
func setPassword(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "set_user_password",
		Doc:    "Gives a user a password for the AWS console, a first one or another. Nothing here keeps it.",
		Given:  `INSERT INTO iam_user (user_name) VALUES ('ann')`,
		Sample: `SELECT status FROM set_user_password('ann', 'Correct-horse-7-battery', password_reset_required => true)`,
		Table:  "iam_user",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "user_name", Type: modules.TypeText, Names: "user_name", Doc: "The user."},
			{Name: "password", Type: modules.TypeText,
				Doc: "The password. The account's password policy holds for it."},
			{Name: "password_reset_required", Type: modules.TypeBool, Default: "false",
				Doc: "Whether the user has to choose another one at the first sign-in."},
		},
		Returns: []modules.Result{
			{Name: "status", Type: modules.TypeText, Doc: "OK."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, iam.NewFromConfig)
			if err != nil {
				return nil, err
			}
			user, password, reset := args["user_name"].Ptr(), args["password"].Ptr(),
				args["password_reset_required"].Bool()
			_, err = client.CreateLoginProfile(ctx,
				&iam.CreateLoginProfileInput{UserName: user, Password: password, PasswordResetRequired: reset})
			var exists *iamtypes.EntityAlreadyExistsException
			if errors.As(err, &exists) {
				_, err = client.UpdateLoginProfile(ctx,
					&iam.UpdateLoginProfileInput{UserName: user, Password: password, PasswordResetRequired: &reset})
			}
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"status": modules.Text("OK")}}, nil
		},
	}
}

// noEntity says that a user has no password (page GetLoginProfile, Errors).
const noEntity = "NoSuchEntity"

// chosen reports whether a user may have chosen another password, as it had to.
func chosen(from, to string) bool { return from == "true" && to == "false" }

// setLoginProfile gives a user a password, changes what is said of it, or takes it away.
func setLoginProfile(ctx context.Context, s *declare.Step) error {
	client, user := declare.ClientOf[*iam.Client](s), s.Have["user_name"].Ptr()
	password, reset := s.Want["password"], s.Want["password_reset_required"]
	had, known := s.Have["password_reset_required"]
	switch {
	case reset.IsNull() && password.IsNull():
		_, err := client.DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: user})
		return aws.IfExists(err)
	case reset.IsNull():
		return &modules.Error{Class: modules.Invalid, Code: "ResetRequired", Message: "a user with a password either " +
			"has to choose another one or does not: set password_reset_required, too"}
	case known && had.IsNull() && password.IsNull():
		return &modules.Error{Class: modules.Invalid, Code: "PasswordRequired",
			Message: "the user has no password yet: set password, too"}
	}
	if !password.IsNull() && (!known || had.IsNull()) {
		_, err := client.CreateLoginProfile(ctx, &iam.CreateLoginProfileInput{UserName: user, Password: password.Ptr(),
			PasswordResetRequired: reset.Bool()})
		var exists *iamtypes.EntityAlreadyExistsException
		if !errors.As(err, &exists) {
			return err
		}
	}
	_, err := client.UpdateLoginProfile(ctx, &iam.UpdateLoginProfileInput{UserName: user, Password: password.Ptr(),
		PasswordResetRequired: awssdk.Bool(reset.Bool())})
	return err
}
