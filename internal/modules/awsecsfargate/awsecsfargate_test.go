package awsecsfargate

import (
	"testing"

	"iasql/internal/aws/awstest"
	"iasql/internal/modules"
	"iasql/internal/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var tags = []modules.Value{modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null}

func TestClusterLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCluster(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"cluster_name": modules.Text("life"), "container_insights": modules.Text("enabled"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"container_insights": {modules.Text("disabled"), modules.Text("enhanced")},
			"tags":               tags,
		},
		Calls: map[string]int{"tags": 2},
	})
}

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTaskDefinitionLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	r := newTaskDefinition(clients)
	want := modules.Row{
		"family": modules.Text("life"), "cpu": modules.Int(256), "memory": modules.Int(512), "network_mode": modules.Text("awsvpc"),
		"requires_compatibilities": modules.Strings([]string{"FARGATE"}), "task_role_name": modules.Null, "execution_role_name": modules.Null,
		"container_definitions": document(t, `[{"name":"web","image":"nginx:1","portMappings":[{"containerPort":80}],
			"environment":[{"name":"B","value":"2"},{"name":"A","value":""}],
			"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-group":"g"}},"dockerLabels":{"Upper":"1"}}]`),
		"tags": modules.StringMap(map[string]string{"env": "test"}),
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: scope, Want: want,
		Changes: map[string][]modules.Value{"tags": tags},
		Calls:   map[string]int{"tags": 2},
	})

	// What is registered is what was wanted, although ECS fills in the rest.
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	made, err := r.Create(ctx, scope, want, "again")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Get(ctx, scope, []modules.Row{made})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	for column, v := range want {
		if !r.Table().Column(column).Same(rows[0][column], v) {
			t.Errorf("%s: got %v, want %v", column, rows[0][column], v)
		}
	}
	if rows[0]["revision"].Int() < 2 {
		t.Errorf("registered again as %v", rows[0])
	}
	want["container_definitions"] = document(t, `[{"name":"web","imaeg":"nginx"}]`)
	if _, err := r.Create(ctx, scope, want, "bad"); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a member that there is not: %v, want class %s", err, modules.Invalid)
	}
}
