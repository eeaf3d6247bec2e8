package awsiam

import (
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
