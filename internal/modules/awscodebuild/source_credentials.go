package awscodebuild

import (
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	cbtypes "github.com/aws/aws-sdk-go-v2/service/codebuild/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
)

// newSourceCredentials declares the table source_credentials_list. A credential
// is imported anew to change it, and never over another: ShouldOverwrite.
func newSourceCredentials(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[cbtypes.SourceCredentialsInfo]{
		Name: "source_credentials_list",
		Doc: "With what CodeBuild gets at source repositories; a region has one credential for each kind of " +
			"provider. A new row imports one, which is what IaSQL's table source_credentials_import did; " +
			"to renew it, set token. Those of kind OAUTH are made in CodeBuild's console, and can be seen and " +
			"deleted here.",
		Service: service,
		// Whoever builds is not always allowed to look at credentials.
		Optional: true,
		Columns: []declare.Column{
			declare.Name("source_type", "ServerType",
				"The kind of provider: GITHUB, GITHUB_ENTERPRISE, BITBUCKET, GITLAB or GITLAB_SELF_MANAGED.").
				OneOf(declare.Values(cbtypes.ServerType("").Values())...),
			declare.Text("auth_type", "AuthType",
				"What token is: a PERSONAL_ACCESS_TOKEN, the password of username (BASIC_AUTH), or the ARN of a "+
					"connection (CODECONNECTIONS) or a secret (SECRETS_MANAGER).").
				Required().CreateOnly().OneOf(declare.Values(cbtypes.AuthType("").Values())...),
			declare.Text("token", "", "The credential. Needed to create or replace it. It is passed on and then "+
				"NULL again.").In("Token").WriteOnly().Length(1, 10000),
			declare.Text("username", "", "The user at Bitbucket that a password is of; passed on with token.").In(
				"Username").WriteOnly().Length(1, 1000),
			declare.Text("resource", "Resource",
				"The ARN of the connection or the secret, where it is one.").Computed(),
			declare.ARN("arn", "Arn"),
		},
		DestroyBeforeCreate: true,

		List: declare.Once(declare.Call((*codebuild.Client).ListSourceCredentials), "SourceCredentialsInfos"),
		Get:  declare.Search(),
		Create: declare.Call((*codebuild.Client).ImportSourceCredentials,
			declare.With(&codebuild.ImportSourceCredentialsInput{ShouldOverwrite: awssdk.Bool(false)})),
		Updates: []declare.Update{declare.Replace(declare.Call((*codebuild.Client).ImportSourceCredentials), "token",
			"username")},
		Delete: declare.Call((*codebuild.Client).DeleteSourceCredentials),
	})
}
