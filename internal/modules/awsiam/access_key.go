package awsiam

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newAccessKey declares the table access_key. It creates nothing: a new key's
// secret is told once, in the answer of CreateAccessKey, and there is no place in
// a database that only the one who asked for it can read (see requestAccessKey). No call lists the keys
// of several users.
func newAccessKey(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[iamtypes.AccessKeyMetadata]{
		Name: "access_key",
		Doc: "Access keys of users. A row cannot be inserted, since AWS tells a key's secret once and it " +
			"would have to be kept where others can read it: the function access_key_request makes a key, and so " +
			"does `aws iam create-access-key`. They can be made inactive and deleted here.",
		Service:    service,
		PerAccount: true,
		Columns: []declare.Column{
			declare.ID("access_key_id", "AccessKeyId", "The key's id, such as AKIA…."),
			declare.Ref("user_name", "UserName", "iam_user", "user_name",
				"The user it is of.").ByKey().Required().Identity().CreateOnly(),
			declare.Text("status", "Status",
				"Active, or Inactive: AWS then refuses what is signed with it. Expired is for AWS to say.").Default(
				"'Active'").OneOf("Active", "Inactive", "Expired"),
			createDateColumn(),
		},

		EventMappings: modules.EventMappings("iam.amazonaws.com",
			modules.Response("accessKey.accessKeyId", "CreateAccessKey"),
		),
		List: declare.Pages(iam.NewListAccessKeysPaginator, "AccessKeyMetadata").
			Within(declare.Pages(iam.NewListUsersPaginator, "Users"), "UserName", "UserName"),
		Get:     declare.Search(),
		Updates: []declare.Update{declare.Modify(declare.Call((*iam.Client).UpdateAccessKey))},
		Delete:  declare.Call((*iam.Client).DeleteAccessKey),
	})
}

// requestAccessKey is the function access_key_request. The parameter is not called by the user's
// name: that may have characters that no parameter's name has (pages User of the IAM API Reference
// and PutParameter of the Systems Manager API Reference).
func requestAccessKey(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "access_key_request",
		Doc: "Makes an access key for a user. Its row appears a moment later. The secret access key goes into a " +
			"parameter of the Parameter Store, a SecureString, " +
			"and nowhere else: `aws ssm get-parameter --with-decryption --name PARAMETER` tells it to whom AWS lets. " +
			"A user has two keys at the most.",
		Given:  `INSERT INTO iam_user (user_name) VALUES ('bob')`,
		Sample: `SELECT access_key_id, parameter FROM access_key_request('bob')`,
		Table:  "access_key",
		Right:  "INSERT",
		Parameters: []modules.Parameter{
			{Name: "user_name", Type: modules.TypeText, Names: "user_name", Doc: "The user."},
			{Name: "region", Type: modules.TypeText, Default: "public.default_aws_region()",
				Doc: "Where the parameter is to be; the default region if left out. Keys themselves have no region."},
		},
		Returns: []modules.Result{
			{Name: "access_key_id", Type: modules.TypeText, Doc: "The key's id."},
			{Name: "parameter", Type: modules.TypeText,
				Doc: "The parameter that holds the secret access key: /iam/access-key/ and the key's id."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, iam.NewFromConfig)
			if err != nil {
				return nil, err
			}
			out, err := client.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: args["user_name"].Ptr()})
			if err != nil {
				return nil, err
			}
			key, at := out.AccessKey, modules.Scope{Account: scope.Account, Region: args["region"].String()}
			parameter := "/iam/access-key/" + *key.AccessKeyId
			if err := declare.KeepSecret(ctx, c, at, parameter, "Secret access key of user "+*key.UserName,
				*key.SecretAccessKey, func(ctx context.Context) error {
					_, err := client.DeleteAccessKey(ctx,
						&iam.DeleteAccessKeyInput{UserName: key.UserName, AccessKeyId: key.AccessKeyId})
					return err
				}); err != nil {
				return nil, err
			}
			return []modules.Row{{"access_key_id": modules.TextPtr(key.AccessKeyId),
				"parameter": modules.Text(parameter)}}, nil
		},
	}
}
