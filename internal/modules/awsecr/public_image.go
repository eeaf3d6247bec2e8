package awsecr

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	publictypes "github.com/aws/aws-sdk-go-v2/service/ecrpublic/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// publicImage is the table public_repository_image.
type publicImage struct {
	clients     *aws.Clients
	description *modules.Table
}

func newPublicImage(c *aws.Clients) *publicImage {
	return &publicImage{clients: c, description: describePublicImage()}
}

func describePublicImage() *modules.Table {
	return &modules.Table{
		Name: "public_repository_image",
		Doc: "Images in public repositories, one row per image. Images are pushed by other means; deleting a row deletes the image and all its tags. " +
			"In IaSQL they were rows of repository_image; here they have a table of their own, since the public registry is not in a region, and must not hide private images when it cannot be read.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Optional: true,
		Creation: modules.ByName,
		Columns: aws.PerAccount(append([]modules.Column{
			{Name: "public_repository", Type: modules.TypeText, Required: true, Identity: true, Assigned: true,
				References: &modules.Reference{Table: "public_repository", Key: "repository_name", ByKey: true, Part: modules.PartFirst},
				Doc:        "The name of the repository it is in."},
		}, imageColumns()...)...),
	}
}

// Table returns the description.
func (r *publicImage) Table() *modules.Table { return r.description }

// List gives every image of the scope to page.
func (r *publicImage) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachPublicRepository(ctx, client, func(repositories []publictypes.Repository) error {
		collect, rows := aws.Collector()
		err := aws.Each(ctx, aws.Breadth, repositories, func(ctx context.Context, repo publictypes.Repository) error {
			return aws.IfExists(aws.Pages(ctx, ecrpublic.NewDescribeImagesPaginator(client, &ecrpublic.DescribeImagesInput{
				RepositoryName: repo.RepositoryName, MaxResults: awssdk.Int32(pageSize),
			}), func(out *ecrpublic.DescribeImagesOutput) error { return collect(publicImageRows(out.ImageDetails)) }))
		})
		if err != nil {
			return err
		}
		return page(rows())
	})
}

// Get reads the images with these digests, those of a repository together.
func (r *publicImage) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return byRepository(ctx, "public_repository", identities, func(ctx context.Context, name string, digests []string) ([]modules.Row, error) {
		ids := make([]publictypes.ImageIdentifier, len(digests))
		for i := range digests {
			ids[i].ImageDigest = &digests[i]
		}
		out, err := client.DescribeImages(ctx, &ecrpublic.DescribeImagesInput{RepositoryName: &name, ImageIds: ids})
		if err != nil {
			return nil, err
		}
		return publicImageRows(out.ImageDetails), nil
	})
}

func publicImageRows(details []publictypes.ImageDetail) []modules.Row {
	rows := make([]modules.Row, len(details))
	for i, d := range details {
		rows[i] = modules.Row{
			"public_repository": modules.TextPtr(d.RepositoryName),
			"image_digest":      modules.TextPtr(d.ImageDigest),
			"image_tags":        modules.Strings(d.ImageTags),
			"registry_id":       modules.TextPtr(d.RegistryId),
			"pushed_at":         modules.TimePtr(d.ImagePushedAt),
			"size_in_mb":        megabytes(d.ImageSizeInBytes),
		}
	}
	return rows
}

// Delete deletes an image and all its tags.
func (r *publicImage) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := publicClient(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	out, err := client.BatchDeleteImage(ctx, &ecrpublic.BatchDeleteImageInput{
		RepositoryName: have["public_repository"].Ptr(),
		ImageIds:       []publictypes.ImageIdentifier{{ImageDigest: have["image_digest"].Ptr()}},
	})
	if err != nil {
		return aws.IfExists(err)
	}
	if len(out.Failures) > 0 { // one image was named: there is one at the most
		return failed(string(out.Failures[0].FailureCode), out.Failures[0].FailureReason)
	}
	return nil
}
