package awss3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// part declares a table of configurations that a bucket has one of each: they
// are read, set and removed by the bucket's name, in the bucket's region. The
// call that sets one sets it as a whole.
func part(c *aws.Clients, t declare.Table[s3types.Bucket], put *declare.Op) *declare.Resource {
	t.Service, t.PerAccount, t.Home = service, true, home
	t.Columns = append([]declare.Column{
		declare.Ref("bucket_name", "Name", "bucket", "name", "The bucket it is of. Deleting the bucket deletes it.").
			In("Bucket").ByKey().Part(modules.PartFirst, "").Required().Identity().CreateOnly(),
	}, t.Columns...)
	t.List = buckets("")
	t.Get = declare.GetEach(func(ctx context.Context, s *declare.Step, identity modules.Row) (s3types.Bucket, error) {
		return head(ctx, s.Clients, s.Scope, identity["bucket_name"], "")
	})
	t.Create, t.Updates = put, []declare.Update{declare.Replace(put)}
	return declare.New(c, t)
}

// home returns the region of the bucket that something is of.
func home(ctx context.Context, s *declare.Step, b *s3types.Bucket, row modules.Row) (string, error) {
	if b == nil {
		found, err := head(ctx, s.Clients, s.Scope, row["bucket_name"], "")
		if err != nil {
			return "", err
		}
		b = &found
	}
	return regionOf(ctx, s.Clients, s.Scope, *b)
}

// homeClient returns the client of the region of a bucket.
func homeClient(ctx context.Context, c *aws.Clients, scope modules.Scope, bucket modules.Value) (*s3.Client, error) {
	region, err := home(ctx, &declare.Step{Clients: c, Scope: scope}, nil, modules.Row{"bucket_name": bucket})
	if err != nil {
		return nil, err
	}
	return c.S3(ctx, modules.Scope{Account: scope.Account, Region: region})
}
