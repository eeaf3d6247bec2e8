package awsecr

import (
	"context"
	"errors"
	"net/http"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	publictypes "github.com/aws/aws-sdk-go-v2/service/ecrpublic/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// publicRegion is the region that the API of public registries is in, of which
// an account has one (AWS General Reference, "Amazon ECR Public endpoints and
// quotas").
const publicRegion = "us-east-1"

func publicClient(ctx context.Context, c *aws.Clients, scope modules.Scope) (*ecrpublic.Client, error) {
	scope.Region = publicRegion
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) *ecrpublic.Client {
		return ecrpublic.NewFromConfig(cfg, func(o *ecrpublic.Options) { o.Retryer = impatient{o.Retryer} })
	})
}

// impatient does not try again what was answered by something that does not know
// the service: with status 500 and no JSON, as moto does.
type impatient struct{ awssdk.Retryer }

// IsErrorRetryable reports whether the call is to be made again.
func (r impatient) IsErrorRetryable(err error) bool {
	var (
		answer  *smithyhttp.ResponseError
		garbled *smithy.DeserializationError
	)
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusInternalServerError && errors.As(err, &garbled) {
		return false
	}
	return r.Retryer.IsErrorRetryable(err)
}

var publicTags = aws.TagType[publictypes.Tag]{
	Split: func(t publictypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) publictypes.Tag { return publictypes.Tag{Key: key, Value: value} },
}

// publicRepository is the table public_repository.
type publicRepository struct {
	clients     *aws.Clients
	description *modules.Table
}

func newPublicRepository(c *aws.Clients) *publicRepository {
	return &publicRepository{clients: c, description: describePublicRepository()}
}

// The limits are those of the pages CreateRepository and
// RepositoryCatalogDataInput of the Amazon ECR Public API Reference.
func describePublicRepository() *modules.Table {
	text := func(name, length, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeText, Check: "length(" + name + ") BETWEEN 1 AND " + length, Doc: doc}
	}
	list := func(name, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true, Check: "cardinality(" + name + ") <= 50", Doc: doc}
	}
	return &modules.Table{
		Name: "public_repository",
		Doc: "Public repositories of container images: anybody can pull from them, and they are shown in the Amazon ECR Public Gallery. " +
			"An account has one public registry, whatever the region. Deleting a repository deletes its images first. " +
			"Where an account or an endpoint does not know public registries, iasql_get_errors() says so, and nothing else fails.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Optional: true,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "repository_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `length(repository_name) BETWEEN 2 AND 205 AND repository_name ~ '^([a-z0-9]+([._-][a-z0-9]+)*/)*[a-z0-9]+([._-][a-z0-9]+)*$'`,
				Doc:   "The repository's name, such as team/app: lowercase letters, digits, and single separators between them."},
			text("description", "1024", "What it holds, in short; shown in the gallery's search, too."),
			text("about_text", "25600", "What it holds, at length, in Markdown."),
			text("usage_text", "25600", "How its images are used, in Markdown."),
			list("architectures", "What its images run on. The gallery knows ARM, ARM 64, x86 and x86-64."),
			list("operating_systems", "The operating systems that its images are for. The gallery knows Linux and Windows."),
			modules.Column{Name: "repository_arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "registry_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account whose registry it is in."},
			modules.Column{Name: "repository_uri", Type: modules.TypeText, Assigned: true,
				Doc: "What images are pushed to and pulled from, such as public.ecr.aws/a1b2c3d4/team/app; NULL until it is created."},
			modules.Column{Name: "created_at", Type: modules.TypeTime, Assigned: true,
				Doc: "When it was created."},
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *publicRepository) Table() *modules.Table { return r.description }

