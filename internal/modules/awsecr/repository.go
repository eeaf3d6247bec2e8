package awsecr

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostNames is how many repositories DescribeRepositories takes by name.
const mostNames = 100

// newRepository declares the table repository. The limits are those of the page
// CreateRepository of the Amazon ECR API Reference. Deleting is not forced: the
// records of a repository's images are deleted with the repository's, so that
// what is lost is seen in a preview.
func newRepository(c *aws.Clients) *declare.Resource {
	lifecycle := declare.Call((*ecr.Client).GetLifecyclePolicy, declare.None("LifecyclePolicyNotFoundException"))
	return declare.New(c, declare.Table[ecrtypes.Repository]{
		Name: "repository",
		Doc: "Private repositories of container images. One with images is deleted only with iasql.with_contents " +
			"on: its images go first.",
		Service: declare.Service(ecr.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("repository_name", "RepositoryName",
				"The repository's name, such as team/app: lowercase letters, digits, and separators between them.").
				Check(`length(repository_name) BETWEEN 2 AND 256 AND repository_name ~ '^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$'`),
			declare.Text("image_tag_mutability", "ImageTagMutability",
				"Whether a tag can be given to another image: MUTABLE, IMMUTABLE, or either with the exclusions of "+
					"image_tag_mutability_exclusions. Default MUTABLE.").
				Default("'MUTABLE'").OneOf("MUTABLE", "IMMUTABLE", "MUTABLE_WITH_EXCLUSION",
				"IMMUTABLE_WITH_EXCLUSION"),
			declare.Texts("image_tag_mutability_exclusions", "ImageTagMutabilityExclusionFilters",
				"Patterns of tags, such as dev-*, for which the opposite of image_tag_mutability holds.").
				Unordered().EmptyIsNull().As(exclusions),
			declare.Bool("scan_on_push", "ImageScanningConfiguration.ScanOnPush",
				"Whether images are scanned for vulnerabilities when they are pushed.").Default("false"),
			declare.Text("encryption_type", "EncryptionConfiguration.EncryptionType",
				"How images are encrypted: with keys of Amazon S3 (AES256) or of KMS. Default AES256.").
				Default("'AES256'").CreateOnly().OneOf("AES256", "KMS", "KMS_DSSE").Usual(modules.Text("AES256")),
			declare.KMSKey("kms_key", "EncryptionConfiguration.KmsKey",
				"that images are encrypted with; the account's key for ECR if left out."),
			declare.JSON("lifecycle_policy", "LifecyclePolicyText",
				`Which images expire: a lifecycle policy, {"rules": [...]}. NULL: none.`).
				Same(sameLifecycle).Check(`jsonb_typeof(lifecycle_policy) = 'object'`).From(lifecycle),
			declare.Bool("empty_on_delete", "",
				"Whether its images, also those without a record, go with it when it is deleted. NULL: AWS refuses to "+
					"delete it while it has any.").
				Along().In("Force").Since(2),
			declare.ARN("repository_arn", "RepositoryArn"),
			declare.Text("registry_id", "RegistryId",
				"The twelve digits of the account whose registry it is in.").Computed(),
			declare.Text("repository_uri", "RepositoryUri",
				"What images are pushed to and pulled from; NULL until it is created.").Computed(),
			declare.Time("created_at", "CreatedAt", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*ecr.Client).TagResource,
				(*ecr.Client).UntagResource).From(declare.Call((*ecr.Client).ListTagsForResource)).Together(
				"ecr:repository", "repository_arn"),
		},
		Published: declare.Published{Type: "AWS::ECR::Repository", Since: 2,
			Columns: map[string]string{"RepositoryPolicyText": "repository_policy.policy"},
		},
		Checks: []string{
			`kms_key IS NULL OR encryption_type <> 'AES256'`,
			`(image_tag_mutability LIKE '%EXCLUSION') = (coalesce(cardinality(image_tag_mutability_exclusions), 0) > 0)`,
		},
		DestroyBeforeCreate: true,

		List:   repositories(),
		Get:    declare.Named("RepositoryNames", mostNames),
		Create: declare.Call((*ecr.Client).CreateRepository),
		Updates: []declare.Update{
			declare.Replace(declare.Call((*ecr.Client).PutImageTagMutability), "image_tag_mutability",
				"image_tag_mutability_exclusions"),
			declare.Modify(declare.Call((*ecr.Client).PutImageScanningConfiguration), "scan_on_push"),
			declare.Put("lifecycle_policy", declare.Call((*ecr.Client).PutLifecyclePolicy),
				declare.Call((*ecr.Client).DeleteLifecyclePolicy)),
		},
		Delete:    declare.Call((*ecr.Client).DeleteRepository),
		HoldsData: true,
	})
}

// sameLifecycle reports whether two lifecycle policies mean the same: ECR gives back the
// rules in the order of their priorities ("Lifecycle policy template", rulePriority).
func sameLifecycle(a, b string) bool {
	x, errX := byPriority(a)
	y, errY := byPriority(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// byPriority reads a lifecycle policy with its rules sorted.
func byPriority(text string) (map[string]any, error) {
	var policy map[string]any
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return nil, err
	}
	rules, _ := policy["rules"].([]any)
	slices.SortStableFunc(rules, func(a, b any) int { return cmp.Compare(priority(a), priority(b)) })
	return policy, nil
}

func priority(rule any) float64 {
	members, _ := rule.(map[string]any)
	p, _ := members["rulePriority"].(float64)
	return p
}

var exclusions = declare.Each(
	func(f ecrtypes.ImageTagMutabilityExclusionFilter) string { return awssdk.ToString(f.Filter) },
	func(pattern string) ecrtypes.ImageTagMutabilityExclusionFilter {
		return ecrtypes.ImageTagMutabilityExclusionFilter{Filter: &pattern,
			FilterType: ecrtypes.ImageTagMutabilityExclusionFilterTypeWildcard}
	})
