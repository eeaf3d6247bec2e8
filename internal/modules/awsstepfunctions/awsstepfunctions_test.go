package awsstepfunctions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

func definition(t *testing.T, comment string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(`{"Comment":"` + comment + `","StartAt":"Done","States":{"Done":{"Type":"Succeed"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStateMachineLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope, text := awstest.Clients(t), awstest.Scope("us-west-2"), modules.Text
	ctx, permit := t.Context(), awstest.Permit()
	client, err := declare.Client(ctx, clients.Permitted(permit), modules.Scope{Account: scope.Account},
		iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := client.CreateRole(ctx,
			&iam.CreateRoleInput{RoleName: &name, Path: awssdk.String("/service/"),
				AssumeRolePolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newStateMachine(clients),
		Scope:    scope,
		Want: modules.Row{
			"name": text("orders"), "type": text("STANDARD"), "definition": definition(t, "first"),
			"role_name": text("one"),
			"log_level": text("OFF"), "include_execution_data": modules.Bool(false),
			"tracing_enabled": modules.Bool(false),
			"kms_key_id":      modules.Null, "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"definition": {definition(t, "second")},
			"role_name":  {text("two")},
			"log_group_arn": {text("arn:aws:logs:us-west-2:123456789012:log-group:orders:*"),
				modules.Null},
			"kms_key_id":                        {text("alias/mine")},
			"kms_data_key_reuse_period_seconds": {modules.Int(60)},
			// moto takes an empty tracingConfiguration for none: TestStates
			"tracing_enabled": {modules.Bool(true)},
		},
	})
}

// What moto does not do: a state machine that is being deleted is there, its name is
// not free, and a role that was made a moment ago cannot be assumed.
func TestStates(t *testing.T) {
	t.Parallel()
	var (
		asked  []string
		sent   awstest.Input
		fault  awstest.Fault
		status = "ACTIVE"
	)
	const arn = "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:"
	clients := awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"ListStateMachines": func(in awstest.Input) (any, error) {
			if in.Text("nextToken") == "" {
				return map[string]any{"stateMachines": []any{map[string]any{"name": "a", "stateMachineArn": arn + "a"}},
					"nextToken": "two"}, nil
			}
			return map[string]any{"stateMachines": []any{map[string]any{"name": "gone",
				"stateMachineArn": arn + "gone"}}}, nil
		},
		"DescribeStateMachine": func(in awstest.Input) (any, error) {
			asked = append(asked, in.Text("stateMachineArn"))
			if in.Text("stateMachineArn") != arn+"a" {
				return nil, awstest.Fault{Code: "StateMachineDoesNotExist"}
			}
			return map[string]any{"name": "a", "stateMachineArn": arn + "a", "status": status, "definition": "{}",
				"roleArn": "arn:aws-cn:iam::123456789012:role/service/r"}, nil
		},
		"ListTagsForResource": func(awstest.Input) (any, error) { return map[string]any{"tags": []any{}}, nil },
		"CreateStateMachine": func(in awstest.Input) (any, error) {
			if role := in.Text("roleArn"); role != "arn:aws:iam::123456789012:role/service/r" {
				return nil, fmt.Errorf("role %s", role)
			}
			return nil, fault
		},
		"UpdateStateMachine": func(in awstest.Input) (any, error) { sent = in; return map[string]any{}, nil },
	})
	r, scope := newStateMachine(clients), awstest.Scope("cn-north-1")
	var rows []modules.Row
	list := func() {
		t.Helper()
		rows = nil
		if err := awstest.List(t.Context(), r, scope, func(page []modules.Row) error {
			rows = append(rows, page...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if list(); !slices.Equal(aws.Column(rows, "name"), []string{"a"}) || rows[0]["role_name"] != modules.Text("r") {
		t.Errorf("got %v", rows)
	}
	asked = nil
	if rows, err := awstest.Get(t.Context(), r, scope, []modules.Row{{"name": modules.Text("a")}}); err != nil ||
		len(rows) != 1 || !slices.Equal(asked, []string{arn + "a"}) {
		t.Errorf("got %v, %v, by %v", rows, err, asked)
	}
	status = "DELETING"
	if list(); len(rows) != 1 || awstest.Phase(r, rows[0]) != modules.Going {
		t.Errorf("got %v", rows)
	}
	ctx, permit := t.Context(), awstest.Permit()
	have := modules.Row{"name": modules.Text("a"), "arn": modules.Text(arn + "a")}
	want := modules.Row{"role_name": modules.Text("r"), "definition": modules.Text("{}"),
		"log_level": modules.Text("OFF"), "tracing_enabled": modules.Bool(false)}
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"tracing_enabled", "kms_key_id"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(sent); string(got) != `{"encryptionConfiguration":{"type":"AWS_OWNED_KEY"},`+
		`"roleArn":"arn:aws:iam::123456789012:role/service/r","stateMachineArn":"`+arn+`a","tracingConfiguration":{}}` {
		t.Errorf("sent %s", got)
	}
	for f, class := range map[awstest.Fault]modules.Class{
		{Code: "StateMachineDeleting",
			Message: "State Machine is being deleted"}: modules.Dependency,
		{Code: "AccessDeniedException",
			Message: "Neither the global service principal states.amazonaws.com, nor the regional one is authorized " +
				"to assume the provided role."}: modules.Dependency,
		{Code: "AccessDeniedException",
			Message: "not you"}: modules.Denied,
		{Code: "StateMachineAlreadyExists",
			Message: "with another definition"}: modules.Exists,
	} {
		fault = f
		if _, err := awstest.Create(ctx, r, permit, scope,
			modules.Row{"name": modules.Text("a"), "role_name": modules.Text("r"), "definition": modules.Text("{}")},
			""); err == nil || modules.ClassOf(err) != class {
			t.Errorf("%v: got %v, want class %s", f, err, class)
		}
	}
}

// A change of neither the definition nor the role says the role all the same, without which AWS refuses it.
func TestRoleStandsIn(t *testing.T) {
	t.Parallel()
	have := modules.Row{"arn": modules.Text("arn:aws:states:us-east-1:123456789012:stateMachine:m"),
		"name": modules.Text("m"), "definition": modules.Text(`{"StartAt":"a"}`), "role_name": modules.Text("r"),
		"role_arn":        modules.Text("arn:aws:iam::123456789012:role/service/r"),
		"tracing_enabled": modules.Bool(false)}
	want := have.Clone()
	want["tracing_enabled"], want["definition"] = modules.Bool(true), modules.Text(`{"StartAt":"b"}`)
	for column, says := range map[string]string{
		"tracing_enabled": `"roleArn":"arn:aws:iam::123456789012:role/service/r"`, "definition": `"definition":`,
	} {
		calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newStateMachine(c) }, have, want,
			`{"updateDate":1}`, column)
		if len(calls) != 1 || !strings.Contains(calls[0], says) ||
			strings.Contains(calls[0], "roleArn") == strings.Contains(calls[0], `"definition"`) {
			t.Errorf("%s: made the calls %q", column, calls)
		}
	}
}
