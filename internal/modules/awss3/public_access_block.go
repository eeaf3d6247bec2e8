package awss3

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// newPublicAccessBlock returns the table public_access_block.
func newPublicAccessBlock(b *bucket) *part {
	flag := func(name, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeBool, Required: true, Default: "true", Doc: doc + " Default true."}
	}
	return &part{
		buckets: b,
		description: &modules.Table{
			Name:     "public_access_block",
			Doc:      "What keeps buckets from becoming public by mistake. AWS gives every new bucket one with all four columns true (since April 2023). Deleting a record allows what it blocks.",
			Provider: aws.Provider,
			Reach:    modules.PerAccount,
			Creation: modules.ByName,
			Columns: aws.PerAccount(
				bucketColumn(),
				flag("block_public_acls", "Whether access control lists that make the bucket or objects public are refused."),
				flag("ignore_public_acls", "Whether such lists, where there are any, have no effect."),
				flag("block_public_policy", "Whether policies that make the bucket public are refused."),
				flag("restrict_public_buckets", "Whether a public policy lets in only AWS services and the owner's account."),
			),
		},
		read: func(ctx context.Context, client *s3.Client, bucket *string) (modules.Row, error) {
			// A bucket without has the error NoSuchPublicAccessBlockConfiguration.
			out, err := client.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: bucket})
			if err != nil {
				return nil, err
			}
			c := out.PublicAccessBlockConfiguration
			return modules.Row{
				"block_public_acls":       modules.Bool(awssdk.ToBool(c.BlockPublicAcls)),
				"ignore_public_acls":      modules.Bool(awssdk.ToBool(c.IgnorePublicAcls)),
				"block_public_policy":     modules.Bool(awssdk.ToBool(c.BlockPublicPolicy)),
				"restrict_public_buckets": modules.Bool(awssdk.ToBool(c.RestrictPublicBuckets)),
			}, nil
		},
		put: func(ctx context.Context, client *s3.Client, bucket *string, want modules.Row) error {
			_, err := client.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
				Bucket: bucket,
				PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{
					BlockPublicAcls:       awssdk.Bool(want["block_public_acls"].Bool()),
					IgnorePublicAcls:      awssdk.Bool(want["ignore_public_acls"].Bool()),
					BlockPublicPolicy:     awssdk.Bool(want["block_public_policy"].Bool()),
					RestrictPublicBuckets: awssdk.Bool(want["restrict_public_buckets"].Bool()),
				},
			})
			return err
		},
		remove: func(ctx context.Context, client *s3.Client, bucket *string) error {
			_, err := client.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: bucket})
			return err
		},
	}
}
