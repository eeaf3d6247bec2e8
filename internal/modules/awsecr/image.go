package awsecr

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// mostImages is how many images DescribeImages takes by digest.
	mostImages = 100
	megabyte   = 1 << 20
)

// image is the table repository_image.
type image struct {
	clients     *aws.Clients
	description *modules.Table
}

func newImage(c *aws.Clients) *image { return &image{clients: c, description: describeImage()} }

func describeImage() *modules.Table {
	repository := ofRepository("private_repository_id", modules.PartFirst, "The repository it is in.")
	repository.Assigned = true
	return &modules.Table{
		Name: "repository_image",
		Doc: "Images in private repositories, one row per image and not, as in IaSQL, per tag: image_id and image_tag have become image_digest and image_tags. " +
			"Those in public ones are in public_repository_image. Images are pushed by other means; deleting a row deletes the image and all its tags.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns:  aws.Regional(append([]modules.Column{repository}, imageColumns()...)...),
	}
}

// imageColumns describes what there is of an image besides its repository.
func imageColumns() []modules.Column {
	return []modules.Column{
		{Name: "image_digest", Type: modules.TypeText, Identity: true, Assigned: true,
			Doc: "The digest of its manifest, such as sha256:0a1b…; after its repository's repository_uri and an @, what pulls it."},
		{Name: "image_tags", Type: modules.TypeTexts, Assigned: true, Unordered: true, EmptyIsNull: true,
			Doc: "Its tags; NULL if it has none."},
		{Name: "registry_id", Type: modules.TypeText, Assigned: true,
			Doc: "The twelve digits of the account whose registry the repository is in."},
		{Name: "pushed_at", Type: modules.TypeTime, Assigned: true,
			Doc: "When it was pushed."},
		{Name: "size_in_mb", Type: modules.TypeInteger, Assigned: true,
			Doc: "Its size, compressed, in MiB, rounded up."},
	}
}

// Table returns the description.
func (r *image) Table() *modules.Table { return r.description }

// List gives every image of the scope to page.
func (r *image) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachRepository(ctx, client, func(repositories []ecrtypes.Repository) error {
		collect, rows := aws.Collector()
		err := aws.Each(ctx, aws.Breadth, repositories, func(ctx context.Context, repo ecrtypes.Repository) error {
			return aws.IfExists(aws.Pages(ctx, ecr.NewDescribeImagesPaginator(client, &ecr.DescribeImagesInput{
				RepositoryName: repo.RepositoryName, MaxResults: awssdk.Int32(pageSize),
			}), func(out *ecr.DescribeImagesOutput) error { return collect(imageRows(out.ImageDetails)) }))
		})
		if err != nil {
			return err
		}
		return page(rows())
	})
}

// Get reads the images with these digests, those of a repository together.
func (r *image) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return byRepository(ctx, "private_repository_id", identities, func(ctx context.Context, name string, digests []string) ([]modules.Row, error) {
		ids := make([]ecrtypes.ImageIdentifier, len(digests))
		for i := range digests {
			ids[i].ImageDigest = &digests[i]
		}
		out, err := client.DescribeImages(ctx, &ecr.DescribeImagesInput{RepositoryName: &name, ImageIds: ids})
		if err != nil {
			return nil, err
		}
		return imageRows(out.ImageDetails), nil
	})
}

// byRepository reads images by their digests, those of a repository, which column
// names, together.
func byRepository(ctx context.Context, column string, identities []modules.Row, read func(ctx context.Context, name string, digests []string) ([]modules.Row, error)) ([]modules.Row, error) {
	digests := map[string][]string{}
	for _, identity := range identities {
		name := identity[column].String()
		digests[name] = append(digests[name], identity["image_digest"].String())
	}
	var all []modules.Row
	for name, some := range digests {
		rows, err := aws.InBatches(ctx, mostImages, some, func(ctx context.Context, some []string) ([]modules.Row, error) {
			return read(ctx, name, some)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func imageRows(details []ecrtypes.ImageDetail) []modules.Row {
	rows := make([]modules.Row, len(details))
	for i, d := range details {
		rows[i] = modules.Row{
			"private_repository_id": modules.TextPtr(d.RepositoryName),
			"image_digest":          modules.TextPtr(d.ImageDigest),
			"image_tags":            modules.Strings(d.ImageTags),
			"registry_id":           modules.TextPtr(d.RegistryId),
			"pushed_at":             modules.TimePtr(d.ImagePushedAt),
			"size_in_mb":            megabytes(d.ImageSizeInBytes),
		}
	}
	return rows
}

func megabytes(size *int64) modules.Value {
	if size == nil {
		return modules.Null
	}
	return modules.Int((*size + megabyte - 1) / megabyte)
}

// failureClasses are the classes of BatchDeleteImage's failures, which it
// answers with success. They are the same in both kinds of registries.
var failureClasses = map[string]modules.Class{
	string(ecrtypes.ImageFailureCodeImageNotFound): modules.NotFound,
	// A manifest list, which has to be deleted before, names the image.
	string(ecrtypes.ImageFailureCodeImageReferencedByManifestList): modules.Dependency,
}

// failed returns the error of an image that could not be deleted, nil for one
// that is gone.
func failed(code string, reason *string) error {
	class, ok := failureClasses[code]
	if !ok {
		class = modules.Invalid
	}
	return aws.IfExists(&modules.Error{Class: class, Code: code, Message: awssdk.ToString(reason)})
}

// Delete deletes an image and all its tags.
func (r *image) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	out, err := client.BatchDeleteImage(ctx, &ecr.BatchDeleteImageInput{
		RepositoryName: have["private_repository_id"].Ptr(),
		ImageIds:       []ecrtypes.ImageIdentifier{{ImageDigest: have["image_digest"].Ptr()}},
	})
	if err != nil {
		return aws.IfExists(err)
	}
	if len(out.Failures) > 0 { // one image was named: there is one at the most
		return failed(string(out.Failures[0].FailureCode), out.Failures[0].FailureReason)
	}
	return nil
}
