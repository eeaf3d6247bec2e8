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

// bucket is the table bucket. Buckets are listed for the whole account, but all
// other calls have to go to the region of the bucket.
type bucket struct {
	clients     *aws.Clients
	description *modules.Table
}

func newBucket(c *aws.Clients) *bucket { return &bucket{clients: c, description: describeBucket()} }

func describeBucket() *modules.Table {
	return &modules.Table{
		Name:     "bucket",
		Doc:      "Buckets, which hold objects (files).",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				// Buckets from before 2018 may break today's rules, and must
				// be importable (S3 User Guide, "Bucket naming rules").
				Check: `length(name) BETWEEN 3 AND 255 AND name ~ '^[A-Za-z0-9._-]+$'`,
				Doc:   "The bucket's name: 3 to 63 lowercase letters, digits, dots and hyphens, unique among all accounts."},
			modules.Column{Name: "versioning_enabled", Type: modules.TypeBool, Required: true, Default: "false", Since: 2,
				Doc: "Whether objects that are replaced or deleted are kept as versions. Turning it off keeps the versions there are."},
			aws.PolicyColumn("Who may do what with the bucket: a bucket policy document. NULL: the account alone."),
			modules.Column{Name: "created_at", Type: modules.TypeTime, Assigned: true,
				Doc: "When it was created, or when AWS last changed it, for AWS moves this date at some changes."},
			aws.TagsColumn(),
		),
		// In another region the same name can be used only once it is free.
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *bucket) Table() *modules.Table { return r.description }

