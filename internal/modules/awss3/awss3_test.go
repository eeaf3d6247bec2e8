package awss3

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// unique returns a name that no other account in the emulator has: names are
// shared by all.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

func policy(t *testing.T, bucket, action string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"` + action + `","Resource":"arn:aws:s3:::` + bucket + `/*"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBucketLifecycle(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"us-east-1", "eu-central-1"} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			name := unique("lifecycle")
			awstest.Lifecycle(t, awstest.Case{
				Resource: newBucket(awstest.Clients(t)),
				Scope:    awstest.Scope(""),
				Want: modules.Row{
					"name": modules.Text(name), "region": modules.Text(region),
					"versioning_enabled": modules.Bool(false),
					"policy":             policy(t, name, "s3:GetObject"),
					"tags":               modules.StringMap(map[string]string{"env": "test"}),
				},
				Changes: map[string][]modules.Value{
					"policy": {policy(t, name, "s3:PutObject"), modules.Null},
					"tags":   {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},

					"versioning_enabled": {modules.Bool(true), modules.Bool(false)},

					"bucket_encryption": {document(t,
						`{"Rules":[{"ApplyServerSideEncryptionByDefault":{"SSEAlgorithm":"aws:kms"},"BucketKeyEnabled":true}]}`)},
					"cors_configuration": {document(t,
						`[{"AllowedMethods":["GET"],"AllowedOrigins":["https://example.com"]}]`), modules.Null},
					"lifecycle_configuration": {
						document(t, `[{"ID":"logs","Status":"Enabled","Filter":{"Prefix":"logs/"},"Expiration":{"Days":30}}]`),
						modules.Null},
					"ownership_controls":       {document(t, `[{"ObjectOwnership":"ObjectWriter"}]`)},
					"accelerate_configuration": {modules.Text("Enabled"), modules.Text("Suspended")},
				},
				// moto lacks these, or refuses what they need: see TestConfigurations.
				// which S3 tells of rules alone
				Along: map[string][]string{"lifecycle_configuration": {"transition_default_minimum_object_size"}},
				Elsewhere: []string{"transition_default_minimum_object_size", "logging_configuration",
					"notification_configuration", "object_lock_enabled", "object_lock_configuration",
					"replication_configuration", "analytics_configurations", "inventory_configurations",
					"metrics_configurations", "intelligent_tiering_configurations"},
			})
		})
	}
}

// Tags that users do not see stay when the others are replaced or removed.
func TestHiddenTagsStay(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	r, scope := newBucket(c), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	row := modules.Row{"name": modules.Text(unique("hidden-tags")), "region": modules.Text("us-east-1")}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err != nil {
		t.Fatal(err)
	}
	client, err := c.Permitted(permit).S3(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	// AWS lets nobody set "aws:" tags; the engine's own are like them.
	put := &s3.PutBucketTaggingInput{Bucket: row["name"].Ptr(), Tagging: &s3types.Tagging{
		TagSet: aws.S3Tags.List(map[string]string{aws.TokenTag: "t", "a": "1"}),
	}}
	if _, err := client.PutBucketTagging(ctx, put); err != nil {
		t.Fatal(err)
	}
	if err := awstest.Update(ctx, r, permit, scope, row, modules.Row{"tags": modules.Null}, []string{"tags"}); err != nil {
		t.Fatal(err)
	}
	left, err := readTags(ctx, client, row["name"].Ptr())
	if err != nil || len(left) != 1 || left[aws.TokenTag] != "t" {
		t.Errorf("left: %v, %v", left, err)
	}
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{row})
	if err != nil || len(rows) != 1 || !rows[0]["tags"].IsNull() {
		t.Errorf("got %v, %v", rows, err)
	}
}

