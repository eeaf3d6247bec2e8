package awss3

import (
	"context"
	"errors"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// pageSize is the most buckets ListBuckets gives a page. Asking for a page
	// is also what makes it tell their regions.
	pageSize = 10000
	// fewNames is up to how many buckets are read by one listing each, rather
	// than by a listing of all.
	fewNames = 8
	// firstRegion is the region that CreateBucket and GetBucketLocation do not
	// name (pages of both: LocationConstraint).
	firstRegion = "us-east-1"
)

// service is S3. An emulator's buckets have no host names of their own.
var service = declare.Service(s3.NewFromConfig, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })

// newBucket declares the table bucket. Buckets are listed for the whole account,
// but all other calls have to go to the region of the bucket. Policies can keep
// out the engine from the very bucket they are about.
func newBucket(c *aws.Clients) *declare.Resource {
	versioning := declare.Call((*s3.Client).GetBucketVersioning, declare.IfAllowed())
	policy := declare.Call((*s3.Client).GetBucketPolicy, declare.None("NoSuchBucketPolicy"), declare.IfAllowed())
	tags := declare.Call((*s3.Client).GetBucketTagging, declare.None("NoSuchTagSet"), declare.IfAllowed())
	return declare.New(c, declare.Table[s3types.Bucket]{
		Name:       "bucket",
		Doc:        "Buckets, which hold objects (files).",
		Service:    service,
		PerAccount: true,
		HasRegion:  true,
		Columns: slices.Concat([]declare.Column{
			declare.Name("name", "Name", "The bucket's name: 3 to 63 lowercase letters, digits, dots and hyphens, "+
				"unique among all accounts.").In("Bucket").
				// Buckets from before 2018 may break today's rules, and must
				// be importable (S3 User Guide, "Bucket naming rules").
				Check(`length(name) BETWEEN 3 AND 255 AND name ~ '^[A-Za-z0-9._-]+$'`),
			declare.Bool("versioning_enabled", "Status",
				"Whether objects that are replaced or deleted are kept as versions. Turning it off keeps the "+
					"versions there are. NULL: not known, since the bucket keeps the engine out.").
				In("VersioningConfiguration.Status").Initially("false").Usual(
				modules.Bool(false)).OptionalComputed().Since(2).From(versioning).As(enabled),
			declare.Policy("Policy", "Who may do what with the bucket: a bucket policy document. NULL: the account "+
				"alone, or not known, since the bucket keeps the engine out.").From(policy),
			declare.Bool("list_objects", "",
				"Whether the bucket's objects are listed, and have rows in bucket_object. It takes effect with the "+
					"next full cycle: SELECT iasql_sync_now('bucket_object'). AWS does not know of it.").
				Default("false").Required().Local().Since(4),
		}, configurations(), []declare.Column{
			declare.Time("created_at", "CreationDate",
				"When it was created, or when AWS last changed it, for AWS moves this date at some changes."),
			declare.Plain(aws.TagsColumn(),
				"TagSet").From(tags).As(declare.Codec{Decode: func(member any) (modules.Value, error) {
				return aws.S3Tags.Value(member.([]s3types.Tag)), nil
			}}),
		}),
		Published: declare.Published{Type: "AWS::S3::Bucket", Since: since,
			Columns: map[string]string{
				"BucketName": "name", "PublicAccessBlockConfiguration": "public_access_block",
				"VersioningConfiguration": "versioning_enabled", "WebsiteConfiguration": "bucket_website",
			},
			Without: map[string]string{
				"AccessControl": "AWS advises against access control lists, and new buckets have none: policy and " +
					"ownership_controls take their place",
				"MetadataTableConfiguration": declare.Deprecated,
			},
		},
		// In another region the same name can be used only once it is free.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("s3.amazonaws.com",
			modules.Request("bucketName", "PutBucketTagging", "DeleteBucketTagging", "PutBucketAcl",
				"PutBucketEncryption", "DeleteBucketEncryption", "PutBucketLifecycle", "DeleteBucketLifecycle",
				"PutBucketCors", "DeleteBucketCors", "PutBucketLogging", "PutBucketNotification",
				"PutBucketReplication", "DeleteBucketReplication", "PutBucketOwnershipControls",
				"DeleteBucketOwnershipControls", "PutBucketRequestPayment", "PutAccelerateConfiguration",
				"PutObjectLockConfiguration", "PutBucketAnalyticsConfiguration", "DeleteBucketAnalyticsConfiguration",
				"PutBucketInventoryConfiguration", "DeleteBucketInventoryConfiguration",
				"PutBucketMetricsConfiguration",
				"DeleteBucketMetricsConfiguration", "PutBucketIntelligentTieringConfiguration",
				"DeleteBucketIntelligentTieringConfiguration"),
		),
		List: buckets(""),
		Get:  declare.GetBy(getBuckets),
		Home: func(ctx context.Context, s *declare.Step, b *s3types.Bucket, row modules.Row) (string, error) {
			if b == nil {
				return row["region"].String(), nil
			}
			return regionOf(ctx, s.Clients, s.Scope, *b)
		},
		Row: func(_ context.Context, s *declare.Step, b *s3types.Bucket, row modules.Row) error {
			row["region"] = modules.Text(s.Scope.Region)
			if b.CreationDate == nil { // only listings tell
				delete(row, "created_at")
			}
			return nil
		},
		// Policy, versioning and tags, which CreateBucket does not take, are left to
		// the update.
		Create: declare.Call((*s3.Client).CreateBucket,
			declare.Fill(func(s *declare.Step, in *s3.CreateBucketInput) {
				if s.Scope.Region != firstRegion {
					in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{
						LocationConstraint: s3types.BucketLocationConstraint(s.Scope.Region)}
				}
			})),
		CreateBy: create,
		Updates: slices.Concat([]declare.Update{
			declare.Put("policy", declare.Call((*s3.Client).PutBucketPolicy),
				declare.Call((*s3.Client).DeleteBucketPolicy)),
			declare.Modify(declare.Call((*s3.Client).PutBucketVersioning), "versioning_enabled"),
		}, configure(), []declare.Update{
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return updateTags(ctx, declare.ClientOf[*s3.Client](s), s.Have["name"].Ptr(), s.Want)
			}, modules.ColumnTags),
		}),
		// A bucket has to be empty: deleting a row deletes no objects.
		Delete:    declare.Call((*s3.Client).DeleteBucket),
		HoldsData: true,
	})
}

