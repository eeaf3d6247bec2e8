package awsecr

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	publictypes "github.com/aws/aws-sdk-go-v2/service/ecrpublic/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newPublicImage declares the table public_repository_image.
func newPublicImage(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[publictypes.ImageDetail]{
		Name: "public_repository_image",
		Doc: "Images in public repositories, one row per image. Images are pushed by other means; deleting a row " +
			"deletes the image and all its tags. " +
			"In IaSQL they were rows of repository_image; here they have a table of their own, since the public " +
			"registry is not in a region, and must not hide private images when it cannot be read.",
		Service:    public,
		PerAccount: true,
		Optional:   true,
		Columns: append([]declare.Column{
			declare.Ref("public_repository", "RepositoryName", "public_repository", "repository_name",
				"The name of the repository it is in.").
				ByKey().Part(modules.PartContents, "").Required().Identity().Computed(),
		}, imageColumns()...),

		EventMappings: modules.EventMappings("ecr-public.amazonaws.com",
			modules.Request("repositoryName", "PutImage", "BatchDeleteImage").In("public_repository"),
		),
		List: declare.Pages(ecrpublic.NewDescribeImagesPaginator, "ImageDetails", declare.PageSize(pageSize)).
			Within(publicRepositories(), "RepositoryName", "RepositoryName"),
		Get:       declare.Named("ImageIds[].ImageDigest", mostImages),
		HoldsData: true,
		DeleteBy: func(ctx context.Context, s *declare.Step) error {
			out, err := declare.ClientOf[*ecrpublic.Client](s).BatchDeleteImage(ctx, &ecrpublic.BatchDeleteImageInput{
				RepositoryName: s.Have["public_repository"].Ptr(),
				ImageIds:       []publictypes.ImageIdentifier{{ImageDigest: s.Have["image_digest"].Ptr()}},
			})
			if err != nil || len(out.Failures) == 0 {
				return err
			}
			return failed(string(out.Failures[0].FailureCode), out.Failures[0].FailureReason)
		},
	})
}
