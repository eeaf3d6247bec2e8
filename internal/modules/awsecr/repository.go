package awsecr

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// mostNames is how many repositories DescribeRepositories takes by name.
const mostNames = 100

var ecrTags = aws.TagType[ecrtypes.Tag]{
	Split: func(t ecrtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) ecrtypes.Tag { return ecrtypes.Tag{Key: key, Value: value} },
}

// repository is the table repository.
type repository struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRepository(c *aws.Clients) *repository {
	return &repository{clients: c, description: describeRepository()}
}

// The limits are those of the page CreateRepository of the Amazon ECR API
// Reference.
func describeRepository() *modules.Table {
	return &modules.Table{
		Name:     "repository",
		Doc:      "Private repositories of container images. Deleting one deletes its images first.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "repository_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `length(repository_name) BETWEEN 2 AND 256 AND repository_name ~ '^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$'`,
				Doc:   "The repository's name, such as team/app: lowercase letters, digits, and separators between them."},
			modules.Column{Name: "image_tag_mutability", Type: modules.TypeText, Required: true, Default: "'MUTABLE'",
				Enum: []string{"MUTABLE", "IMMUTABLE", "MUTABLE_WITH_EXCLUSION", "IMMUTABLE_WITH_EXCLUSION"},
				Doc:  "Whether a tag can be given to another image: MUTABLE, IMMUTABLE, or either with the exclusions of image_tag_mutability_exclusions. Default MUTABLE."},
			modules.Column{Name: "image_tag_mutability_exclusions", Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
				Doc: "Patterns of tags, such as dev-*, for which the opposite of image_tag_mutability holds."},
			modules.Column{Name: "scan_on_push", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether images are scanned for vulnerabilities when they are pushed."},
			modules.Column{Name: "encryption_type", Type: modules.TypeText, Required: true, Default: "'AES256'", CreateOnly: true,
				Enum: []string{"AES256", "KMS", "KMS_DSSE"},
				Doc:  "How images are encrypted: with keys of Amazon S3 (AES256) or of KMS. Default AES256."},
			modules.Column{Name: "kms_key", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The ARN of the KMS key that images are encrypted with; the account's key for ECR if left out."},
			modules.Column{Name: "lifecycle_policy", Type: modules.TypeJSON, Check: `jsonb_typeof(lifecycle_policy) = 'object'`,
				Doc: `Which images expire: a lifecycle policy, {"rules": [...]}. NULL: none.`},
			modules.Column{Name: "repository_arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "registry_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account whose registry it is in."},
			modules.Column{Name: "repository_uri", Type: modules.TypeText, Assigned: true,
				Doc: "What images are pushed to and pulled from; NULL until it is created."},
			modules.Column{Name: "created_at", Type: modules.TypeTime, Assigned: true,
				Doc: "When it was created."},
			aws.TagsColumn(),
		),
		Checks: []string{
			`kms_key IS NULL OR encryption_type <> 'AES256'`,
			`(image_tag_mutability LIKE '%EXCLUSION') = (coalesce(cardinality(image_tag_mutability_exclusions), 0) > 0)`,
		},
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *repository) Table() *modules.Table { return r.description }

// List gives every repository of the scope to page.
func (r *repository) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachRepository(ctx, client, func(repositories []ecrtypes.Repository) error {
		rows, err := readRepositories(ctx, client, repositories)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

func eachRepository(ctx context.Context, client *ecr.Client, page func([]ecrtypes.Repository) error) error {
	return aws.Pages(ctx, ecr.NewDescribeRepositoriesPaginator(client, &ecr.DescribeRepositoriesInput{MaxResults: awssdk.Int32(pageSize)}),
		func(out *ecr.DescribeRepositoriesOutput) error { return page(out.Repositories) })
}

// Get reads the repositories with these names.
func (r *repository) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.InBatches(ctx, mostNames, aws.Column(identities, "repository_name"), func(ctx context.Context, names []string) ([]modules.Row, error) {
		out, err := client.DescribeRepositories(ctx, &ecr.DescribeRepositoriesInput{RepositoryNames: names})
		if err != nil {
			return nil, err
		}
		return readRepositories(ctx, client, out.Repositories)
	})
}

// readRepositories reads what DescribeRepositories leaves out.
func readRepositories(ctx context.Context, client *ecr.Client, repositories []ecrtypes.Repository) ([]modules.Row, error) {
	return aws.Read(ctx, repositories, func(ctx context.Context, repo ecrtypes.Repository) (modules.Row, error) {
		row := modules.Row{
			"repository_name":                 modules.TextPtr(repo.RepositoryName),
			"image_tag_mutability":            modules.NonEmpty(repo.ImageTagMutability),
			"image_tag_mutability_exclusions": modules.Null,
			"scan_on_push":                    modules.Bool(repo.ImageScanningConfiguration != nil && repo.ImageScanningConfiguration.ScanOnPush),
			"encryption_type":                 modules.Text("AES256"),
			"kms_key":                         modules.Null,
			"lifecycle_policy":                modules.Null,
			"repository_arn":                  modules.TextPtr(repo.RepositoryArn),
			"registry_id":                     modules.TextPtr(repo.RegistryId),
			"repository_uri":                  modules.TextPtr(repo.RepositoryUri),
			"created_at":                      modules.TimePtr(repo.CreatedAt),
		}
		var exclusions []string
		for _, filter := range repo.ImageTagMutabilityExclusionFilters {
			exclusions = append(exclusions, awssdk.ToString(filter.Filter))
		}
		row["image_tag_mutability_exclusions"] = modules.Strings(exclusions)
		if e := repo.EncryptionConfiguration; e != nil {
			row["encryption_type"], row["kms_key"] = modules.NonEmpty(e.EncryptionType), modules.TextPtr(e.KmsKey)
		}
		var lifecycle, tags modules.Value
		err := aws.Together(ctx,
			func(ctx context.Context) error {
				out, err := client.GetLifecyclePolicy(ctx, &ecr.GetLifecyclePolicyInput{RepositoryName: repo.RepositoryName})
				if aws.HasCode(err, "LifecyclePolicyNotFoundException") {
					return nil
				}
				if err != nil {
					return err
				}
				lifecycle = aws.Policy(out.LifecyclePolicyText)
				return nil
			},
			func(ctx context.Context) error {
				out, err := client.ListTagsForResource(ctx, &ecr.ListTagsForResourceInput{ResourceArn: repo.RepositoryArn})
				if err == nil {
					tags = ecrTags.Value(out.Tags)
				}
				return err
			})
		row["lifecycle_policy"], row["tags"] = lifecycle, tags
		return row, err
	})
}

// Create creates a repository. The lifecycle policy, which CreateRepository
// does not take, is left to Update.
func (r *repository) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateRepository(ctx, &ecr.CreateRepositoryInput{
		RepositoryName:                     want["repository_name"].Ptr(),
		ImageTagMutability:                 ecrtypes.ImageTagMutability(want["image_tag_mutability"].String()),
		ImageTagMutabilityExclusionFilters: exclusions(want),
		ImageScanningConfiguration:         &ecrtypes.ImageScanningConfiguration{ScanOnPush: want["scan_on_push"].Bool()},
		EncryptionConfiguration: &ecrtypes.EncryptionConfiguration{
			EncryptionType: ecrtypes.EncryptionType(want["encryption_type"].String()), KmsKey: want["kms_key"].Ptr(),
		},
		Tags: ecrTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"repository_name": want["repository_name"]}, nil
}

func exclusions(want modules.Row) []ecrtypes.ImageTagMutabilityExclusionFilter {
	var filters []ecrtypes.ImageTagMutabilityExclusionFilter
	for _, pattern := range want["image_tag_mutability_exclusions"].Strings() {
		filters = append(filters, ecrtypes.ImageTagMutabilityExclusionFilter{
			Filter: &pattern, FilterType: ecrtypes.ImageTagMutabilityExclusionFilterTypeWildcard,
		})
	}
	return filters
}

// Update changes what can be changed: one call per setting.
func (r *repository) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	name := have["repository_name"].Ptr()
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(columns, name) })
	}
	if changed("image_tag_mutability", "image_tag_mutability_exclusions") {
		_, err := client.PutImageTagMutability(ctx, &ecr.PutImageTagMutabilityInput{
			RepositoryName:                     name,
			ImageTagMutability:                 ecrtypes.ImageTagMutability(want["image_tag_mutability"].String()),
			ImageTagMutabilityExclusionFilters: exclusions(want),
		})
		if err != nil {
			return err
		}
	}
	if changed("scan_on_push") {
		_, err := client.PutImageScanningConfiguration(ctx, &ecr.PutImageScanningConfigurationInput{
			RepositoryName:             name,
			ImageScanningConfiguration: &ecrtypes.ImageScanningConfiguration{ScanOnPush: want["scan_on_push"].Bool()},
		})
		if err != nil {
			return err
		}
	}
	if changed("lifecycle_policy") {
		if policy := want["lifecycle_policy"]; policy.IsNull() {
			_, err = client.DeleteLifecyclePolicy(ctx, &ecr.DeleteLifecyclePolicyInput{RepositoryName: name})
			err = aws.IfExists(err)
		} else {
			_, err = client.PutLifecyclePolicy(ctx, &ecr.PutLifecyclePolicyInput{RepositoryName: name, LifecyclePolicyText: policy.Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if !changed(modules.ColumnTags) {
		return nil
	}
	arn := have["repository_arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &ecr.TagResourceInput{ResourceArn: arn, Tags: ecrTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &ecr.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		})
}

// Delete deletes a repository. It is not forced: the records of its images are
// deleted with the repository's, so that what is lost is seen in a preview.
func (r *repository) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteRepository(ctx, &ecr.DeleteRepositoryInput{RepositoryName: have["repository_name"].Ptr()})
	return aws.IfExists(err)
}