// enabled reads the status of versioning; none says that it never was enabled.
var enabled = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		return modules.Bool(member.(s3types.BucketVersioningStatus) == s3types.BucketVersioningStatusEnabled), nil
	},
	Encode: func(v modules.Value) (any, error) {
		if v.Bool() {
			return s3types.BucketVersioningStatusEnabled, nil
		}
		return s3types.BucketVersioningStatusSuspended, nil
	},
}

// buckets lists the buckets whose names begin with prefix.
func buckets(prefix string) *declare.Listing {
	in := &s3.ListBucketsInput{MaxBuckets: awssdk.Int32(pageSize)}
	if prefix != "" {
		in.Prefix = &prefix
	}
	return declare.Pages(s3.NewListBucketsPaginator, "Buckets", declare.With(in))
}

// getBuckets reads the buckets with these names: those that are in the account's
// listing from there, and others by asking for them.
func getBuckets(ctx context.Context, s *declare.Step, identities []modules.Row) ([]s3types.Bucket, error) {
	names := aws.Column(identities, "name")
	prefixes := names
	if len(names) > fewNames {
		prefixes = []string{""}
	}
	listed := map[string]s3types.Bucket{}
	for _, prefix := range prefixes {
		all, err := declare.All[s3types.Bucket](ctx, s, buckets(prefix))
		if err != nil {
			return nil, err
		}
		for _, b := range all {
			if name := awssdk.ToString(b.Name); slices.Contains(names, name) {
				listed[name] = b
			}
		}
	}
	return declare.ReadEach(ctx, s, identities,
		func(ctx context.Context, identity modules.Row) (s3types.Bucket, error) {
			if b, ok := listed[identity["name"].String()]; ok {
				return b, nil
			}
			return head(ctx, s.Clients, s.Scope, identity["name"], identity["region"].String())
		})
}

