package awsecr

import (
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newPolicy declares the table repository_policy.
func newPolicy(c *aws.Clients) *declare.Resource {
	set := declare.Call((*ecr.Client).SetRepositoryPolicy) // which replaces what there is
	return declare.New(c, declare.Table[ecr.GetRepositoryPolicyOutput]{
		Name:    "repository_policy",
		Doc:     "Policies of private repositories.",
		Service: declare.Service(ecr.NewFromConfig),
		Columns: []declare.Column{
			ofRepository("repository_id", modules.PartAlong,
				"The repository it is of, which has at most one.").CreateOnly(),
			declare.Policy("PolicyText", "Who may do what with the repository: an access policy document.").Required(),
			declare.Text("registry_id", "RegistryId",
				"The twelve digits of the account whose registry the repository is in.").Computed(),
		},

		List:    repositories().Names("repository_id", "RepositoryName"),
		Get:     declare.One(declare.Call((*ecr.Client).GetRepositoryPolicy), ""),
		Create:  set,
		Updates: []declare.Update{declare.Modify(set)},
		Delete:  declare.Call((*ecr.Client).DeleteRepositoryPolicy),
	})
}
