package functions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
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
	for _, table := range []string{"iasql_internal.request", "public.iasql_operations", "public.iasql_audit_log",
		"public.iasql_cycles", "public.iam_user", "iasql_river.river_job"} {
		if got := w.Admin(fmt.Sprintf(`SELECT count(*) FROM %s r WHERE r::text LIKE '%%-horse-%%'`, table)); got != "0" {
			t.Errorf("a password is in %s", table)
		}
	}
	reader := w.Login("reader", "iasql_reader")
	if _, err := w.TryPSQL(reader, `SELECT * FROM set_user_password('ann', 'x')`); err == nil ||
		!strings.Contains(err.Error(), "42501") {
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
	if got := w.PSQL(`SELECT * FROM default_aws_region('eu-west-1')`, `SELECT default_aws_region()`,
		`INSERT INTO queue (name) VALUES ('there') RETURNING region`); got != "eu-west-1\neu-west-1\neu-west-1\nINSERT 0 1" {
		t.Errorf("the default region is %s", got)
	}
	if got := w.Refused(`SELECT default_aws_region('mars')`); !strings.Contains(got, "IA028") ||
		!strings.Contains(got, "has no region mars") || !strings.Contains(got, "HINT") {
		t.Errorf("a region that is not there: %s", got)
	}
	reader := w.Login("reader", "iasql_reader")
	if _, err := w.TryPSQL(reader, `SELECT default_aws_region('us-east-1')`); err == nil ||
		!strings.Contains(err.Error(), "42501") {
		t.Errorf("a reader sets it: %v", err)
	}
	if got := w.PSQL(`SELECT default_aws_region()`); got != "eu-west-1" {
		t.Errorf("the default region is %s", got)
	}
}

// What AWS tells once goes into the Parameter Store and nowhere else (R16); what it is of does not stay where it
// cannot be kept.
func TestSecretsThatAWSTells(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_iam", "aws_ec2")
	w.PSQL(`INSERT INTO iam_user (user_name) VALUES ('ann@example.com')`)
	w.Settled()
	pair := w.PSQL(`SELECT key_pair_id, parameter FROM key_pair_request('operators')`)
	if id, parameter, _ := strings.Cut(pair, "|"); !strings.HasPrefix(id, "key-") || parameter != "/ec2/keypair/"+id {
		t.Errorf("a key pair: %s", pair)
	}
	key := w.PSQL(`SELECT access_key_id, parameter FROM access_key_request('ann@example.com')`)
	if id, parameter, _ := strings.Cut(key, "|"); !strings.HasPrefix(id, "AKIA") || parameter != "/iam/access-key/"+id {
		t.Errorf("an access key: %s", key)
	}
	kept := map[string]string{}
	for _, made := range []string{pair, key} {
		_, name, _ := strings.Cut(made, "|")
		parameter := w.CLI("ssm", "get-parameter", "--with-decryption", "--name", name)["Parameter"].(map[string]any)
		if parameter["Type"] != "SecureString" || len(parameter["Value"].(string)) < 20 {
			t.Errorf("%s is %s", name, parameter["Type"])
		}
		kept[name] = parameter["Value"].(string)
	}
	w.Becomes(20*time.Second, "operators|ann@example.com",
		`SELECT (SELECT name FROM key_pair), (SELECT user_name FROM access_key)`)
	w.PSQL(`SELECT * FROM iasql_install('aws_ssm')`)
	w.Becomes(20*time.Second, "2", `SELECT count(*) FROM ssm_parameter`)
	for _, table := range []string{"iasql_internal.request", "public.iasql_operations", "public.iasql_audit_log",
		"public.iasql_cycles", "public.key_pair", "public.access_key", "public.ssm_parameter",
		"iasql_river.river_job"} {
		for name, secret := range kept {
			part := strings.TrimSpace(strings.Split(secret, "\n")[min(1, strings.Count(secret, "\n"))])
			if got := w.Admin(fmt.Sprintf(`SELECT count(*) FROM %s r WHERE strpos(r::text, %s) > 0`, table,
				literal(part))); got != "0" {
				t.Errorf("the secret of %s is in %s", name, table)
			}
		}
	}
	// A name that is taken, and a store that takes nothing: there is no second pair, and no second key.
	if got := w.Refused(`SELECT * FROM key_pair_request('operators')`); !strings.Contains(got, "InvalidKeyPair.Duplicate") {
		t.Errorf("a second pair: %s", got)
	}
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "PutParameter" {
			return faultproxy.Fault{Status: 400, Code: "ParameterLimitExceeded"}
		}
		return faultproxy.Fault{}
	})
	for _, call := range []string{`key_pair_request('others')`, `access_key_request('ann@example.com')`} {
		if got := w.Refused(`SELECT * FROM ` + call); !strings.Contains(got, "ParameterLimitExceeded") ||
			!strings.Contains(got, "deleted again") {
			t.Errorf("%s: %s", call, got)
		}
	}
	pairs := w.CLI("ec2", "describe-key-pairs")["KeyPairs"].([]any)
	keys := w.CLI("iam", "list-access-keys", "--user-name", "ann@example.com")["AccessKeyMetadata"].([]any)
	if len(pairs) != 1 || len(keys) != 1 {
		t.Errorf("%d pairs and %d keys", len(pairs), len(keys))
	}
}
