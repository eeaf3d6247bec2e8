package awss3

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newWebsite declares the table bucket_website.
func newWebsite(c *aws.Clients) *declare.Resource {
	// a bucket without has the error NoSuchWebsiteConfiguration
	read := declare.Call((*s3.Client).GetBucketWebsite, declare.Proves())
	of := func(kind modules.Type, name, member, doc string) declare.Column {
		return declare.Of(kind, name, member, doc).In("WebsiteConfiguration." + member).From(read)
	}
	return part(c, declare.Table[s3types.Bucket]{
		Name: "bucket_website",
		Doc:  "Buckets that are served as websites, over HTTP.",
		Columns: []declare.Column{
			of(modules.TypeText, "index_document", "IndexDocument.Suffix",
				"The name of the object that is served for a directory, such as index.html. NULL only where all "+
					"requests are redirected.").
				Check(`index_document <> '' AND index_document !~ '/'`),
			of(modules.TypeText, "error_document", "ErrorDocument.Key",
				"The key of the object that is served with client errors (4XX), such as error.html.").Check(
				`error_document <> ''`),
			of(modules.TypeText, "redirect_host_name", "RedirectAllRequestsTo.HostName",
				"The host that all requests are redirected to, instead of being served.").Check(
				`redirect_host_name <> ''`),
			of(modules.TypeText, "redirect_protocol", "RedirectAllRequestsTo.Protocol",
				"The protocol of that redirection. NULL: that of the request.").OneOf("http", "https"),
			of(modules.TypeJSON, "routing_rules", "RoutingRules",
				`Redirections of some requests, in order: a JSON array such as [{"Condition": {"KeyPrefixEquals": "docs/"}, "Redirect": {"ReplaceKeyPrefixWith": "documents/"}}].`).
				EmptyIsNull().Check(`jsonb_typeof(routing_rules) = 'array'`),
		},
		Checks: []string{
			"num_nonnulls(index_document, redirect_host_name) = 1",
			"redirect_host_name IS NOT NULL OR redirect_protocol IS NULL",
			"redirect_host_name IS NULL OR error_document IS NULL AND routing_rules IS NULL",
		},
		Delete: declare.Call((*s3.Client).DeleteBucketWebsite),
	}, declare.Call((*s3.Client).PutBucketWebsite))
}

// dashed are the regions whose website endpoints have a dash before the region,
// and not a dot (AWS General Reference, "Amazon S3 website endpoints").
var dashed = []string{"us-east-1", "us-west-1", "us-west-2", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1",
	"eu-west-1", "sa-east-1", "us-gov-west-1"}

// websiteHost returns the host that serves a bucket as a website.
func websiteHost(bucket, region string) string {
	separator, domain := ".", ".amazonaws.com"
	if slices.Contains(dashed, region) {
		separator = "-"
	}
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return bucket + ".s3-website" + separator + region + domain
}

// endpoint is the function get_bucket_website_endpoint.
func endpoint(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "get_bucket_website_endpoint",
		Doc:    "Tells the URL under which S3 serves a bucket as a website, if it has a row of bucket_website.",
		Sample: `SELECT get_bucket_website_endpoint('my-bucket')`,
		Table:  "bucket_website",
		Right:  "SELECT",
		Parameters: []modules.Parameter{
			{Name: "bucket_name", Type: modules.TypeText, Names: "bucket_name", Doc: "The bucket."},
		},
		Returns: []modules.Result{{Name: "endpoint", Type: modules.TypeText, Doc: "The URL."}},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			region, err := home(ctx, &declare.Step{Clients: c, Scope: scope}, nil,
				modules.Row{"bucket_name": args["bucket_name"]})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"endpoint": modules.Text("http://" +
				websiteHost(args["bucket_name"].String(), region))}}, nil
		},
	}
}
