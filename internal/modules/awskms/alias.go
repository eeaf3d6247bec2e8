package awskms

import (
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newAlias declares the table kms_alias. The API has no way to ask for one alias.
func newAlias(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[kmstypes.AliasListEntry]{
		Name: "kms_alias",
		Doc: "Aliases: names of keys, by which programs use them. Another key can take the name over. AWS's own, " +
			"which begin with alias/aws/, are not shown.",
		Service: declare.Service(kms.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("alias_name", "AliasName",
				"The alias, such as alias/app: alias/ and up to 250 letters, digits and :/_-").
				Matches(`^alias/[A-Za-z0-9:/_-]+$`).Length(7, 256).Check(`alias_name NOT LIKE 'alias/aws/%'`),
			declare.Ref("target_key_id", "TargetKeyId", "kms_key", "key_id",
				"The key that it names. Another one has to be of the same kind and use.").Part(modules.PartFirst,
				"").Required(),
			declare.ARN("arn", "AliasArn"),
			declare.Time("creation_date", "CreationDate", "When it was created.").Incarnation(),
			declare.Time("last_updated_date", "LastUpdatedDate", "When it was given its key."),
		},
		Published:           declare.Published{Type: "AWS::KMS::Alias", Since: 2},
		DestroyBeforeCreate: true,

		List: declare.Pages(kms.NewListAliasesPaginator, "Aliases", declare.PageSize(aliasesPageSize)),
		Get:  declare.Search(),
		Gone: func(a *kmstypes.AliasListEntry) bool {
			return strings.HasPrefix(awssdk.ToString(a.AliasName), "alias/aws/")
		},
		Create:  declare.Call((*kms.Client).CreateAlias),
		Updates: []declare.Update{declare.Modify(declare.Call((*kms.Client).UpdateAlias))},
		Delete:  declare.Call((*kms.Client).DeleteAlias),
	})
}
