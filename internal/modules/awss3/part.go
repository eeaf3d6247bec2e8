package awss3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// part is what the tables of configurations that a bucket has one of each have
// in common: they are read, set and removed by the bucket's name, in the
// bucket's region.
type part struct {
	buckets     *bucket
	description *modules.Table
	// read returns the configuration without its bucket, nil if the bucket has
	// none.
	read   func(ctx context.Context, client *s3.Client, bucket *string) (modules.Row, error)
	put    func(ctx context.Context, client *s3.Client, bucket *string, want modules.Row) error
	remove func(ctx context.Context, client *s3.Client, bucket *string) error
}

// bucketColumn describes the column by which a part names its bucket.
func bucketColumn() modules.Column {
	return modules.Column{Name: "bucket_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		References: &modules.Reference{Table: "bucket", Key: "name", ByKey: true, Part: modules.PartFirst},
		Doc:        "The bucket it is of. Deleting the bucket deletes it."}
}

// Table returns the description.
func (r *part) Table() *modules.Table { return r.description }

// List gives the configuration of every bucket to page: one call a bucket.
func (r *part) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.buckets.list(ctx, scope, "", func(buckets []s3types.Bucket) error {
		rows, err := aws.Read(ctx, buckets, func(ctx context.Context, b s3types.Bucket) (modules.Row, error) {
			region, err := r.buckets.region(ctx, scope, b)
			if err != nil {
				return nil, err
			}
			client, err := r.buckets.in(ctx, scope, region)
			if err != nil {
				return nil, err
			}
			return r.row(ctx, client, b.Name)
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the configurations of these buckets.
func (r *part) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		client, err := r.buckets.home(ctx, scope, identity["bucket_name"])
		if err != nil {
			return nil, err
		}
		return r.row(ctx, client, identity["bucket_name"].Ptr())
	})
}

func (r *part) row(ctx context.Context, client *s3.Client, bucket *string) (modules.Row, error) {
	row, err := r.read(ctx, client, bucket)
	if err != nil || row == nil {
		return nil, err
	}
	row["bucket_name"] = modules.TextPtr(bucket)
	return row, nil
}

// Create sets the configuration. One that the bucket has already is replaced.
func (r *part) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	return modules.Row{"bucket_name": want["bucket_name"]}, r.set(ctx, scope, want["bucket_name"], want)
}

// Update sets the whole configuration, which is what the API can do.
func (r *part) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, _ []string) error {
	return r.set(ctx, scope, have["bucket_name"], want)
}

func (r *part) set(ctx context.Context, scope modules.Scope, bucket modules.Value, want modules.Row) error {
	client, err := r.buckets.home(ctx, scope, bucket)
	if err != nil {
		return err
	}
	return r.put(ctx, client, bucket.Ptr(), want)
}

// Delete removes the configuration.
func (r *part) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.buckets.home(ctx, scope, have["bucket_name"])
	if err != nil {
		return aws.IfExists(err)
	}
	return aws.IfExists(r.remove(ctx, client, have["bucket_name"].Ptr()))
}

// home returns the client of the region of a bucket.
func (r *bucket) home(ctx context.Context, scope modules.Scope, name modules.Value) (*s3.Client, error) {
	b, err := r.head(ctx, scope, modules.Row{"name": name})
	if err != nil {
		return nil, err
	}
	region, err := r.region(ctx, scope, b)
	if err != nil {
		return nil, err
	}
	return r.in(ctx, scope, region)
}
