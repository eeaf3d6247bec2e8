package awss3

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Each column is set by its own calls, which send what has been written.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		column, have, want string
		calls              []string // method, path and query
		sends              string   // in the last of them
	}{
		{"lifecycle_configuration", ``, `[{"Status":"Enabled","Expiration":{"Days":30}}]`,
			[]string{"PUT /b?lifecycle"}, "<Filter></Filter>"},
		{"lifecycle_configuration", `[{"Status":"Enabled","Expiration":{"Days":30}}]`, ``,
			[]string{"DELETE /b?lifecycle"}, ""},
		{"logging_configuration", ``, `{"TargetBucket":"logs"}`, []string{"PUT /b?logging"}, "<TargetPrefix></TargetPrefix>"},
		{"logging_configuration", `{"TargetBucket":"logs"}`, ``, []string{"PUT /b?logging"}, "<BucketLoggingStatus"},
		{"notification_configuration", ``, `{"EventBridgeConfiguration":{}}`, []string{"PUT /b?notification"},
			"<EventBridgeConfiguration></EventBridgeConfiguration>"},
		{"notification_configuration", `{"EventBridgeConfiguration":{}}`, ``, []string{"PUT /b?notification"},
			"<NotificationConfiguration"},
		{"object_lock_configuration", ``, `{"DefaultRetention":{"Mode":"GOVERNANCE","Days":7}}`,
			[]string{"PUT /b?object-lock"}, "<ObjectLockEnabled>Enabled</ObjectLockEnabled>"},
		{"replication_configuration", ``, `{"Role":"arn:r","Rules":[{"Status":"Enabled","Destination":{"Bucket":"arn:b"}}]}`,
			[]string{"PUT /b?replication"}, "<Prefix></Prefix>"},
		{"replication_configuration", `{"Role":"arn:r"}`, ``, []string{"DELETE /b?replication"}, ""},
		{"analytics_configurations", `[{"Id":"old"},{"Id":"kept"}]`, `[{"Id":"kept"},{"Id":"new","Filter":{"Prefix":"a/"}}]`,
			[]string{"PUT /b?analytics&id=new", "DELETE /b?analytics&id=old"}, ""},
		{"metrics_configurations", ``, `[{"Id":"all"}]`, []string{"PUT /b?id=all&metrics"}, "<Id>all</Id>"},
		{"inventory_configurations", `[{"Id":"all"}]`, ``, []string{"DELETE /b?id=all&inventory"}, ""},
		{"intelligent_tiering_configurations", ``,
			`[{"Id":"all","Status":"Enabled","Tierings":[{"AccessTier":"ARCHIVE_ACCESS","Days":90}]}]`,
			[]string{"PUT /b?id=all&intelligent-tiering"}, "<Days>90</Days>"},
	} {
		var calls []string
		last := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			query.Del("x-id")
			calls = append(calls, r.Method+" "+strings.TrimSuffix(r.URL.Path, "/")+"?"+
				strings.ReplaceAll(query.Encode(), "=&", "&"))
			calls[len(calls)-1] = strings.TrimSuffix(calls[len(calls)-1], "=")
			body, _ := io.ReadAll(r.Body)
			last = string(body)
			w.Header().Set("x-amz-request-id", "4442587FB7D0A2F9")
		}))
		row := func(text string) modules.Row {
			row := modules.Row{"name": modules.Text("b"), "region": modules.Text("us-east-1"), c.column: modules.Null}
			if text != "" {
				row[c.column] = document(t, text)
			}
			return row
		}
		err := awstest.Update(t.Context(), newBucket(awstest.Fake(server.URL)), awstest.Permit(), awstest.Scope(""),
			row(c.have), row(c.want), []string{c.column})
		server.Close()
		if err != nil || !slices.Equal(calls, c.calls) || !strings.Contains(last, c.sends) {
			t.Errorf("%s from %q to %q: %v, %v, sent %s; want %v", c.column, c.have, c.want, err, calls, last, c.calls)
		}
	}
}

// What AWS fills in, or writes otherwise, is no difference.
func TestSameConfigurations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		same func(a, b string) bool
		a, b string
		want bool
	}{
		{sameRules[s3types.LifecycleRule](false, nil),
			`[{"Status":"Enabled","Expiration":{"Days":3}}]`,
			`[{"ID":"made-up","Status":"Enabled","Filter":{"Prefix":""},"Expiration":{"Days":3}}]`, true},
		{sameRules[s3types.LifecycleRule](false, nil), `[{"ID":"a","Status":"Enabled"}]`, `[{"ID":"b","Status":"Enabled"}]`, false},
		{sameRules[s3types.CORSRule](true, nil), `[{"ID":"a"},{"ID":"b"}]`, `[{"ID":"b"},{"ID":"a"}]`, false},
		{sameEncryption, `{"Rules":[{"ApplyServerSideEncryptionByDefault":{"SSEAlgorithm":"AES256"}}]}`,
			`{"Rules":[{"ApplyServerSideEncryptionByDefault":{"SSEAlgorithm":"AES256"},"BucketKeyEnabled":false,"BlockedEncryptionTypes":{"EncryptionType":["SSE-C"]}}]}`, true},
		{sameEncryption, `{"Rules":[{"ApplyServerSideEncryptionByDefault":{"SSEAlgorithm":"aws:kms","KMSMasterKeyID":"k"}}]}`,
			`{"Rules":[{"ApplyServerSideEncryptionByDefault":{"SSEAlgorithm":"aws:kms","KMSMasterKeyID":"arn:aws:kms:::key/k"}}]}`, true},
		{sameReplication, `{"Role":"r","Rules":[{"Status":"Enabled"}]}`,
			`{"Role":"r","Rules":[{"ID":"x","Status":"Enabled","DeleteMarkerReplication":{"Status":"Disabled"}}]}`, true},
		{sameNotifications, `{"QueueConfigurations":[{"QueueArn":"q","Events":["a","b"],"Filter":{"Key":{"FilterRules":[{"Name":"prefix","Value":"x"}]}}}]}`,
			`{"QueueConfigurations":[{"Id":"x","QueueArn":"q","Events":["b","a"],"Filter":{"Key":{"FilterRules":[{"Name":"Prefix","Value":"x"}]}}}]}`, true},
		{sameNotifications, `{"EventBridgeConfiguration":{}}`, `{}`, false},
	} {
		if c.same(c.a, c.b) != c.want || c.same(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.want)
		}
	}
}
