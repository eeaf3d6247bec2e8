package functions

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// A user gets a first password, and another one. Neither is anywhere afterwards (R16).
func TestPasswords(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_iam")
	w.PSQL(`INSERT INTO iam_user (user_name) VALUES ('ann')`)
	w.Settled()
	if got := w.PSQL(`SELECT status FROM set_user_password('ann', 'First-7-horse-battery', true)`); got != "OK" {
		t.Errorf("a first password: %s", got)
	}
	// The emulator does not keep whether it has to be reset.
	if profile := w.CLI("iam", "get-login-profile", "--user-name", "ann")["LoginProfile"].(map[string]any); profile["UserName"] != "ann" {
		t.Errorf("the profile is %v", profile)
	}
	if got := w.PSQL(`SELECT status FROM set_user_password('ann', 'Other-8-horse-battery')`); got != "OK" {
		t.Errorf("another password: %s", got)
	}
	if got := w.Refused(`SELECT * FROM set_user_password('bob', 'Third-9-horse-battery')`); !strings.Contains(got, "IA030: set_user_password: NoSuchEntity") || strings.Contains(got, "horse") {
		t.Errorf("of a user that is not there: %s", got)
	}
	// The first one was there already when the second was set: that call failed, and is in the journal.
	if got := operations(w); got != "IAM|CreateLoginProfile|ok\nIAM|CreateLoginProfile|failed\nIAM|UpdateLoginProfile|ok\nIAM|CreateLoginProfile|failed" {
		t.Errorf("the journal has %s", got)
	}
	for _, table := range []string{"iasql_internal.request", "public.iasql_operations", "public.iasql_audit_log", "public.iasql_cycles", "public.iam_user", "iasql_river.river_job"} {
		if got := w.Admin(fmt.Sprintf(`SELECT count(*) FROM %s r WHERE r::text LIKE '%%-horse-%%'`, table)); got != "0" {
			t.Errorf("a password is in %s", table)
		}
	}
	reader := w.Login("reader", "iasql_reader")
	if _, err := w.TryPSQL(reader, `SELECT * FROM set_user_password('ann', 'x')`); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("a reader: %v", err)
	}
}

// The URL of a website is that of the region of its bucket.
func TestWebsiteEndpoint(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "eu-central-1"}, "aws_s3")
	w.PSQL(`INSERT INTO bucket (name, region) VALUES ('site-east', 'us-east-1'), ('site-central', 'eu-central-1')`)
	w.Settled()
	w.PSQL(`INSERT INTO bucket_website (bucket_name, index_document) VALUES ('site-east', 'index.html')`)
	w.Settled()
	for bucket, want := range map[string]string{
		"site-east":    "http://site-east.s3-website-us-east-1.amazonaws.com",
		"site-central": "http://site-central.s3-website.eu-central-1.amazonaws.com",
	} {
		if got := w.PSQL(`SELECT get_bucket_website_endpoint('` + bucket + `')`); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := operations(w); got != "" {
		t.Errorf("it only reads, and the journal has %s", got)
	}
}

// default_aws_region(region) sets what default_aws_region() tells.
func TestDefaultRegion(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "eu-west-1"}, "aws_sqs")
	if got := w.PSQL(`SELECT * FROM default_aws_region('eu-west-1')`, `SELECT default_aws_region()`, `INSERT INTO queue (name) VALUES ('there') RETURNING region`); got != "eu-west-1\neu-west-1\neu-west-1\nINSERT 0 1" {
		t.Errorf("the default region is %s", got)
	}
	if got := w.Refused(`SELECT default_aws_region('mars')`); !strings.Contains(got, "IA028") || !strings.Contains(got, "has no region mars") || !strings.Contains(got, "HINT") {
		t.Errorf("a region that is not there: %s", got)
	}
	reader := w.Login("reader", "iasql_reader")
	if _, err := w.TryPSQL(reader, `SELECT default_aws_region('us-east-1')`); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("a reader sets it: %v", err)
	}
	if got := w.PSQL(`SELECT default_aws_region()`); got != "eu-west-1" {
		t.Errorf("the default region is %s", got)
	}
}
