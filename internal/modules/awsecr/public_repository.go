package awsecr

import (
	"errors"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	publictypes "github.com/aws/aws-sdk-go-v2/service/ecrpublic/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// publicRegion is the region that the API of public registries is in, of which
// an account has one (AWS General Reference, "Amazon ECR Public endpoints and
// quotas").
const publicRegion = "us-east-1"

// public is the public registry's service.
var public = declare.Service(ecrpublic.NewFromConfig, func(o *ecrpublic.Options) {
	o.Retryer = impatient{o.Retryer}
}).InRegion(publicRegion)

// impatient does not try again what was answered by something that does not know
// the service: with status 500 and no JSON, as moto does.
type impatient struct{ awssdk.Retryer }

// IsErrorRetryable reports whether the call is to be made again.
func (r impatient) IsErrorRetryable(err error) bool {
	var (
		answer  *smithyhttp.ResponseError
		garbled *smithy.DeserializationError
	)
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusInternalServerError &&
		errors.As(err, &garbled) {
		return false
	}
	return r.Retryer.IsErrorRetryable(err)
}

// publicRepositories lists the public repositories.
func publicRepositories() *declare.Listing {
	return declare.Pages(ecrpublic.NewDescribeRepositoriesPaginator, "Repositories", declare.PageSize(pageSize))
}

// newPublicRepository declares the table public_repository. The limits are those
// of the pages CreateRepository and RepositoryCatalogDataInput of the Amazon ECR
// Public API Reference. What there is nothing of in the gallery's data is sent
// empty, rather than left out, so that it does not stay. Deleting is not forced,
// as that of a private one is not.
func newPublicRepository(c *aws.Clients) *declare.Resource {
	// none has been put
	catalog := declare.Call((*ecrpublic.Client).GetRepositoryCatalogData,
		declare.None("RepositoryCatalogDataNotFoundException"))
	text := func(name, member string, most int, doc string) declare.Column {
		return declare.Text(name, "CatalogData."+member, doc).From(catalog).Length(1, most).Unset(modules.Text(""))
	}
	list := func(name, member, doc string) declare.Column {
		return declare.Texts(name, "CatalogData."+member,
			doc).From(catalog).Unordered().EmptyIsNull().Check("cardinality(" + name + ") <= 50").
			Unset(modules.Strings([]string{}))
	}
	return declare.New(c, declare.Table[publictypes.Repository]{
		Name: "public_repository",
		Doc: "Public repositories of container images: anybody can pull from them, and they are shown in the Amazon " +
			"ECR Public Gallery. " +
			"An account has one public registry, whatever the region. A repository with images is deleted only with " +
			"iasql.with_contents on: its images go first. " +
			"Where an account or an endpoint does not know public registries, iasql_get_errors() says so, and " +
			"nothing else fails.",
		Service:    public,
		PerAccount: true,
		Optional:   true,
		Columns: []declare.Column{
			declare.Name("repository_name", "RepositoryName",
				"The repository's name, such as team/app: lowercase letters, digits, and single separators "+
					"between them.").
				Check(`length(repository_name) BETWEEN 2 AND 205 AND repository_name ~ '^([a-z0-9]+([._-][a-z0-9]+)*/)*[a-z0-9]+([._-][a-z0-9]+)*$'`),
			text("description", "Description", 1024, "What it holds, in short; shown in the gallery's search, too."),
			text("about_text", "AboutText", 25600, "What it holds, at length, in Markdown."),
			text("usage_text", "UsageText", 25600, "How its images are used, in Markdown."),
			list("architectures", "Architectures",
				"What its images run on. The gallery knows ARM, ARM 64, x86 and x86-64."),
			list("operating_systems", "OperatingSystems",
				"The operating systems that its images are for. The gallery knows Linux and Windows."),
			declare.Policy("PolicyText",
				"Who besides the account may do what with it: a policy document. NULL: nobody.").
				Born(modules.Null).Since(2).
				From(declare.Call((*ecrpublic.Client).GetRepositoryPolicy, declare.IfAllowed(), declare.Rarely(),
					declare.None("RepositoryPolicyNotFoundException"))),
			declare.ARN("repository_arn", "RepositoryArn"),
			declare.Text("registry_id", "RegistryId",
				"The twelve digits of the account whose registry it is in.").Computed(),
			declare.Text("repository_uri", "RepositoryUri",
				"What images are pushed to and pulled from, such as public.ecr.aws/a1b2c3d4/team/app; NULL until it "+
					"is created.").Computed(),
			declare.Time("created_at", "CreatedAt", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*ecrpublic.Client).TagResource,
				(*ecrpublic.Client).UntagResource).From(declare.Call((*ecrpublic.Client).ListTagsForResource)),
		},
		Published: declare.Published{Type: "AWS::ECR::PublicRepository", Since: 2,
			Columns: map[string]string{"RepositoryCatalogData": "description", "RepositoryPolicyText": "policy"},
		},
		DestroyBeforeCreate: true,

		List:   publicRepositories(),
		Get:    declare.Named("RepositoryNames", mostNames),
		Create: declare.Call((*ecrpublic.Client).CreateRepository),
		Updates: []declare.Update{declare.Replace(declare.Call((*ecrpublic.Client).PutRepositoryCatalogData)),
			declare.Put("policy", declare.Call((*ecrpublic.Client).SetRepositoryPolicy),
				declare.Call((*ecrpublic.Client).DeleteRepositoryPolicy))},
		Delete:    declare.Call((*ecrpublic.Client).DeleteRepository),
		HoldsData: true,
	})
}