// List gives every bucket of the account to page.
func (r *bucket) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.list(ctx, scope, "", func(buckets []s3types.Bucket) error {
		rows, err := aws.Read(ctx, buckets, func(ctx context.Context, b s3types.Bucket) (modules.Row, error) {
			return r.read(ctx, scope, b)
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// list gives the buckets whose names begin with prefix to page.
func (r *bucket) list(ctx context.Context, scope modules.Scope, prefix string, page func([]s3types.Bucket) error) error {
	client, err := r.clients.S3(ctx, modules.Scope{Account: scope.Account})
	if err != nil {
		return err
	}
	in := &s3.ListBucketsInput{MaxBuckets: awssdk.Int32(pageSize)}
	if prefix != "" {
		in.Prefix = &prefix
	}
	return aws.Pages(ctx, s3.NewListBucketsPaginator(client, in), func(out *s3.ListBucketsOutput) error { return page(out.Buckets) })
}

// Get reads the buckets with these names.
func (r *bucket) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	listed, err := r.listed(ctx, scope, aws.Column(identities, "name"))
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		b, ok := listed[identity["name"].String()]
		if !ok {
			var err error
			if b, err = r.head(ctx, scope, identity); err != nil {
				return nil, err
			}
		}
		return r.read(ctx, scope, b)
	})
}

// listed returns those of the named buckets that are in the account's listing.
func (r *bucket) listed(ctx context.Context, scope modules.Scope, names []string) (map[string]s3types.Bucket, error) {
	listed := map[string]s3types.Bucket{}
	prefixes := names
	if len(names) > fewNames {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		err := r.list(ctx, scope, prefix, func(buckets []s3types.Bucket) error {
			for _, b := range buckets {
				if name := awssdk.ToString(b.Name); slices.Contains(names, name) {
					listed[name] = b
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return listed, nil
}

// head asks for a bucket that the listing does not have, which is no proof that
// it does not exist: listings lag behind (S3 User Guide, "Amazon S3 data
// consistency model": bucket configurations). It asks for a bucket of this
// account: one of that name that belongs to another, and one that the account
// is kept out of, are refused with 403, and so not proven absent.
func (r *bucket) head(ctx context.Context, scope modules.Scope, identity modules.Row) (s3types.Bucket, error) {
	found := s3types.Bucket{Name: identity["name"].Ptr()}
	owner, err := r.clients.AccountID(ctx, modules.Scope{Account: scope.Account})
	if err != nil {
		return found, err
	}
	client, err := r.in(ctx, scope, identity["region"].String())
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
		if region := response.Response.Header.Get("X-Amz-Bucket-Region"); region != "" && region != identity["region"].String() {
			return r.head(ctx, scope, modules.Row{"name": identity["name"], "region": modules.Text(region)})
		}
	}
	var e *modules.Error
	if errors.As(err, &e) && e.Class == modules.Denied {
		return found, &modules.Error{Class: modules.Denied, Code: e.Code, Err: err,
			Message: fmt.Sprintf("bucket %s: belongs to another account, or keeps this one out by its policy", *found.Name)}
	}
	return found, err
}

// in returns the client of a region.
func (r *bucket) in(ctx context.Context, scope modules.Scope, region string) (*s3.Client, error) {
	return r.clients.S3(ctx, modules.Scope{Account: scope.Account, Region: region})
}

// read reads what ListBuckets leaves out. Policies can keep out the engine from
// the very bucket they are about; what it may not read is left unknown, so that
// one such bucket does not hide all others.
func (r *bucket) read(ctx context.Context, scope modules.Scope, b s3types.Bucket) (modules.Row, error) {
	region, err := r.region(ctx, scope, b)
	if err != nil {
		return nil, err
	}
	client, err := r.in(ctx, scope, region)
	if err != nil {
		return nil, err
	}
	row := modules.Row{"name": modules.TextPtr(b.Name), "region": modules.Text(region)}
	if b.CreationDate != nil {
		row["created_at"] = modules.TimePtr(b.CreationDate)
	}
	var (
		policy, tags, versioning       modules.Value
		noPolicy, noTags, noVersioning bool
	)
	err = aws.Together(ctx,
		func(ctx context.Context) error {
			out, err := client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: b.Name})
			if err != nil && modules.ClassOf(err) == modules.Denied {
				noVersioning = true
				return nil
			}
			if err == nil { // no status: it never was enabled
				versioning = modules.Bool(out.Status == s3types.BucketVersioningStatusEnabled)
			}
			return err
		},
		func(ctx context.Context) error {
			out, err := client.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: b.Name})
			switch {
			case hasCode(err, "NoSuchBucketPolicy"):
				return nil
			case err != nil && modules.ClassOf(err) == modules.Denied:
				noPolicy = true
				return nil
			case err != nil:
				return err
			}
			policy = aws.Policy(out.Policy)
			return nil
		},
		func(ctx context.Context) error {
			all, err := readTags(ctx, client, b.Name)
			if err != nil && modules.ClassOf(err) == modules.Denied {
				noTags = true
				return nil
			}
			tags = aws.TagValue(all)
			return err
		})
	if err != nil {
		return nil, err
	}
	if !noPolicy {
		row["policy"] = policy
	}
	if !noTags {
		row["tags"] = tags
	}
	if !noVersioning {
		row["versioning_enabled"] = versioning
	}
	return row, nil
}

// region returns a bucket's region, which listings tell since 2024.
func (r *bucket) region(ctx context.Context, scope modules.Scope, b s3types.Bucket) (string, error) {
	if region := awssdk.ToString(b.BucketRegion); region != "" {
		return region, nil
	}
	client, err := r.in(ctx, scope, "")
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

// readTags returns a bucket's tags, AWS's own included.
func readTags(ctx context.Context, client *s3.Client, name *string) (map[string]string, error) {
	out, err := client.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: name})
	if hasCode(err, "NoSuchTagSet") {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return aws.S3Tags.Map(out.TagSet), nil
}

func hasCode(err error, code string) bool {
	var e *modules.Error
	return errors.As(err, &e) && e.Code == code
}

// Create creates a bucket. Policy, versioning and tags, which CreateBucket does
// not take, are left to Update.
func (r *bucket) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	region := want["region"].String()
	if region == "" {
		var err error
		if region, err = r.clients.DefaultRegion(ctx, scope); err != nil {
			return nil, err
		}
	}
	client, err := r.in(ctx, scope, region)
	if err != nil {
		return nil, err
	}
	in := &s3.CreateBucketInput{Bucket: want["name"].Ptr()}
	if region != firstRegion {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(region),
		}
	}
	if _, err := client.CreateBucket(ctx, in); err != nil {
		return nil, err
	}
	return modules.Row{"name": want["name"], "region": modules.Text(region)}, nil
}

// Update changes what differs.
func (r *bucket) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.in(ctx, scope, have["region"].String())
	if err != nil {
		return err
	}
	name := have["name"].Ptr()
	if slices.Contains(columns, "policy") {
		if policy := want["policy"]; policy.IsNull() {
			_, err = client.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: name})
		} else {
			_, err = client.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: name, Policy: policy.Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "versioning_enabled") {
		status := s3types.BucketVersioningStatusSuspended
		if want["versioning_enabled"].Bool() {
			status = s3types.BucketVersioningStatusEnabled
		}
		_, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
			Bucket: name, VersioningConfiguration: &s3types.VersioningConfiguration{Status: status},
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, name, want)
	}
	return nil
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

// Delete deletes a bucket, which has to be empty: deleting a row deletes no
// objects.
func (r *bucket) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.in(ctx, scope, have["region"].String())
	if err != nil {
		return err
	}
	_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: have["name"].Ptr()})
	return aws.IfExists(err)
}
