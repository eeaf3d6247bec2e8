package awsecsfargate

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
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
		// moto's UpdateCluster does not keep ServiceConnectDefaults.
		Elsewhere: []string{"service_connect_namespace"},
		Calls:     map[string]int{"tags": 2},
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
		"family": modules.Text("life"), "cpu": modules.Int(256), "memory": modules.Int(512),
		"network_mode":             modules.Text("awsvpc"),
		"requires_compatibilities": modules.Strings([]string{"FARGATE"}), "task_role_name": modules.Null,
		"execution_role_name": modules.Null,
		"container_definitions": document(t, `[{"name":"web","image":"nginx:1","portMappings":[{"containerPort":80}],
			"environment":[{"name":"B","value":"2"},{"name":"A","value":""}],
			"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-group":"g"}},"dockerLabels":{"Upper":"1"}}]`),
		"cpu_architecture": modules.Text("ARM64"), "operating_system_family": modules.Text("LINUX"),
		"ephemeral_storage": modules.Int(30),
		"volumes": document(t,
			`[{"name":"data","efsVolumeConfiguration":{"fileSystemId":"fs-1","transitEncryption":"ENABLED","authorizationConfig":{"accessPointId":"fsap-1"}}}]`),
		"pid_mode": modules.Text("task"), "ipc_mode": modules.Text("none"),
		"placement_constraints": document(t, `[{"type":"memberOf","expression":"attribute:ecs.os-type == linux"}]`),
		"proxy_configuration": document(t,
			`{"type":"APPMESH","containerName":"web","properties":[{"name":"ProxyIngressPort","value":"1"},{"name":"AppPorts","value":"2"}]}`),
		"tags": modules.StringMap(map[string]string{"env": "test"}),
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: scope, Want: want,
		Changes: map[string][]modules.Value{"tags": tags},
		Calls:   map[string]int{"tags": 2},
	})

	// What is registered is what was wanted, although ECS fills in the rest.
	ctx, permit := t.Context(), awstest.Permit()
	made, err := awstest.Create(ctx, r, permit, scope, want, "again")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{made})
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
	if _, err := awstest.Create(ctx, r, permit, scope, want, "bad"); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a member that there is not: %v, want class %s", err, modules.Invalid)
	}
}

// What ECS fills in or puts into its own order is no difference, and all else is one.
func TestSameContainers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"order of containers", `[{"name":"a"},{"name":"b"}]`, `[{"name":"b"},{"name":"a"}]`, true},
		{"order of variables and secrets",
			`[{"name":"a","environment":[{"name":"x","value":"1"},{"name":"y","value":"2"}],"secrets":[{"name":"s","valueFrom":"1"},{"name":"r","valueFrom":"2"}]}]`,
			`[{"name":"a","environment":[{"name":"y","value":"2"},{"name":"x","value":"1"}],"secrets":[{"name":"r","valueFrom":"2"},{"name":"s","valueFrom":"1"}]}]`, true},
		{"a secret", `[{"name":"a","secrets":[{"name":"s","valueFrom":"1"}]}]`,
			`[{"name":"a","secrets":[{"name":"s","valueFrom":"2"}]}]`, false},
		{"essential, cpu and protocol", `[{"name":"a","portMappings":[{"containerPort":80}]}]`,
			`[{"name":"a","cpu":0,"essential":true,"mountPoints":[],"portMappings":[{"containerPort":80,"protocol":"tcp"}]}]`, true},
		{"a host port that is the container's", `[{"name":"a","portMappings":[{"containerPort":80}]}]`,
			`[{"name":"a","portMappings":[{"containerPort":80,"hostPort":80}]}]`, true},
		{"a host port that is any", `[{"name":"a","portMappings":[{"containerPort":80}]}]`,
			`[{"name":"a","portMappings":[{"containerPort":80,"hostPort":0}]}]`, true},
		{"a host port that was any", `[{"name":"a","portMappings":[{"containerPort":80,"hostPort":80}]}]`,
			`[{"name":"a","portMappings":[{"containerPort":80,"hostPort":0}]}]`, false},
		{"another host port", `[{"name":"a","portMappings":[{"containerPort":80}]}]`,
			`[{"name":"a","portMappings":[{"containerPort":80,"hostPort":8080}]}]`, false},
		{"a health check's defaults", `[{"name":"a","healthCheck":{"command":["CMD","true"]}}]`,
			`[{"name":"a","healthCheck":{"command":["CMD","true"],"interval":30,"timeout":5,"retries":3}}]`, true},
		{"a health check's interval", `[{"name":"a","healthCheck":{"command":["CMD","true"]}}]`,
			`[{"name":"a","healthCheck":{"command":["CMD","true"],"interval":10}}]`, false},
		{"order of a command", `[{"name":"a","command":["x","y"]}]`, `[{"name":"a","command":["y","x"]}]`, false},
	} {
		if sameContainers(c.a, c.b) != c.same || sameContainers(c.b, c.a) != c.same {
			t.Errorf("%s: the same is not %v", c.name, c.same)
		}
	}
}