// List gives every repository of the scope to page.
func (r *publicRepository) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachPublicRepository(ctx, client, func(repositories []publictypes.Repository) error {
		rows, err := readPublicRepositories(ctx, client, repositories)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

func eachPublicRepository(ctx context.Context, client *ecrpublic.Client, page func([]publictypes.Repository) error) error {
	return aws.Pages(ctx, ecrpublic.NewDescribeRepositoriesPaginator(client, &ecrpublic.DescribeRepositoriesInput{MaxResults: awssdk.Int32(pageSize)}),
		func(out *ecrpublic.DescribeRepositoriesOutput) error { return page(out.Repositories) })
}

// Get reads the repositories with these names.
func (r *publicRepository) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.InBatches(ctx, mostNames, aws.Column(identities, "repository_name"), func(ctx context.Context, names []string) ([]modules.Row, error) {
		out, err := client.DescribeRepositories(ctx, &ecrpublic.DescribeRepositoriesInput{RepositoryNames: names})
		if err != nil {
			return nil, err
		}
		return readPublicRepositories(ctx, client, out.Repositories)
	})
}

// readPublicRepositories reads what DescribeRepositories leaves out.
func readPublicRepositories(ctx context.Context, client *ecrpublic.Client, repositories []publictypes.Repository) ([]modules.Row, error) {
	return aws.Read(ctx, repositories, func(ctx context.Context, repo publictypes.Repository) (modules.Row, error) {
		row := modules.Row{
			"repository_name": modules.TextPtr(repo.RepositoryName),
			"repository_arn":  modules.TextPtr(repo.RepositoryArn),
			"registry_id":     modules.TextPtr(repo.RegistryId),
			"repository_uri":  modules.TextPtr(repo.RepositoryUri),
			"created_at":      modules.TimePtr(repo.CreatedAt),
		}
		var (
			catalog publictypes.RepositoryCatalogData
			tags    modules.Value
		)
		err := aws.Together(ctx,
			func(ctx context.Context) error {
				out, err := client.GetRepositoryCatalogData(ctx, &ecrpublic.GetRepositoryCatalogDataInput{RepositoryName: repo.RepositoryName})
				switch {
				case aws.HasCode(err, "RepositoryCatalogDataNotFoundException"): // none has been put
					return nil
				case err == nil && out.CatalogData != nil:
					catalog = *out.CatalogData
				}
				return err
			},
			func(ctx context.Context) error {
				out, err := client.ListTagsForResource(ctx, &ecrpublic.ListTagsForResourceInput{ResourceArn: repo.RepositoryArn})
				if err == nil {
					tags = publicTags.Value(out.Tags)
				}
				return err
			})
		row["description"] = modules.NonEmpty(awssdk.ToString(catalog.Description))
		row["about_text"] = modules.NonEmpty(awssdk.ToString(catalog.AboutText))
		row["usage_text"] = modules.NonEmpty(awssdk.ToString(catalog.UsageText))
		row["architectures"] = modules.Strings(catalog.Architectures)
		row["operating_systems"] = modules.Strings(catalog.OperatingSystems)
		row[modules.ColumnTags] = tags
		return row, err
	})
}

// Create creates a repository.
func (r *publicRepository) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateRepository(ctx, &ecrpublic.CreateRepositoryInput{
		RepositoryName: want["repository_name"].Ptr(), CatalogData: catalogData(want), Tags: publicTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"repository_name": want["repository_name"]}, nil
}

// catalogData returns what the gallery shows of a repository. What there is
// nothing of is empty, rather than left out, so that it does not stay.
func catalogData(want modules.Row) *publictypes.RepositoryCatalogDataInput {
	list := func(column string) []string { return append([]string{}, want[column].Strings()...) }
	return &publictypes.RepositoryCatalogDataInput{
		Description:      awssdk.String(want["description"].String()),
		AboutText:        awssdk.String(want["about_text"].String()),
		UsageText:        awssdk.String(want["usage_text"].String()),
		Architectures:    list("architectures"),
		OperatingSystems: list("operating_systems"),
	}
}

// Update changes what the gallery shows, by one call, and tags.
func (r *publicRepository) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(columns, func(c string) bool { return c != modules.ColumnTags }) {
		_, err := client.PutRepositoryCatalogData(ctx, &ecrpublic.PutRepositoryCatalogDataInput{
			RepositoryName: have["repository_name"].Ptr(), CatalogData: catalogData(want),
		})
		if err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	arn := have["repository_arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &ecrpublic.TagResourceInput{ResourceArn: arn, Tags: publicTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &ecrpublic.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		})
}

// Delete deletes a repository. It is not forced, as that of a private one is not.
func (r *publicRepository) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteRepository(ctx, &ecrpublic.DeleteRepositoryInput{RepositoryName: have["repository_name"].Ptr()})
	return aws.IfExists(err)
}
