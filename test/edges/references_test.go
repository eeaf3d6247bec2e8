package edges

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// An object that names a role that does not exist is imported without it, with the ARN beside it; the
// reference is there once the role is, and goes with it (R34).
func TestRolesGone(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_eventbridge")
	events, roles := eventbridge.NewFromConfig(w.AWS.Config("us-east-1")), iam.NewFromConfig(w.AWS.Config("us-east-1"))
	account := w.PSQL(`SELECT account_id FROM aws_account`)
	rule, name, arn, every, trust := "nightly", "sender", "arn:aws:iam::"+account+":role/sender", "rate(1 day)",
		`{"Version":"2012-10-17","Statement":[]}`
	if _, err := events.PutRule(w.Context(),
		&eventbridge.PutRuleInput{Name: &rule, RoleArn: &arn, ScheduleExpression: &every}); err != nil {
		t.Fatal(err)
	}
	shows := func(when, want string) {
		t.Helper()
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT concat_ws(' ', coalesce(role_name, 'NULL'), role_arn) FROM event_rule WHERE name = 'nightly'`); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	shows("without the role", "NULL "+arn)
	w.PSQL(`UPDATE event_rule SET description = 'edited' WHERE name = 'nightly'`)
	w.Settled()
	if is, err := events.DescribeRule(w.Context(), &eventbridge.DescribeRuleInput{Name: &rule}); err != nil ||
		*is.Description != "edited" || is.RoleArn == nil || *is.RoleArn != arn {
		t.Errorf("after an edit of something else: %+v, %v", is, err)
	}
	if _, err := roles.CreateRole(w.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust}); err != nil {
		t.Fatal(err)
	}
	shows("with the role", "sender "+arn)
	if _, err := roles.DeleteRole(w.Context(), &iam.DeleteRoleInput{RoleName: &name}); err != nil {
		t.Fatal(err)
	}
	shows("after it has gone", "NULL "+arn)
	if got := w.PSQL(`SELECT count(*) FROM iam_role WHERE role_name = 'sender'`); got != "0" {
		t.Errorf("%s records of the role", got)
	}
	if got := w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_problems`); got != "" {
		t.Errorf("problems: %s", got)
	}
}

// What is named by a text is not missing for good while it is being made: both come up in one transaction, however
// slow the cloud is with the one that is named.
func TestNamedBesideItsCreation(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1"}, "aws_ec2")
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "ImportKeyPair" {
			return faultproxy.Fault{Before: func() { time.Sleep(1500 * time.Millisecond) }}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`WITH pair AS (INSERT INTO key_pair (name, public_key) VALUES ('operators',
		'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8 someone'))
		INSERT INTO instance (ami, instance_type, key_pair_name)
		VALUES ('resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 'm5.large', 'operators')`)
	w.Settled()
	if n := proxy.Count("RunInstances"); n < 2 {
		t.Errorf("the instance was tried %d times: the test has not shown what it is about", n)
	}
}
