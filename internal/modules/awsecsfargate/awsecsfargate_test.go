package awsecsfargate

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

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

func TestServiceLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	if _, err := newCluster(clients).Create(ctx, scope, modules.Row{"cluster_name": modules.Text("one")}, ""); err != nil {
		t.Fatal(err)
	}
	var revisions []modules.Value
	for _, token := range []string{"1", "2"} {
		made, err := newTaskDefinition(clients).Create(ctx, scope, modules.Row{
			"family": modules.Text("app"), "cpu": modules.Int(256), "memory": modules.Int(512), "network_mode": modules.Text("awsvpc"),
			"requires_compatibilities": modules.Strings([]string{"FARGATE"}), "container_definitions": document(t, `[{"name":"web","image":"nginx"}]`),
		}, token)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, made["task_definition_arn"])
	}
	sdk, err := clients.EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	found, err := sdk.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := sdk.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := *found.Subnets[0].SubnetId, *found.Subnets[1].SubnetId
	awstest.Lifecycle(t, awstest.Case{
		Resource: newService(clients), Scope: scope,
		Want: modules.Row{
			"cluster_id": modules.Text("one"), "name": modules.Text("life"), "task_definition_id": revisions[0], "desired_count": modules.Int(1),
			"launch_type": modules.Text("FARGATE"), "subnets": modules.Strings([]string{one}), "assign_public_ip": modules.Text("DISABLED"),
			"load_balancers":     document(t, `[{"targetGroupArn":"arn:aws:elasticloadbalancing:us-west-2:1:targetgroup/a/1","containerName":"web","containerPort":80}]`),
			"security_group_ids": modules.Strings([]string{*groups.SecurityGroups[0].GroupId}),
			"tags":               modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"task_definition_id": {revisions[1]},
			"desired_count":      {modules.Int(2), modules.Int(0)},
			"subnets":            {modules.Strings([]string{one, two})},
			"assign_public_ip":   {modules.Text("ENABLED")},
			"load_balancers":     {document(t, `[{"targetGroupArn":"arn:aws:elasticloadbalancing:us-west-2:1:targetgroup/b/1","containerName":"web","containerPort":81}]`), modules.Null},
			"tags":               tags,
		},
		Elsewhere: []string{"security_group_ids"}, // set together with subnets
		Calls:     map[string]int{"tags": 2},
	})
}
