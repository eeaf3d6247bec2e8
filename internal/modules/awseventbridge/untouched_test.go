package awseventbridge

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// What does not change is sent as it was found where a call replaces the whole (R35): a role that is gone by its
// ARN, a pattern as its author wrote it.
func TestReplaceSendsAsFound(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-1")
	ctx, permit := t.Context(), awstest.Permit()
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, eventbridge.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	name, role, pattern := "as-found", "arn:aws:iam::123456789012:role/gone",
		`{ "source": ["shop"],   "detail": {"price": [1.50]} }`
	if _, err := client.PutRule(ctx, &eventbridge.PutRuleInput{Name: &name, RoleArn: &role, EventPattern: &pattern}); err != nil {
		t.Fatal(err)
	}
	rules := newRule(clients)
	rows, err := awstest.Get(ctx, rules, scope,
		[]modules.Row{{"event_bus_name": modules.Text("default"), "name": modules.Text(name)}})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if got := rows[0]["role_arn"].String(); got != role {
		t.Errorf("the role's ARN is shown as %q", got)
	}
	want := rows[0].Clone()
	want["description"] = modules.Text("edited")
	delete(want, "role_name") // there is no record of it
	if err := awstest.Update(ctx, rules, permit, scope, rows[0], want, []string{"description"}); err != nil {
		t.Fatal(err)
	}
	is, err := client.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	if *is.Description != "edited" || is.RoleArn == nil || *is.RoleArn != role || *is.EventPattern != pattern {
		t.Errorf("after the edit of its description: %q, %v, %q", *is.Description, is.RoleArn, *is.EventPattern)
	}
}
