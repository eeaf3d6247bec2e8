package awss3

import (
	"context"
	"errors"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostObjects is how many objects of a bucket are listed; ListObjectsV2 gives
// 1000 a call. The objects of larger buckets are left out.
const mostObjects = 10000

// object is an object in its bucket.
type object struct {
	BucketName string
	s3types.Object
}

// newObject declares the table bucket_object. It neither uploads nor changes
// objects, whose bytes have no place in a table: functions do.
func newObject(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[object]{
		Name: "bucket_object",
		Doc: "Objects (files) in buckets. They can be looked at and deleted; they are uploaded by the functions " +
			"s3_upload_object and s3_upload_bytes and read by s3_get_object. " +
			"A bucket may have a billion of them: they are listed in the buckets alone whose list_objects is true, " +
			"with one request for each 1000 objects, and not if it has more than 10000. " +
			"In all other buckets nobody looks: rows that there are of them stay as they are. " +
			"A DELETE in a bucket with versioning leaves the versions behind, as in AWS. The region is the bucket's " +
			"(IaSQL's table has a column for it).",
		Service:    service,
		PerAccount: true,
		Columns: []declare.Column{
			declare.Ref("bucket_name", "BucketName", "bucket", "name",
				"The bucket it is in.").In("Bucket").ByKey().Required().Identity().CreateOnly().
				ListedIf("list_objects"),
			declare.Name("key", "Key", "Its name in the bucket, such as photos/2024/cat.jpg."),
			declare.Text("e_tag", "ETag", "A tag that changes with its content, in double quotes.").Computed(),
			declare.Bigint("size", "Size", "How many bytes it has.").Computed(),
			declare.Text("storage_class", "StorageClass",
				"STANDARD, GLACIER and so on.").Computed().Usual(modules.Text("STANDARD")),
			declare.Time("last_modified", "LastModified", "When it was uploaded."),
		},

		List: declare.ListBy(listObjects),
		Get: declare.GetEach(func(ctx context.Context, s *declare.Step, identity modules.Row) (object, error) {
			client, err := homeClient(ctx, s.Clients, s.Scope, identity["bucket_name"])
			if err != nil {
				return object{}, err
			}
			out, err := client.HeadObject(ctx,
				&s3.HeadObjectInput{Bucket: identity["bucket_name"].Ptr(), Key: identity["key"].Ptr()})
			if err != nil {
				return object{}, err
			}
			return object{identity["bucket_name"].String(), s3types.Object{
				Key: identity["key"].Ptr(), ETag: out.ETag, Size: out.ContentLength,
				StorageClass: s3types.ObjectStorageClass(out.StorageClass), LastModified: out.LastModified,
			}}, nil
		}),
		Home: func(ctx context.Context, s *declare.Step, _ *object, row modules.Row) (string, error) {
			return home(ctx, s, nil, row)
		},
		Delete:    declare.Call((*s3.Client).DeleteObject),
		HoldsData: true,
	})
}

var errTooMany = errors.New("too many objects")

// listObjects lists the objects of every bucket that is named and has not too many of them.
// Leaving some out is safe: a record whose object is not listed is looked up by
// Get before it is taken for gone.
func listObjects(ctx context.Context, s *declare.Step, page func([]object) error) error {
	return declare.Walk(ctx, s, buckets(""), func(all []s3types.Bucket) error {
		for _, b := range all { // one by one: each may have as many rows as a page should
			if !s.Selected(awssdk.ToString(b.Name)) {
				continue
			}
			objects, err := listBucket(ctx, s, b)
			if errors.Is(err, errTooMany) || aws.IsNotFound(err) {
				continue
			}
			if err := s.Skip(modules.Row{"bucket_name": modules.TextPtr(b.Name)}, err); err != nil {
				return err
			}
			if err := page(objects); err != nil {
				return err
			}
		}
		return nil
	})
}

func listBucket(ctx context.Context, s *declare.Step, b s3types.Bucket) ([]object, error) {
	region, err := regionOf(ctx, s.Clients, s.Scope, b)
	if err != nil {
		return nil, err
	}
	if s, err = s.In(ctx, region); err != nil {
		return nil, err
	}
	var objects []object
	in := &s3.ListObjectsV2Input{Bucket: b.Name}
	err = aws.Pages(ctx, s3.NewListObjectsV2Paginator(declare.ClientOf[*s3.Client](s), in),
		func(out *s3.ListObjectsV2Output) error {
			for _, o := range out.Contents {
				objects = append(objects, object{awssdk.ToString(b.Name), o})
			}
			if len(objects) >= mostObjects && awssdk.ToBool(out.IsTruncated) {
				return errTooMany
			}
			return nil
		})
	return objects, err
}
