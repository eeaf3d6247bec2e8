package awss3

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// bucketElsewhere makes a bucket of another region than the account's.
func bucketElsewhere(t *testing.T, clients *aws.Clients, prefix string) modules.Value {
	t.Helper()
	row := modules.Row{"name": modules.Text(unique(prefix)), "region": modules.Text("eu-central-1")}
	if _, err := awstest.Create(t.Context(), newBucket(clients), awstest.Permit(), awstest.Scope(""), row, ""); err != nil {
		t.Fatal(err)
	}
	return row["name"]
}

func TestPublicAccessBlockLifecycle(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	off, on := modules.Bool(false), modules.Bool(true)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newPublicAccessBlock(clients),
		Scope:    awstest.Scope(""),
		Want: modules.Row{
			"bucket_name": bucketElsewhere(t, clients, "block"), "block_public_acls": on, "ignore_public_acls": on,
			"block_public_policy": on, "restrict_public_buckets": off,
		},
		Changes: map[string][]modules.Value{
			"block_public_acls": {off}, "ignore_public_acls": {off}, "block_public_policy": {off},
			"restrict_public_buckets": {on},
		},
	})
}

func TestWebsiteLifecycle(t *testing.T) {
	t.Parallel()
	rules, err := modules.JSONText(
		`[{"Condition":{"KeyPrefixEquals":"docs/"},"Redirect":{"ReplaceKeyPrefixWith":"documents/","HttpRedirectCode":"302"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	one, err := modules.JSONText(`[{"Redirect":{"HostName":"example.com","Protocol":"https"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("served", func(t *testing.T) {
		t.Parallel()
		clients := awstest.Clients(t)
		awstest.Lifecycle(t, awstest.Case{
			Resource: newWebsite(clients),
			Scope:    awstest.Scope(""),
			Want: modules.Row{
				"bucket_name": bucketElsewhere(t, clients, "site"), "index_document": modules.Text("index.html"),
				"error_document":     modules.Null,
				"redirect_host_name": modules.Null, "redirect_protocol": modules.Null, "routing_rules": rules,
			},
			Changes: map[string][]modules.Value{
				"index_document": {modules.Text("start.html")},
				"error_document": {modules.Text("errors/404.html"), modules.Null},
				"routing_rules":  {one, modules.Null},
				// What follows is a site that serves and redirects, which AWS refuses
				// and moto does not: only the columns matter here.
				"redirect_host_name": {modules.Text("example.com")},
				"redirect_protocol":  {modules.Text("https"), modules.Null},
			},
		})
	})
	t.Run("redirected", func(t *testing.T) {
		t.Parallel()
		clients := awstest.Clients(t)
		site := newWebsite(clients)
		ctx, permit := t.Context(), awstest.Permit()
		row := modules.Row{"bucket_name": bucketElsewhere(t, clients, "redirected"),
			"redirect_host_name": modules.Text("example.com"), "redirect_protocol": modules.Text("https")}
		if _, err := awstest.Create(ctx, site, permit, awstest.Scope(""), row, ""); err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(ctx, site, awstest.Scope(""), []modules.Row{row})
		if err != nil || len(rows) != 1 || rows[0]["redirect_host_name"] != row["redirect_host_name"] ||
			rows[0]["redirect_protocol"] != row["redirect_protocol"] || !rows[0]["index_document"].IsNull() {
			t.Errorf("got %v, %v", rows, err)
		}
	})
}

// within asks for a listing of objects within these buckets.
func within(buckets ...string) modules.ListRequest {
	return modules.ListRequest{Scope: awstest.Scope(""), Selected: func(bucket string) bool {
		return slices.Contains(buckets, bucket)
	}}
}

// The objects of a bucket that nobody has named are not asked for.
func TestUnnamedBucket(t *testing.T) {
	t.Parallel()
	location, asked := text("<LocationConstraint/>"), 0
	clients := fake(t, map[string]func(http.ResponseWriter){
		"GET /":              listing("", "huge", "small"),
		"GET /huge?location": location, "GET /small?location": location,
		"GET /huge?list-type":  func(w http.ResponseWriter) { asked++; fail(500, "InternalError")(w) },
		"GET /small?list-type": text("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>"),
	})
	for name, c := range map[string]struct {
		asked modules.ListRequest
		want  int
	}{"one is named": {within("small"), 1}, "none is named": {modules.ListRequest{Scope: awstest.Scope("")}, 0}} {
		var rows []modules.Row
		if err := awstest.ListAs(t.Context(), newObject(clients), c.asked, func(page []modules.Row) error {
			rows = append(rows, page...)
			return nil
		}); err != nil || len(rows) != c.want || asked > 0 {
			t.Errorf("%s: %v, %v, the huge bucket was asked for %d times", name, rows, err, asked)
		}
	}
}

// Objects that were uploaded elsewhere are seen and deleted.
func TestObject(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("")
	journal := &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	r := newObject(clients)
	if r.Can().Create {
		t.Error("creates objects, which have no bytes here")
	}
	name := bucketElsewhere(t, clients, "objects")
	client, err := clients.Permitted(permit).S3(ctx, awstest.Scope("eu-central-1"))
	if err != nil {
		t.Fatal(err)
	}
	const keys = 1001 // two pages
	all := make([]string, keys)
	for i := range all {
		all[i] = fmt.Sprintf("a b/%04d+ü", i)
	}
	err = aws.Each(ctx, aws.Breadth, all, func(ctx context.Context, key string) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: name.Ptr(), Key: &key, Body: strings.NewReader("x")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var listed []modules.Row
	if err := awstest.ListAs(ctx, r, within(name.String()), func(rows []modules.Row) error {
		listed = append(listed, rows...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(listed) != keys {
		t.Fatalf("listed %d, want %d", len(listed), keys)
	}
	absent := listed[0].Clone()
	absent["key"] = modules.Text("none")
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{listed[0], absent})
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0]) != fmt.Sprint(listed[0]) {
		t.Errorf("got %v, %v, want %v", rows, err, listed[0])
	}
	if err := awstest.Delete(t.Context(), r, nil, scope, listed[0]); modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("delete without permission: %v", err)
	}
	for range 2 {
		if err := awstest.Delete(ctx, r, permit, scope, listed[0]); err != nil {
			t.Error(err)
		}
	}
	if rows, err := awstest.Get(ctx, r, scope, listed[:1]); err != nil || len(rows) != 0 {
		t.Errorf("after delete: got %v, %v", rows, err)
	}
}

// A bucket with too many objects is left out, and the others are not.
func TestLargeBucket(t *testing.T) {
	t.Parallel()
	contents := func(n int, truncated bool) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>more</NextContinuationToken>", truncated)
			for i := range n {
				fmt.Fprintf(w, "<Contents><Key>%d</Key><Size>1</Size></Contents>", i)
			}
			fmt.Fprint(w, "</ListBucketResult>")
		}
	}
	location := text("<LocationConstraint/>")
	clients := fake(t, map[string]func(http.ResponseWriter){
		"GET /":                listing("", "large", "small"),
		"GET /large?location":  location,
		"GET /small?location":  location,
		"GET /large?list-type": contents(mostObjects, true),
		"GET /small?list-type": contents(3, false),
	})
	var rows []modules.Row
	if err := awstest.ListAs(t.Context(), newObject(clients), within("large", "small", "gone"),
		func(page []modules.Row) error { rows = append(rows, page...); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0]["bucket_name"].String() != "small" {
		t.Errorf("got %d rows", len(rows))
	}
}
