package awss3

import (
	"context"
	"encoding/json"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// newWebsite returns the table bucket_website.
func newWebsite(b *bucket) *part {
	return &part{
		buckets: b,
		description: &modules.Table{
			Name:     "bucket_website",
			Doc:      "Buckets that are served as websites, over HTTP.",
			Provider: aws.Provider,
			Reach:    modules.PerAccount,
			Creation: modules.ByName,
			Columns: aws.PerAccount(
				bucketColumn(),
				modules.Column{Name: "index_document", Type: modules.TypeText, Check: `index_document <> '' AND index_document !~ '/'`,
					Doc: "The name of the object that is served for a directory, such as index.html. NULL only where all requests are redirected."},
				modules.Column{Name: "error_document", Type: modules.TypeText, Check: `error_document <> ''`,
					Doc: "The key of the object that is served with client errors (4XX), such as error.html."},
				modules.Column{Name: "redirect_host_name", Type: modules.TypeText, Check: `redirect_host_name <> ''`,
					Doc: "The host that all requests are redirected to, instead of being served."},
				modules.Column{Name: "redirect_protocol", Type: modules.TypeText, Enum: []string{"http", "https"},
					Doc: "The protocol of that redirection. NULL: that of the request."},
				modules.Column{Name: "routing_rules", Type: modules.TypeJSON, EmptyIsNull: true, Check: `jsonb_typeof(routing_rules) = 'array'`,
					Doc: `Redirections of some requests, in order: a JSON array such as [{"Condition": {"KeyPrefixEquals": "docs/"}, "Redirect": {"ReplaceKeyPrefixWith": "documents/"}}].`},
			),
			Checks: []string{
				"num_nonnulls(index_document, redirect_host_name) = 1",
				"redirect_host_name IS NOT NULL OR redirect_protocol IS NULL",
				"redirect_host_name IS NULL OR error_document IS NULL AND routing_rules IS NULL",
			},
		},
		read: readWebsite,
		put:  putWebsite,
		remove: func(ctx context.Context, client *s3.Client, bucket *string) error {
			_, err := client.DeleteBucketWebsite(ctx, &s3.DeleteBucketWebsiteInput{Bucket: bucket})
			return err
		},
	}
}

func readWebsite(ctx context.Context, client *s3.Client, bucket *string) (modules.Row, error) {
	// A bucket without has the error NoSuchWebsiteConfiguration.
	out, err := client.GetBucketWebsite(ctx, &s3.GetBucketWebsiteInput{Bucket: bucket})
	if err != nil {
		return nil, err
	}
	row := modules.Row{
		"index_document": modules.Null, "error_document": modules.Null,
		"redirect_host_name": modules.Null, "redirect_protocol": modules.Null, "routing_rules": modules.Null,
	}
	if d := out.IndexDocument; d != nil {
		row["index_document"] = modules.TextPtr(d.Suffix)
	}
	if d := out.ErrorDocument; d != nil {
		row["error_document"] = modules.TextPtr(d.Key)
	}
	if to := out.RedirectAllRequestsTo; to != nil {
		row["redirect_host_name"] = modules.TextPtr(to.HostName)
		row["redirect_protocol"] = modules.NonEmpty(to.Protocol)
	}
	if len(out.RoutingRules) > 0 {
		if row["routing_rules"], err = rulesValue(out.RoutingRules); err != nil {
			return nil, fmt.Errorf("bucket %s: routing rules: %w", awssdk.ToString(bucket), err)
		}
	}
	return row, nil
}

func putWebsite(ctx context.Context, client *s3.Client, bucket *string, want modules.Row) error {
	config := &s3types.WebsiteConfiguration{}
	if v := want["index_document"]; !v.IsNull() {
		config.IndexDocument = &s3types.IndexDocument{Suffix: v.Ptr()}
	}
	if v := want["error_document"]; !v.IsNull() {
		config.ErrorDocument = &s3types.ErrorDocument{Key: v.Ptr()}
	}
	if v := want["redirect_host_name"]; !v.IsNull() {
		config.RedirectAllRequestsTo = &s3types.RedirectAllRequestsTo{
			HostName: v.Ptr(), Protocol: s3types.Protocol(want["redirect_protocol"].String()),
		}
	}
	if v := want["routing_rules"]; !v.IsNull() {
		if err := json.Unmarshal([]byte(v.String()), &config.RoutingRules); err != nil {
			return &modules.Error{Class: modules.Invalid, Err: err, Message: "routing_rules: " + err.Error()}
		}
	}
	_, err := client.PutBucketWebsite(ctx, &s3.PutBucketWebsiteInput{Bucket: bucket, WebsiteConfiguration: config})
	return err
}

// rulesValue returns rules as users write them: without what is not set.
func rulesValue(rules []s3types.RoutingRule) (modules.Value, error) {
	raw, err := json.Marshal(rules)
	if err != nil {
		return modules.Null, err
	}
	var plain []any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return modules.Null, err
	}
	return modules.JSON(dropUnset(plain))
}

// dropUnset removes members that are null or "" from JSON objects.
func dropUnset(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = dropUnset(v[i])
		}
	case map[string]any:
		for key, member := range v {
			if member == nil || member == "" {
				delete(v, key)
			} else {
				v[key] = dropUnset(member)
			}
		}
	}
	return v
}
