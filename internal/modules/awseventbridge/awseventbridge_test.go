package awseventbridge

import (
	"encoding/json"
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBusLifecycle(t *testing.T) {
	t.Parallel()
	text := modules.Text
	r := newBus(awstest.Clients(t))
	awstest.Lifecycle(t, awstest.Case{
		Resource: r,
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"name": text("orders"), "description": text("of the shop"), "log_level": text("OFF"),
			"log_include_detail": text("NONE"),
			"dead_letter_arn":    text("arn:aws:sqs:us-west-2:123456789012:dead"),
			"tags":               modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"policy": {
				document(t, `{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"events:PutEvents","Resource":"arn:aws:events:us-west-2:123456789012:event-bus/orders"}]}`),
				modules.Null,
			},
		},
		// TestBusUpdate
		Elsewhere: []string{"description", "kms_key_identifier", "dead_letter_arn", "log_level", "log_include_detail"},
	})
	if r.Protected(modules.Row{"name": modules.Text("default")}) == "" ||
		r.Protected(modules.Row{"name": modules.Text("orders")}) != "" {
		t.Error("protects the wrong buses")
	}
}

// moto has no UpdateEventBus.
func TestBusUpdate(t *testing.T) {
	t.Parallel()
	var sent awstest.Input
	r := newBus(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"UpdateEventBus": func(in awstest.Input) (any, error) { sent = in; return map[string]any{}, nil },
		"CreateEventBus": func(in awstest.Input) (any, error) { sent = in; return map[string]any{}, nil },
	}))
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{"name": modules.Text("orders"), "dead_letter_arn": modules.Text("arn"),
		"log_level": modules.Text("INFO"), "log_include_detail": modules.Text("FULL")}
	if err := awstest.Update(ctx, r, permit, awstest.Scope("us-west-2"), want, want,
		[]string{"description", "log_level"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(sent); string(got) != `{"DeadLetterConfig":{"Arn":"arn"},"Description":"","LogConfig":{"IncludeDetail":"FULL","Level":"INFO"},"Name":"orders"}` {
		t.Errorf("sent %s", got)
	}
	want = modules.Row{"name": modules.Text("aws.partner/example.com/orders")}
	if _, err := awstest.Create(ctx, r, permit, awstest.Scope("us-west-2"), want, ""); err != nil ||
		sent.Text("EventSourceName") != want["name"].String() {
		t.Errorf("sent %v, %v", sent, err)
	}
}

// roles makes roles, and returns clients.
func roles(t *testing.T, scope modules.Scope, names ...string) *aws.Clients {
	t.Helper()
	clients, ctx, permit := awstest.Clients(t), t.Context(), awstest.Permit()
	client, err := declare.Client(ctx, clients.Permitted(permit), modules.Scope{Account: scope.Account},
		iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := client.CreateRole(ctx,
			&iam.CreateRoleInput{RoleName: &name,
				AssumeRolePolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return clients
}

func TestRuleAndTargetLifecycle(t *testing.T) {
	t.Parallel()
	scope, text, number := awstest.Scope("eu-west-1"), modules.Text, modules.Int[int]
	clients := roles(t, scope, "one", "two")
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newBus(clients), permit, scope, modules.Row{"name": text("orders")}, ""); err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newRule(clients), Scope: scope,
		Want: modules.Row{
			"event_bus_name": text("default"), "name": text("nightly"), "description": text("at night"),
			"schedule_expression": text("cron(0 20 * * ? *)"),
			"state":               text("ENABLED"), "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"description":         {text("every night"), modules.Null},
			"event_pattern":       {document(t, `{"source":["aws.ec2"]}`)},
			"schedule_expression": {text("rate(5 minutes)"), modules.Null},
			"role_name":           {text("one"), text("two"), modules.Null},
		},
	})
	want := modules.Row{"event_bus_name": text("orders"), "name": text("new"),
		"event_pattern": document(t, `{"detail-type":["order"]}`), "state": text("ENABLED")}
	rule := newRule(clients)
	if _, err := awstest.Create(ctx, rule, permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	rows, err := awstest.Get(ctx, rule, scope, []modules.Row{want})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newTarget(clients), Scope: scope,
		Want: modules.Row{"rule_id": rows[0]["arn"], "target_id": text("queue"),
			"arn": text("arn:aws:sqs:eu-west-1:123456789012:q")},
		Changes: map[string][]modules.Value{
			"arn":        {text("arn:aws:sqs:eu-west-1:123456789012:r")},
			"role_name":  {text("one"), modules.Null},
			"input":      {text(`{"a":1}`), modules.Null},
			"input_path": {text("$.detail"), modules.Null},
			"input_transformer": {document(t, `{"InputPathsMap":{"id":"$.id"},"InputTemplate":"<id>"}`),
				modules.Null},
			"dead_letter_arn":              {text("arn:aws:sqs:eu-west-1:123456789012:dead"), modules.Null},
			"maximum_retry_attempts":       {number(0), number(5), modules.Null},
			"maximum_event_age_in_seconds": {number(60), modules.Null},
			"message_group_id":             {text("group"), modules.Null},
			"partition_key_path":           {text("$.id"), modules.Null},
			"ecs_parameters": {document(t,
				`{"TaskDefinitionArn":"arn:aws:ecs:eu-west-1:123456789012:task-definition/t","TaskCount":2,"LaunchType":"FARGATE"}`), modules.Null},
			"batch_parameters": {document(t, `{"JobDefinition":"d","JobName":"n"}`), modules.Null},
			"http_parameters":  {document(t, `{"HeaderParameters":{"x":"y"}}`), modules.Null},
			"run_command_parameters": {document(t, `{"RunCommandTargets":[{"Key":"tag:a","Values":["b"]}]}`),
				modules.Null},
			"redshift_data_parameters": {document(t, `{"Database":"d","Sql":"SELECT 1"}`), modules.Null},
			"sage_maker_pipeline_parameters": {document(t, `{"PipelineParameterList":[{"Name":"a","Value":"b"}]}`),
				modules.Null},
			"app_sync_parameters": {document(t, `{"GraphQLOperation":"mutation"}`), modules.Null},
		},
	})
}