// A volume's defaults are no difference.
func TestSameVolumes(t *testing.T) {
	t.Parallel()
	column := newTaskDefinition(awstest.Clients(t)).Table().Column("volumes")
	same := func(a, b string) bool { return column.Same(document(t, a), document(t, b)) }
	if !same(`[{"name":"b"},{"name":"a","efsVolumeConfiguration":{"fileSystemId":"fs-1"}}]`,
		`[{"name":"a","efsVolumeConfiguration":{"fileSystemId":"fs-1","rootDirectory":"/","transitEncryption":"DISABLED"}},{"name":"b","host":{}}]`) {
		t.Error("defaults are a difference")
	}
	if same(`[{"name":"a","efsVolumeConfiguration":{"fileSystemId":"fs-1"}}]`,
		`[{"name":"a","efsVolumeConfiguration":{"fileSystemId":"fs-2"}}]`) {
		t.Error("another file system is no difference")
	}
}

// newScaledService makes a service that can be scaled, and returns how it is called there.
func newScaledService(t *testing.T, clients *aws.Clients, scope modules.Scope) modules.Value {
	t.Helper()
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newCluster(clients), permit, scope,
		modules.Row{"cluster_name": modules.Text("home")}, ""); err != nil {
		t.Fatal(err)
	}
	task, err := awstest.Create(ctx, newTaskDefinition(clients), permit, scope, modules.Row{
		"family": modules.Text("app"), "requires_compatibilities": modules.Strings([]string{"EC2"}),
		"network_mode": modules.Text("bridge"), "cpu": modules.Int(256), "memory": modules.Int(512),
		"container_definitions": document(t, `[{"name":"web","image":"nginx"}]`)}, "1")
	if err != nil {
		t.Fatal(err)
	}
	r := newService(clients, newSecurityGroups(clients))
	made, err := awstest.Create(ctx, r, permit, scope, modules.Row{"cluster_id": modules.Text("home"),
		"name": modules.Text("web"), "task_definition_id": task["task_definition_arn"], "desired_count": modules.Int(1),
		"launch_type": modules.Text("EC2")}, "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{made})
	if err != nil || len(rows) != 1 || rows[0]["resource_id"] != modules.Text("service/home/web") {
		t.Fatalf("got %v, %v", rows, err)
	}
	return rows[0]["resource_id"]
}

func TestScalingLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope, number := awstest.Clients(t), awstest.Scope("us-west-2"), modules.Int[int]
	target := modules.Row{"service_id": newScaledService(t, clients, scope), "min_capacity": number(1),
		"max_capacity": number(4), "dynamic_scaling_in_suspended": modules.Bool(false),
		"dynamic_scaling_out_suspended": modules.Bool(false), "scheduled_scaling_suspended": modules.Bool(false)}
	awstest.Lifecycle(t, awstest.Case{Resource: newScalingTarget(clients), Scope: scope, Want: target,
		Changes: map[string][]modules.Value{"min_capacity": {number(0), number(2)}, "max_capacity": {number(5)}}})

	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newScalingTarget(clients), permit, scope, target, ""); err != nil {
		t.Fatal(err)
	}
	tracking := func(at string) modules.Value {
		return document(t, `{"TargetValue":`+at+
			`,"PredefinedMetricSpecification":{"PredefinedMetricType":"ECSServiceAverageCPUUtilization"}}`)
	}
	awstest.Lifecycle(t, awstest.Case{Resource: newScalingPolicy(clients), Scope: scope, Want: modules.Row{
		"service_scaling_target_id": target["service_id"], "policy_name": modules.Text("cpu"),
		"policy_type": modules.Text("TargetTrackingScaling"), "target_tracking_scaling_policy_configuration": tracking("60")},
		Changes: map[string][]modules.Value{"target_tracking_scaling_policy_configuration": {tracking("70")}},
		// TestScalingPolicyTypes
		Elsewhere: []string{"policy_type", "step_scaling_policy_configuration", "predictive_scaling_policy_configuration"}})
}

