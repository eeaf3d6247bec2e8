package awssecretsmanager

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestSecretLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newSecret(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"name": modules.Text("app/password"), "description": modules.Text("of the app"),
			"value":      modules.Text("hunter2"),
			"kms_key_id": modules.Null, "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			// moto takes an empty description for none given; AWS removes it (page
			// UpdateSecret).
			"description": {modules.Text("of another app")},
			"kms_key_id":  {modules.Text("alias/mine"), modules.Null},
			"replica_regions": {
				replicas(t, `[{"Region": "us-east-2"}, {"Region": "eu-west-1"}]`),
				replicas(t, `[{"Region": "eu-west-1"}, {"Region": "eu-west-2"}]`), modules.Null},
			"tags": {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},
		},
		Calls: map[string]int{"replica_regions": 2, "tags": 2},
	})
}

func replicas(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A replica whose key changes is removed, and added by the next pass; of a replica nothing is said of the others.
func TestReplicas(t *testing.T) {
	t.Parallel()
	var calls []string
	primary := "us-east-1"
	r := newSecret(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"DescribeSecret": func(in awstest.Input) (any, error) {
			return map[string]any{"Name": "s", "ARN": "arn:aws:secretsmanager:us-east-1:123456789012:secret:s-1",
				"PrimaryRegion": primary, "ReplicationStatus": []any{map[string]any{"Region": "eu-west-1", "Status": "InSync",
					"KmsKeyId": "arn:aws:kms:eu-west-1:123456789012:key/1"}}}, nil
		},
		"RemoveRegionsFromReplication": func(in awstest.Input) (any, error) {
			calls = append(calls, fmt.Sprint("remove ", in["RemoveReplicaRegions"]))
			return map[string]any{"ARN": "arn"}, nil
		},
		"DeleteSecret": func(awstest.Input) (any, error) {
			calls = append(calls, "delete")
			return nil, awstest.Fault{Code: "InvalidRequestException", Message: "the secret still has replica regions"}
		},
		"ReplicateSecretToRegions": func(in awstest.Input) (any, error) {
			calls = append(calls, fmt.Sprint("add ", in["AddReplicaRegions"]))
			return map[string]any{"ARN": "arn"}, nil
		},
	}))
	const column = "replica_regions"
	read := func() modules.Value {
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{{"name": modules.Text("s")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0][column]
	}
	have := read()
	if !r.Table().Column(column).Same(have, replicas(t, `[{"Region": "eu-west-1"}]`)) ||
		!r.Table().Column(column).Same(have, replicas(t, `[{"Region": "eu-west-1", "KmsKeyId": "1"}]`)) ||
		r.Table().Column(column).Same(have, replicas(t, `[{"Region": "eu-west-1", "KmsKeyId": "2"}]`)) ||
		r.Table().Column(column).Same(have, replicas(t, `[{"Region": "eu-west-1"}, {"Region": "eu-west-2"}]`)) {
		t.Errorf("got %s", have)
	}
	for _, c := range []struct{ want, calls string }{
		{`[{"Region": "eu-west-1", "KmsKeyId": "2"}, {"Region": "eu-west-2"}]`, "[remove [eu-west-1] add [map[Region:eu-west-2]]]"},
		{`[{"Region": "eu-west-1"}, {"Region": "eu-west-2"}]`, "[add [map[Region:eu-west-2]]]"},
	} {
		calls = nil
		had, want := modules.Row{"name": modules.Text("s"), column: have}, modules.Row{"name": modules.Text("s"), column: replicas(t, c.want)}
		if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), had, want,
			[]string{column}); err != nil || fmt.Sprint(calls) != c.calls {
			t.Errorf("%s: %v, calls %v, want %s", c.want, err, calls, c.calls)
		}
	}
	calls = nil
	if err := awstest.Delete(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), modules.Row{"name": modules.Text("s"),
		column: have}); modules.ClassOf(err) != modules.Dependency || fmt.Sprint(calls) != "[remove [eu-west-1] delete]" {
		t.Errorf("delete while a replica is being removed: %v of class %v, calls %v", err, modules.ClassOf(err), calls)
	}
	if primary = "eu-central-1"; !read().IsNull() {
		t.Errorf("a replica has %s", read())
	}
}

// The value is what was written last; a deleted secret comes back.
func TestValueAndRestoration(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	r := newSecret(clients)
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, secretsmanager.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	value := func(want string) {
		t.Helper()
		out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: modules.Text("s").Ptr()})
		if err != nil || *out.SecretString != want {
			t.Errorf("got %v, %v, want %s", out, err, want)
		}
	}
	get := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{{"name": modules.Text("s")}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		for _, v := range rows[0] {
			if v.String() == "one" || v.String() == "two" || v.String() == "three" {
				t.Errorf("the value is in the row %v", rows[0])
			}
		}
		return rows[0]
	}
	want := modules.Row{"name": modules.Text("s"), "value": modules.Text("one")}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	first := get()
	value("one")
	want["value"] = modules.Text("two")
	if err := awstest.Update(ctx, r, permit, scope, first, want, []string{"value"}); err != nil {
		t.Fatal(err)
	}
	value("two")
	if second := get(); second["version_id"] == first["version_id"] || second["version_id"].IsNull() {
		t.Errorf("version %v after %v", second["version_id"], first["version_id"])
	}
	if err := awstest.Delete(ctx, r, permit, scope, first); err != nil {
		t.Fatal(err)
	}
	want["value"] = modules.Text("three")
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	get()
	value("three")
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
}

func TestProtectedAndKeys(t *testing.T) {
	r := newSecret(nil)
	if r.Protected(modules.Row{"owning_service": modules.Text("rds")}) == "" ||
		r.Protected(modules.Row{"owning_service": modules.Null}) != "" {
		t.Error("protects the wrong secrets")
	}
	arn := "arn:aws:kms:us-east-1:123456789012:"
	if !declare.SameKey("alias/a", arn+"alias/a") || !declare.SameKey(arn+"key/1", "1") ||
		declare.SameKey("2", arn+"key/1") {
		t.Error("takes keys for others")
	}
}
