package awsecr

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// mostImages is how many images DescribeImages takes by digest.
	mostImages = 100
	megabyte   = 1 << 20
)

// newImage declares the table repository_image.
func newImage(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ecrtypes.ImageDetail]{
		Name: "repository_image",
		Doc: "Images in private repositories, one row per image and not, as in IaSQL, per tag: image_id and " +
			"image_tag have become image_digest and image_tags. " +
			"Those in public ones are in public_repository_image. Images are pushed by other means; deleting a row " +
			"deletes the image and all its tags.",
		Service: declare.Service(ecr.NewFromConfig),
		Columns: append([]declare.Column{
			ofRepository("private_repository_id", modules.PartContents, "The repository it is in.").Computed(),
		}, imageColumns()...),

		EventMappings: modules.EventMappings("ecr.amazonaws.com",
			modules.Request("repositoryName", "PutImage", "BatchDeleteImage").In("private_repository_id"),
		),
		List: declare.Pages(ecr.NewDescribeImagesPaginator, "ImageDetails", declare.PageSize(pageSize)).
			Within(repositories(), "RepositoryName", "RepositoryName"),
		Get:       declare.Named("ImageIds[].ImageDigest", mostImages),
		HoldsData: true,
		DeleteBy: func(ctx context.Context, s *declare.Step) error {
			out, err := declare.ClientOf[*ecr.Client](s).BatchDeleteImage(ctx, &ecr.BatchDeleteImageInput{
				RepositoryName: s.Have["private_repository_id"].Ptr(),
				ImageIds:       []ecrtypes.ImageIdentifier{{ImageDigest: s.Have["image_digest"].Ptr()}},
			})
			if err != nil || len(out.Failures) == 0 { // one image was named: there is one at the most
				return err
			}
			return failed(string(out.Failures[0].FailureCode), out.Failures[0].FailureReason)
		},
	})
}

// imageColumns declares what there is of an image besides its repository.
func imageColumns() []declare.Column {
	return []declare.Column{
		declare.ID("image_digest", "ImageDigest",
			"The digest of its manifest, such as sha256:0a1b…; after its repository's repository_uri and an @, what "+
				"pulls it."),
		declare.Texts("image_tags", "ImageTags", "Its tags; NULL if it has none.").Computed().Unordered().EmptyIsNull(),
		declare.Text("registry_id", "RegistryId",
			"The twelve digits of the account whose registry the repository is in.").Computed(),
		declare.Time("pushed_at", "ImagePushedAt", "When it was pushed."),
		declare.Integer("size_in_mb", "ImageSizeInBytes",
			"Its size, compressed, in MiB, rounded up.").Computed().As(declare.Codec{
			Decode: func(size any) (modules.Value, error) {
				return modules.Int((size.(int64) + megabyte - 1) / megabyte), nil
			},
		}),
	}
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
