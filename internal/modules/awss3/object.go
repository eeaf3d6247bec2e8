package awss3

import (
	"context"
	"errors"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// mostObjects is how many objects of a bucket are listed; ListObjectsV2 gives
// 1000 a call. The objects of larger buckets are left out.
const mostObjects = 10000

// object is the table bucket_object. It neither uploads nor changes objects,
// whose bytes have no place in a table: functions do.
type object struct {
	buckets     *bucket
	description *modules.Table
}

func newObject(b *bucket) *object { return &object{buckets: b, description: describeObject()} }

func describeObject() *modules.Table {
	return &modules.Table{
		Name: "bucket_object",
		Doc: "Objects (files) in buckets. They can be looked at and deleted; they are uploaded by the functions s3_upload_object and s3_upload_bytes and read by s3_get_object. " +
			"Every pass over this table lists all buckets, one request for each 1000 objects; buckets with more than 10000 objects are left out. " +
			"A DELETE in a bucket with versioning leaves the versions behind, as in AWS. The region is the bucket's (IaSQL's table has a column for it).",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "bucket_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "bucket", Key: "name", ByKey: true},
				Doc:        "The bucket it is in."},
			modules.Column{Name: "key", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Doc: "Its name in the bucket, such as photos/2024/cat.jpg."},
			modules.Column{Name: "e_tag", Type: modules.TypeText, Assigned: true,
				Doc: "A tag that changes with its content, in double quotes."},
			modules.Column{Name: "size", Type: modules.TypeBigint, Assigned: true, Doc: "How many bytes it has."},
			modules.Column{Name: "storage_class", Type: modules.TypeText, Assigned: true, Doc: "STANDARD, GLACIER and so on."},
			modules.Column{Name: "last_modified", Type: modules.TypeTime, Assigned: true, Doc: "When it was uploaded."},
		),
	}
}

// Table returns the description.
func (r *object) Table() *modules.Table { return r.description }

var errTooMany = errors.New("too many objects")

// List gives the objects of every bucket that has not too many of them to page.
// Leaving some out is safe: a record whose object is not listed is looked up by
// Get before it is taken for gone.
func (r *object) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.buckets.list(ctx, scope, "", func(buckets []s3types.Bucket) error {
		for _, b := range buckets { // one by one: each may have as many rows as a page should
			rows, err := r.listBucket(ctx, scope, b)
			switch {
			case errors.Is(err, errTooMany), aws.IsNotFound(err):
				continue
			case err != nil:
				return err
			}
			if err := page(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *object) listBucket(ctx context.Context, scope modules.Scope, b s3types.Bucket) ([]modules.Row, error) {
	region, err := r.buckets.region(ctx, scope, b)
	if err != nil {
		return nil, err
	}
	client, err := r.buckets.in(ctx, scope, region)
	if err != nil {
		return nil, err
	}
	var rows []modules.Row
	err = aws.Pages(ctx, s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: b.Name}), func(out *s3.ListObjectsV2Output) error {
		for _, o := range out.Contents {
			rows = append(rows, modules.Row{
				"bucket_name": modules.TextPtr(b.Name), "key": modules.TextPtr(o.Key), "e_tag": modules.TextPtr(o.ETag),
				"size": modules.IntPtr(o.Size), "storage_class": storageClass(string(o.StorageClass)), "last_modified": modules.TimePtr(o.LastModified),
			})
		}
		if len(rows) >= mostObjects && awssdk.ToBool(out.IsTruncated) {
			return errTooMany
		}
		return nil
	})
	return rows, err
}

// storageClass returns the class, which S3 leaves out where it is the usual one.
func storageClass(class string) modules.Value {
	if class == "" {
		class = string(s3types.StorageClassStandard)
	}
	return modules.Text(class)
}

// Get reads the objects with these keys.
func (r *object) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		client, err := r.buckets.home(ctx, scope, identity["bucket_name"])
		if err != nil {
			return nil, err
		}
		out, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: identity["bucket_name"].Ptr(), Key: identity["key"].Ptr()})
		if err != nil {
			return nil, err
		}
		return modules.Row{
			"bucket_name": identity["bucket_name"], "key": identity["key"], "e_tag": modules.TextPtr(out.ETag),
			"size": modules.IntPtr(out.ContentLength), "storage_class": storageClass(string(out.StorageClass)), "last_modified": modules.TimePtr(out.LastModified),
		}, nil
	})
}

// Delete deletes an object.
func (r *object) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.buckets.home(ctx, scope, have["bucket_name"])
	if err != nil {
		return aws.IfExists(err)
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: have["bucket_name"].Ptr(), Key: have["key"].Ptr()})
	return aws.IfExists(err)
}