// Pages are followed to their end, and what AWS tells as a success, and is none, is
// an error. moto has neither.
func TestPagesAndFailures(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:events:us-east-1:123456789012:rule/"
	failed := map[string]any{"FailedEntryCount": 1,
		"FailedEntries": []any{map[string]any{"ErrorCode": "ConcurrentModificationException", "ErrorMessage": "again"}}}
	page := func(in awstest.Input, member string, one, two any) (any, error) {
		if in.Text("NextToken") == "" {
			return map[string]any{member: []any{one}, "NextToken": "two"}, nil
		}
		return map[string]any{member: []any{two}}, nil
	}
	clients := awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"ListEventBuses": func(in awstest.Input) (any, error) {
			return page(in, "EventBuses", map[string]any{"Name": "default"}, map[string]any{"Name": "aws.partner/a/b"})
		},
		"ListRules": func(in awstest.Input) (any, error) {
			if in.Text("EventBusName") == "default" {
				return page(in, "Rules", map[string]any{"Arn": arn + "a"}, map[string]any{"Arn": arn + "b"})
			}
			return map[string]any{"Rules": []any{map[string]any{"Arn": arn + "aws.partner/a/b/c"}}}, nil
		},
		"ListTargetsByRule": func(in awstest.Input) (any, error) {
			if in.Text("Rule") == "b" {
				return nil, awstest.Fault{Code: "ResourceNotFoundException", Message: "gone"}
			}
			return page(in, "Targets", map[string]any{"Id": in.Text("EventBusName") + " " + in.Text("Rule") + " 1"},
				map[string]any{"Id": in.Text("EventBusName") + " " + in.Text("Rule") + " 2"})
		},
		"PutTargets":    func(awstest.Input) (any, error) { return failed, nil },
		"RemoveTargets": func(awstest.Input) (any, error) { return failed, nil },
	})
	r, scope := newTarget(clients), awstest.Scope("us-east-1")
	var rows []modules.Row
	if err := awstest.List(t.Context(), r, scope, func(page []modules.Row) error {
		rows = append(rows, page...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got := aws.Column(rows, "target_id")
	slices.Sort(got)
	if want := []string{"aws.partner/a/b c 1", "aws.partner/a/b c 2", "default a 1", "default a 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{"rule_id": modules.Text(arn + "a"), "target_id": modules.Text("1"),
		"arn": modules.Text("arn:aws:sqs:us-east-1:123456789012:q")}
	_, created := awstest.Create(ctx, r, permit, scope, want, "")
	for what, err := range map[string]error{"create": created,
		"update": awstest.Update(ctx, r, permit, scope, want, want, []string{"arn"}),
		"delete": awstest.Delete(ctx, r, permit, scope, want)} {
		if err == nil || modules.ClassOf(err) != modules.Dependency {
			t.Errorf("%s: got %v, want class %s", what, err, modules.Dependency)
		}
	}
}

func TestManaged(t *testing.T) {
	if keepManaged(modules.Row{"managed_by": modules.Text("autoscaling.amazonaws.com")}) == "" ||
		keepManaged(modules.Row{"managed_by": modules.Null}) != "" {
		t.Error("protects the wrong rules")
	}
}