// A policy becomes one of another type by one call. moto takes a configuration for that of the type it had.
func TestScalingPolicyTypes(t *testing.T) {
	t.Parallel()
	var sent awstest.Input
	r := newScalingPolicy(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"PutScalingPolicy": func(in awstest.Input) (any, error) {
			sent = in
			if in.Text("ResourceId") == "service/home/none" {
				return nil, awstest.Fault{Code: "ObjectNotFoundException", Message: "No scalable target registered"}
			}
			return map[string]any{"PolicyARN": "arn", "Alarms": []any{}}, nil
		},
	}))
	have := modules.Row{"service_scaling_target_id": modules.Text("service/home/web"), "policy_name": modules.Text("cpu"),
		"policy_type": modules.Text("TargetTrackingScaling"),
		"target_tracking_scaling_policy_configuration": document(t, `{"TargetValue":60}`)}
	want := have.Clone()
	want["policy_type"], want["target_tracking_scaling_policy_configuration"] = modules.Text("StepScaling"), modules.Null
	want["step_scaling_policy_configuration"] = document(t,
		`{"AdjustmentType":"ChangeInCapacity","StepAdjustments":[{"MetricIntervalLowerBound":0,"ScalingAdjustment":1}]}`)
	ctx, permit, scope := t.Context(), awstest.Permit(), awstest.Scope("us-west-2")
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"policy_type",
		"target_tracking_scaling_policy_configuration", "step_scaling_policy_configuration"}); err != nil {
		t.Fatal(err)
	}
	if sent.Text("PolicyType") != "StepScaling" || sent["StepScalingPolicyConfiguration"] == nil ||
		sent["TargetTrackingScalingPolicyConfiguration"] != nil || sent.Text("ServiceNamespace") != "ecs" {
		t.Errorf("sent %v", sent)
	}
	want["policy_type"], want["step_scaling_policy_configuration"] = modules.Text("PredictiveScaling"), modules.Null
	want["predictive_scaling_policy_configuration"] = document(t, `{"Mode":"ForecastOnly","MetricSpecifications":[
		{"TargetValue":60,"PredefinedMetricPairSpecification":{"PredefinedMetricType":"ECSServiceCPUUtilization"}}]}`)
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil ||
		sent["PredictiveScalingPolicyConfiguration"] == nil {
		t.Errorf("sent %v (%v)", sent, err)
	}
	// Its target is made in the same transaction, and not to be seen yet.
	want["service_scaling_target_id"] = modules.Text("service/home/none")
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("a policy without a target: %v, want class %s", err, modules.Dependency)
	}
}

// What AWS takes for what is left out is no difference.
func TestSameScaling(t *testing.T) {
	t.Parallel()
	table := newScalingPolicy(awstest.Clients(t)).Table()
	for column, c := range map[string][3]string{
		"target_tracking_scaling_policy_configuration": {`{"TargetValue":60}`,
			`{"TargetValue":60,"DisableScaleIn":false,"ScaleInCooldown":300,"ScaleOutCooldown":300}`,
			`{"TargetValue":60,"DisableScaleIn":true}`},
		"step_scaling_policy_configuration": {`{"AdjustmentType":"ChangeInCapacity"}`,
			`{"AdjustmentType":"ChangeInCapacity","MetricAggregationType":"Average","Cooldown":300}`,
			`{"AdjustmentType":"ChangeInCapacity","MetricAggregationType":"Maximum"}`},
		"predictive_scaling_policy_configuration": {`{"MetricSpecifications":[{"TargetValue":60}]}`,
			`{"MetricSpecifications":[{"TargetValue":60}],"Mode":"ForecastOnly","MaxCapacityBreachBehavior":"HonorMaxCapacity"}`,
			`{"MetricSpecifications":[{"TargetValue":60}],"Mode":"ForecastAndScale"}`},
	} {
		same := func(i int) bool { return table.Column(column).Same(document(t, c[0]), document(t, c[i])) }
		if !same(1) {
			t.Errorf("%s: what AWS fills in is a difference", column)
		}
		if same(2) {
			t.Errorf("%s: %s is no difference from %s", column, c[2], c[0])
		}
	}
}

func TestServiceLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newCluster(clients), permit, scope,
		modules.Row{"cluster_name": modules.Text("one")}, ""); err != nil {
		t.Fatal(err)
	}
	var revisions []modules.Value
	for _, token := range []string{"1", "2"} {
		made, err := awstest.Create(ctx, newTaskDefinition(clients), permit, scope, modules.Row{
			"family": modules.Text("app"), "cpu": modules.Int(256), "memory": modules.Int(512),
			"network_mode":             modules.Text("awsvpc"),
			"requires_compatibilities": modules.Strings([]string{"FARGATE"}),
			"container_definitions":    document(t, `[{"name":"web","image":"nginx"}]`),
		}, token)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, made["task_definition_arn"])
	}
	sdk, err := clients.Permitted(permit).EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	found, err := sdk.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	groups := newSecurityGroups(clients)
	one, two := *found.Subnets[0].SubnetId, *found.Subnets[1].SubnetId
	group := func(name string) modules.Value {
		return modules.Text("arn:aws:elasticloadbalancing:us-west-2:1:targetgroup/" + name + "/1")
	}
	want := modules.Row{
		"cluster_id": modules.Text("one"), "name": modules.Text("life"), "task_definition_id": revisions[0],
		"desired_count": modules.Int(1),
		"launch_type":   modules.Text("FARGATE"), "subnets": modules.Strings([]string{one}),
		"assign_public_ip": modules.Text("DISABLED"),
		"target_group_id":  group("a"), "container_name": modules.Text("web"), "container_port": modules.Int(80),
		"load_balancers": modules.Null,
		"tags":           modules.StringMap(map[string]string{"env": "test"}),
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newService(clients, groups), Scope: scope, Want: want,
		Changes: map[string][]modules.Value{
			"task_definition_id": {revisions[1]},
			"desired_count":      {modules.Int(2), modules.Int(0)},
			"subnets":            {modules.Strings([]string{one, two})},
			"assign_public_ip":   {modules.Text("ENABLED")},
			"target_group_id":    {group("b")},
			"container_name":     {modules.Text("api")},
			"container_port":     {modules.Int(81)},
			"tags":               tags,
		},
		Elsewhere: []string{"load_balancers"},
		Calls:     map[string]int{"tags": 2},
	})

	// Several target groups are a document, and a single one is not.
	want = want.Clone()
	want["name"], want["target_group_id"], want["container_name"], want["container_port"] = modules.Text("several"),
		modules.Null, modules.Null, modules.Null
	several := func(port string) modules.Value {
		return document(t, `[{"targetGroupArn":"`+group("a").String()+`","containerName":"web","containerPort":`+port+
			`},
			{"targetGroupArn":"`+group("b").String()+`","containerName":"web","containerPort":81}]`)
	}
	want["load_balancers"] = several("80")
	awstest.Lifecycle(t, awstest.Case{
		Resource: newService(clients, groups), Scope: scope, Want: want,
		Changes: map[string][]modules.Value{"load_balancers": {several("82"), modules.Null}},
		Elsewhere: []string{"task_definition_id", "desired_count", "subnets", "assign_public_ip", "target_group_id",
			"container_name", "container_port", "tags"},
	})
	want["container_port"] = modules.Int(80)
	if _, err := awstest.Create(ctx, newService(clients, groups), permit, scope, want, ""); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a port of no target group: %v, want class %s", err, modules.Invalid)
	}
	delete(want, "container_port")
	made, err := awstest.Create(ctx, newService(clients, groups), permit, scope, want, "")
	if err != nil {
		t.Fatal(err)
	}

	// A service keeps its security groups when its subnets change.
	out, err := sdk.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	first := modules.Row{"service_id": made["arn"], "security_group_id": modules.TextPtr(out.SecurityGroups[0].GroupId)}
	awstest.Lifecycle(t, awstest.Case{Resource: groups, Scope: scope, Want: first})
	if _, err := awstest.Create(ctx, groups, permit, scope, first, ""); err != nil {
		t.Fatal(err)
	}
	have, err := awstest.Get(ctx, newService(clients, groups), scope, []modules.Row{made})
	if err != nil || len(have) != 1 {
		t.Fatalf("got %v, %v", have, err)
	}
	want["subnets"] = modules.Strings([]string{two})
	if err := awstest.Update(ctx, newService(clients, groups), permit, scope, have[0], want, []string{"subnets"}); err != nil {
		t.Fatal(err)
	}
	gone := modules.Row{"service_id": modules.Text(made["arn"].String() + "-too"),
		"security_group_id": first["security_group_id"]}
	if rows, err := awstest.Get(ctx, groups, scope, []modules.Row{first, gone}); err != nil || len(rows) != 1 {
		t.Errorf("its groups are %v, %v", rows, err)
	}
	want["name"], want["subnets"], want["launch_type"] = modules.Text("bridged"), modules.Null, modules.Text("EC2")
	if made, err = awstest.Create(ctx, newService(clients, groups), permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	first["service_id"] = made["arn"]
	if _, err := awstest.Create(ctx, groups, permit, scope, first, ""); modules.ClassOf(err) != modules.Dependency ||
		!strings.Contains(err.Error(), "set service.subnets") {
		t.Errorf("a group of a service in no VPC: %v", err)
	}
}

// What ECS says in words, which moto does not refuse.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, class := range map[string]modules.Class{
		"The target group with targetGroupArn arn:… does not have an associated load balancer.": modules.Dependency,
		"Unable to Start a service that is still Draining.":                                     modules.Dependency,
		"Creation of service was not idempotent.":                                               modules.Exists,
		"TaskDefinition is inactive":                                                            modules.Invalid,
	} {
		if got := modules.ClassOf(refused(t.Context(), nil, aws.ErrorOf("InvalidParameterException", text))); got != class {
			t.Errorf("%s: class %s, want %s", text, got, class)
		}
	}
}
