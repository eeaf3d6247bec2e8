package types

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"iasql/internal/test/cloudcontrol"
	"iasql/internal/test/harness"
)

// TestHelp: what a generated table is for, and which permissions its objects need.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, sender)
	w.is("Who sends mail. (Example::Mail::Sender, made from its schema.)|INSERT INTO example_mail_sender "+
		"(sender_name) VALUES (…)",
		`SELECT description, sample_usage FROM iasql_help() WHERE module = 'Example::Mail::Sender'`)
	w.is("t", `SELECT replace(signature, E'\n', ' ') LIKE 'TABLE example_mail_sender (%, sender_name text, %, tags jsonb%' FROM iasql_help() WHERE name = 'example_mail_sender'`)
	w.is("iasql_platform", `SELECT module FROM iasql_help() LIMIT 1`)

	for flags, wanted := range map[string]struct{ has, lacks []string }{
		"": {[]string{"mail:CreateSender", "mail:GetSender", "mail:ListSenders",
			"cloudformation:CreateResource", "cloudformation:GetResource"}, nil},
		"--read-only": {[]string{"mail:GetSender", "cloudformation:ListResources"},
			[]string{"mail:CreateSender", "cloudformation:CreateResource"}},
	} {
		cmd := exec.CommandContext(t.Context(), harness.Engine(),
			append([]string{"iam-policy"}, strings.Fields(flags+" "+sender)...)...)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+w.fake.URL, "AWS_ACCESS_KEY_ID=AKIAFAKE",
			"AWS_SECRET_ACCESS_KEY=fake", "AWS_REGION=us-east-1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, action := range wanted.has {
			if !strings.Contains(string(out), `"`+action+`"`) {
				t.Errorf("iam-policy %s lacks %s: %s", flags, action, out)
			}
		}
		for _, action := range wanted.lacks {
			if strings.Contains(string(out), `"`+action+`"`) {
				t.Errorf("iam-policy %s has %s", flags, action)
			}
		}
	}
}