func TestDeleteOfAFullBucket(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	r, scope := newBucket(c), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	row := modules.Row{"name": modules.Text(unique("full")), "region": modules.Text("us-east-1")}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err != nil {
		t.Fatal(err)
	}
	client, err := c.Permitted(permit).S3(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	key := "file"
	if _, err := client.PutObject(ctx,
		&s3.PutObjectInput{Bucket: row["name"].Ptr(), Key: &key, Body: strings.NewReader("x")}); err != nil {
		t.Fatal(err)
	}
	err = awstest.Delete(ctx, r, permit, scope, row)
	if modules.ClassOf(err) != modules.Dependency || err == nil || !strings.Contains(err.Error(), "must be emptied") {
		t.Errorf("got %v", err)
	}
}

// fake answers by method, bucket and sub-resource: "GET /b?policy". Listings are
// "GET /", or "GET /?token" for a further page.
func fake(t *testing.T, answers map[string]func(w http.ResponseWriter)) *aws.Clients {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-amz-request-id", "4442587FB7D0A2F9") // which every answer has
		key := r.Method + " " + strings.TrimSuffix(r.URL.Path, "/")
		if r.URL.Path == "/" {
			key += "/"
		}
		for _, sub := range []string{"policy", "tagging", "location", "versioning", "list-type", "encryption", "cors",
			"lifecycle", "logging", "notification", "ownershipControls", "object-lock", "replication", "accelerate",
			"analytics", "inventory", "metrics", "intelligent-tiering"} {
			if r.URL.Query().Has(sub) {
				key += "?" + sub
			}
		}
		if token := r.URL.Query().Get("continuation-token"); token != "" {
			key += "?" + token
		}
		if r.URL.Query().Get("prefix") == "late" {
			key += "?late"
		}
		if answer := answers[key]; answer != nil {
			answer(w)
			return
		}
		switch {
		case r.Method == "POST":
			fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`)
		case strings.HasSuffix(key, "?policy"):
			fail(404, "NoSuchBucketPolicy")(w)
		case strings.HasSuffix(key, "?tagging"):
			fail(404, "NoSuchTagSet")(w)
		case strings.HasSuffix(key, "?versioning"):
			text("<VersioningConfiguration/>")(w)
		case r.Method == "GET" && none[key[strings.LastIndex(key, "?")+1:]] != "":
			fail(404, none[key[strings.LastIndex(key, "?")+1:]])(w)
		case r.Method == "GET" && empty[key[strings.LastIndex(key, "?")+1:]] != "":
			text("<" + empty[key[strings.LastIndex(key, "?")+1:]] + "/>")(w)
		default:
			fail(404, "NoSuchBucket")(w)
		}
	}))
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}

// none are the errors of a bucket that has nothing of the kind, and empty the root elements of answers that say so.
var (
	none = map[string]string{
		"encryption": "ServerSideEncryptionConfigurationNotFoundError", "cors": "NoSuchCORSConfiguration",
		"lifecycle": "NoSuchLifecycleConfiguration", "ownershipControls": "OwnershipControlsNotFoundError",
		"object-lock": "ObjectLockConfigurationNotFoundError",
		"replication": "ReplicationConfigurationNotFoundError",
	}
	empty = map[string]string{
		"logging": "BucketLoggingStatus", "notification": "NotificationConfiguration",
		"accelerate": "AccelerateConfiguration", "analytics": "ListBucketAnalyticsConfigurationResult",
		"inventory": "ListInventoryConfigurationsResult", "metrics": "ListMetricsConfigurationsResult",
		"intelligent-tiering": "ListBucketIntelligentTieringConfigurationsResult",
	}
)

func fail(status int, code string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it is so</Message></Error>", code)
	}
}

func text(body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprint(w, body) }
}

func listing(token string, buckets ...string) func(http.ResponseWriter) {
	var b strings.Builder
	for _, name := range buckets {
		fmt.Fprintf(&b, "<Bucket><Name>%s</Name><CreationDate>2024-01-02T03:04:05Z</CreationDate></Bucket>", name)
	}
	body := "<ListAllMyBucketsResult><Buckets>" + b.String() + "</Buckets>"
	if token != "" {
		body += "<ContinuationToken>" + token + "</ContinuationToken>"
	}
	return text(body + "</ListAllMyBucketsResult>")
}

func TestPagesRegionsAndLockedBuckets(t *testing.T) {
	t.Parallel()
	location := func(region string) func(http.ResponseWriter) {
		return text("<LocationConstraint>" + region + "</LocationConstraint>")
	}
	r := newBucket(fake(t, map[string]func(http.ResponseWriter){
		"GET /":              listing("two", "old", "gone"),
		"GET /?two":          listing("", "locked"),
		"GET /old?location":  location("EU"),
		"GET /gone?location": fail(404, "NoSuchBucket"),
		// No constraint at all: us-east-1.
		"GET /locked?location": location(""),
		"GET /locked?policy":   fail(403, "AccessDenied"),
	}))
	var rows []modules.Row
	err := awstest.List(t.Context(), r, awstest.Scope(""), func(page []modules.Row) error {
		rows = append(rows, page...)
		return nil
	})
	var unread *modules.Unread
	if !errors.As(err, &unread) || unread.Whole() ||
		!strings.HasPrefix(err.Error(), "could not be read: locked (policy): ") {
		t.Errorf("of what may not be read it says %v", err)
	}
	if !slices.Equal(aws.Column(rows, "name"), []string{"old", "locked"}) ||
		!slices.Equal(aws.Column(rows, "region"), []string{"eu-west-1", "us-east-1"}) {
		t.Fatalf("got %v", rows)
	}
	if _, known := rows[1]["policy"]; known {
		t.Error("a policy that may not be read is taken for known")
	}
	if v, known := rows[0]["policy"]; !known || !v.IsNull() {
		t.Errorf("a policy that is not there: got %v, %t, want NULL", v, known)
	}
}

// Not being listed proves nothing; the bucket itself has to be asked for.
func TestAbsenceIsProven(t *testing.T) {
	t.Parallel()
	get := func(head func(http.ResponseWriter)) ([]modules.Row, error) {
		r := newBucket(fake(t, map[string]func(http.ResponseWriter){
			"GET /?late": listing(""), "HEAD /late": head, "GET /late?location": text("<LocationConstraint/>"),
		}))
		return awstest.Get(t.Context(), r, awstest.Scope(""), []modules.Row{{"name": modules.Text("late")}})
	}
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	if rows, err := get(status(404)); err != nil || len(rows) != 0 {
		t.Errorf("404: got %v, %v, want none", rows, err)
	}
	if rows, err := get(status(200)); err != nil || len(rows) != 1 {
		t.Errorf("200: got %v, %v, want one", rows, err)
	}
	if rows, err := get(status(403)); err == nil || modules.ClassOf(err) != modules.Denied {
		t.Errorf("403: got %v, %v, want an error of class denied", rows, err)
	}
	asked := 0
	rows, err := get(func(w http.ResponseWriter) {
		if asked++; asked == 1 {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-2")
			w.WriteHeader(301)
			return
		}
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-2")
	})
	if err != nil || len(rows) != 1 || rows[0]["region"].String() != "eu-west-2" {
		t.Errorf("301: got %v, %v, want the bucket of eu-west-2", rows, err)
	}
}

// A name that another account has can be neither created nor adopted.
func TestSomebodyElsesBucket(t *testing.T) {
	t.Parallel()
	r := newBucket(fake(t, map[string]func(http.ResponseWriter){"PUT /taken": fail(409, "BucketAlreadyExists")}))
	ctx, permit := t.Context(), awstest.Permit()
	_, err := awstest.Create(ctx, r, permit, awstest.Scope(""),
		modules.Row{"name": modules.Text("taken"), "region": modules.Text("us-east-1")}, "")
	if err == nil || modules.ClassOf(err) != modules.Invalid {
		t.Errorf("got %v", err)
	}
}