// head asks for a bucket that the listing does not have, which is no proof that
// it does not exist: listings lag behind (S3 User Guide, "Amazon S3 data
// consistency model": bucket configurations). It asks for a bucket of this
// account: one of that name that belongs to another, and one that the account
// is kept out of, are refused with 403, and so not proven absent.
func head(ctx context.Context, c *aws.Clients, scope modules.Scope, name modules.Value,
	region string) (s3types.Bucket, error) {
	found := s3types.Bucket{Name: name.Ptr()}
	owner, err := c.AccountID(ctx, modules.Scope{Account: scope.Account})
	if err != nil {
		return found, err
	}
	client, err := c.S3(ctx, modules.Scope{Account: scope.Account, Region: region})
	if err != nil {
		return found, err
	}
	out, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: found.Name, ExpectedBucketOwner: &owner})
	if err == nil {
		found.BucketRegion = out.BucketRegion
		return found, nil
	}
	// From another region the answer is a redirection, which names the bucket's
	// own (page HeadBucket).
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode()/100 == 3 {
		if own := response.Response.Header.Get("X-Amz-Bucket-Region"); own != "" && own != region {
			return head(ctx, c, scope, name, own)
		}
	}
	var e *modules.Error
	if errors.As(err, &e) && e.Class == modules.Denied {
		return found, &modules.Error{Class: modules.Denied, Code: e.Code, Err: err,
			Message: fmt.Sprintf("bucket %s: belongs to another account, or keeps this one out by its policy",
				*found.Name)}
	}
	return found, err
}

// regionOf returns a bucket's region, which listings tell since 2024.
func regionOf(ctx context.Context, c *aws.Clients, scope modules.Scope, b s3types.Bucket) (string, error) {
	if region := awssdk.ToString(b.BucketRegion); region != "" {
		return region, nil
	}
	client, err := c.S3(ctx, modules.Scope{Account: scope.Account})
	if err != nil {
		return "", err
	}
	out, err := client.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: b.Name})
	if err != nil {
		return "", err
	}
	switch out.LocationConstraint {
	case "":
		return firstRegion, nil
	case s3types.BucketLocationConstraintEu:
		return "eu-west-1", nil
	}
	return string(out.LocationConstraint), nil
}

// create creates a bucket, in the default region unless it is told one.
func create(ctx context.Context, s *declare.Step) (modules.Row, error) {
	if s.Scope.Region == "" {
		region, err := s.Clients.DefaultRegion(ctx, s.Scope)
		if err != nil {
			return nil, err
		}
		if s, err = s.In(ctx, region); err != nil {
			return nil, err
		}
	}
	row, err := s.Create(ctx)
	if err == nil {
		row["region"] = modules.Text(s.Scope.Region)
	}
	return row, err
}

// readTags returns a bucket's tags, AWS's own included.
func readTags(ctx context.Context, client *s3.Client, name *string) (map[string]string, error) {
	out, err := client.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: name})
	if aws.HasCode(err, "NoSuchTagSet") {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return aws.S3Tags.Map(out.TagSet), nil
}

// updateTags replaces all tags, as PutBucketTagging does, and keeps those that
// users do not see: AWS refuses to lose its own.
func updateTags(ctx context.Context, client *s3.Client, name *string, want modules.Row) error {
	have, err := readTags(ctx, client, name)
	if err != nil {
		return err
	}
	tags := aws.TagsOf(want, "")
	for key, value := range aws.HiddenTags(have) {
		tags[key] = value
	}
	if len(tags) == 0 {
		_, err = client.DeleteBucketTagging(ctx, &s3.DeleteBucketTaggingInput{Bucket: name})
		return err
	}
	_, err = client.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{
		Bucket: name, Tagging: &s3types.Tagging{TagSet: aws.S3Tags.List(tags)},
	})
	return err
}
