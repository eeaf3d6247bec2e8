package watch

import (
	"context"
	"io"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// s3Files are the files that a trail has delivered to a bucket of Amazon S3.
type s3Files struct {
	clients *aws.Clients
	source  source
	region  string // of the bucket, once asked
}

func (f *s3Files) client(ctx context.Context) (*s3.Client, error) {
	if f.region == "" {
		client, err := f.clients.S3(ctx, modules.Scope{Account: f.source.Account})
		if err != nil {
			return nil, err
		}
		out, err := client.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &f.source.Bucket})
		switch {
		case modules.NotPermitted(err): // it is where the account is by default, perhaps
			f.region, err = f.clients.DefaultRegion(ctx, modules.Scope{Account: f.source.Account})
			if err != nil {
				return nil, err
			}
			return f.clients.S3(ctx, modules.Scope{Account: f.source.Account, Region: f.region})
		case err != nil:
			return nil, err
		}
		// Buckets of us-east-1 have none (page GetBucketLocation).
		if f.region = string(out.LocationConstraint); f.region == "" {
			f.region = "us-east-1"
		}
	}
	return f.clients.S3(ctx, modules.Scope{Account: f.source.Account, Region: f.region})
}

// Folders implements [files].
func (f *s3Files) Folders(ctx context.Context, within string) ([]string, error) {
	client, err := f.client(ctx)
	if err != nil {
		return nil, err
	}
	in := &s3.ListObjectsV2Input{Bucket: &f.source.Bucket, Prefix: &within, Delimiter: awssdk.String("/")}
	out, err := client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range out.CommonPrefixes {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(awssdk.ToString(p.Prefix), within), "/"))
	}
	return names, nil
}

// Names implements [files].
func (f *s3Files) Names(ctx context.Context, folder, after string, most int32) ([]string, error) {
	client, err := f.client(ctx)
	if err != nil {
		return nil, err
	}
	in := &s3.ListObjectsV2Input{Bucket: &f.source.Bucket, Prefix: &folder, MaxKeys: &most}
	if after != "" {
		in.StartAfter = &after
	}
	out, err := client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(out.Contents))
	for i, o := range out.Contents {
		names[i] = awssdk.ToString(o.Key)
	}
	return names, nil
}

// Open implements [files].
func (f *s3Files) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	client, err := f.client(ctx)
	if err != nil {
		return nil, err
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &f.source.Bucket, Key: &name})
	if err != nil {
		return nil, err
	}
	return out.Body, nil
}
