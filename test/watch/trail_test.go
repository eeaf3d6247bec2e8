package watch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"iasql/internal/test/harness"
)

// The files of a trail tell, later, what a queue tells: what has changed, and who it was,
// also of what a listing has shown before. What is no such file stops nothing.
func TestTrail(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.Start(t, []string{"us-east-1"}, "aws_vpc")}
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	client := s3.NewFromConfig(w.AWS.Config("us-east-1"), func(o *s3.Options) { o.UsePathStyle = true })
	bucket := "our-trails"
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	put := func(name string, content []byte) {
		t.Helper()
		now := time.Now().UTC()
		key := fmt.Sprintf("all/AWSLogs/%s/CloudTrail/us-east-1/%s%s_CloudTrail_us-east-1_%s_%s.json.gz", w.AWS.ID,
			now.Format("2006/01/02/"), w.AWS.ID, now.Format("20060102T1504Z"), name)
		if _, err := client.PutObject(t.Context(),
			&s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
	records := func(events ...string) []byte {
		var list []json.RawMessage
		for _, e := range events {
			var outer struct{ Detail json.RawMessage }
			if err := json.Unmarshal([]byte(e), &outer); err != nil {
				t.Fatal(err)
			}
			list = append(list, outer.Detail)
		}
		text, err := json.Marshal(map[string]any{"Records": list})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(text)
		_ = z.Close()
		return b.Bytes()
	}
	id := w.PSQL(`SELECT vpc_id FROM vpc`)
	// While a source is there, what is pulled can be attributed afterwards.
	recipe(w.World, "watch.md", "trail")
	w.Eventually(20*time.Second, "the trail is read", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.event_source WHERE answered IS NOT NULL`) == "1"
	})
	w.CLI("ec2", "create-tags", "--resources", id, "--tags", "Key=a,Value=1")
	tagged := w.event("ec2.amazonaws.com", "CreateTags",
		fmt.Sprintf(`{"resourcesSet": {"items": [{"resourceId": %q}]}}`, id), "null")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT tags ->> 'a' FROM vpc`); got != "1" {
		t.Fatalf("the tag is %q", got)
	}
	put("garbage", []byte("no file of CloudTrail"))
	put("good", records(tagged, w.event("s3.amazonaws.com", "GetObject", "{}", "null", func(d map[string]any) {
		d["readOnly"] = true
	})))
	w.PSQL(`UPDATE aws_event_source SET is_enabled = false`)
	w.Eventually(20*time.Second, "it is read no more", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.event_source`) == "0"
	})
	w.PSQL(`UPDATE aws_event_source SET is_enabled = true`)
	w.Eventually(30*time.Second, "the author is known", func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'vpc' AND change_type = 'UPDATE' AND actor_session = 'ana@example.com'`) == "1"
	})
	if got := w.PSQL(`SELECT malformed, state, events, doubles, foreign_events FROM iasql_event_sources`); got != "1|ok|1|0|0" {
		t.Errorf("the source says %s", got)
	}
	if got := w.PSQL(`SELECT table_name, change_type, actor_session FROM iasql_changes_by('ana@example.com', now() - interval '1 hour')`); got != "vpc|UPDATE|ana@example.com" {
		t.Errorf("what she has changed: %s", got)
	}
}
