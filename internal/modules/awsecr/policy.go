package awsecr

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// policy is the table repository_policy.
type policy struct {
	clients     *aws.Clients
	description *modules.Table
}

func newPolicy(c *aws.Clients) *policy { return &policy{clients: c, description: describePolicy()} }

func describePolicy() *modules.Table {
	repository := ofRepository("repository_id", modules.PartAlong, "The repository it is of, which has at most one.")
	repository.CreateOnly = true
	text := aws.PolicyColumn("Who may do what with the repository: an access policy document.")
	text.Required = true
	return &modules.Table{
		Name:     "repository_policy",
		Doc:      "Policies of private repositories.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(repository, text,
			modules.Column{Name: "registry_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account whose registry the repository is in."},
		),
	}
}

// Table returns the description.
func (r *policy) Table() *modules.Table { return r.description }

// List gives every policy of the scope to page.
func (r *policy) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachRepository(ctx, client, func(repositories []ecrtypes.Repository) error {
		rows, err := aws.Read(ctx, repositories, func(ctx context.Context, repo ecrtypes.Repository) (modules.Row, error) {
			return readPolicy(ctx, client, repo.RepositoryName)
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the policies of these repositories.
func (r *policy) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		return readPolicy(ctx, client, identity["repository_id"].Ptr())
	})
}

func readPolicy(ctx context.Context, client *ecr.Client, repository *string) (modules.Row, error) {
	out, err := client.GetRepositoryPolicy(ctx, &ecr.GetRepositoryPolicyInput{RepositoryName: repository})
	if err != nil {
		return nil, err
	}
	return modules.Row{
		"repository_id": modules.TextPtr(out.RepositoryName),
		"policy":        aws.Policy(out.PolicyText),
		"registry_id":   modules.TextPtr(out.RegistryId),
	}, nil
}

// Create sets a repository's policy; SetRepositoryPolicy replaces what there is.
func (r *policy) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	if err := r.set(ctx, scope, want["repository_id"], want["policy"]); err != nil {
		return nil, err
	}
	return modules.Row{"repository_id": want["repository_id"]}, nil
}

// Update changes the policy.
func (r *policy) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, _ []string) error {
	return r.set(ctx, scope, have["repository_id"], want["policy"])
}

func (r *policy) set(ctx context.Context, scope modules.Scope, repository, text modules.Value) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.SetRepositoryPolicy(ctx, &ecr.SetRepositoryPolicyInput{RepositoryName: repository.Ptr(), PolicyText: text.Ptr()})
	return err
}

// Delete removes a repository's policy.
func (r *policy) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteRepositoryPolicy(ctx, &ecr.DeleteRepositoryPolicyInput{RepositoryName: have["repository_id"].Ptr()})
	return aws.IfExists(err)
}
