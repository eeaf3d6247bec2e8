package awsmemorydb

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/memorydb"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// newSubnets creates a subnet group and returns its subnets.
func newSubnets(t *testing.T, clients *aws.Clients, scope modules.Scope) []string {
	t.Helper()
	client, err := clients.EC2(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil || len(out.Subnets) < 2 {
		t.Fatal(out, err)
	}
	return []string{*out.Subnets[0].SubnetId, *out.Subnets[1].SubnetId}
}

func want(subnets []string) modules.Row {
	return modules.Row{"subnet_group_name": modules.Text("home"), "description": modules.Text("subnets"),
		"subnets": modules.Strings(subnets),
		"tags":    modules.StringMap(map[string]string{"env": "test"})}
}

// moto has no UpdateSubnetGroup.
func TestSubnetGroupLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	awstest.Lifecycle(t, awstest.Case{
		Resource: newSubnetGroup(clients), Scope: scope, Want: want(newSubnets(t, clients, scope)),
		Elsewhere: []string{"description", "subnets"}, // TestSubnetGroupUpdate
	})
	if newSubnetGroup(nil).Protected(modules.Row{"subnet_group_name": modules.Text("default")}) == "" {
		t.Error("the default group can be deleted")
	}
}

func TestSubnetGroupUpdate(t *testing.T) {
	t.Parallel()
	var got awstest.Input
	r := newSubnetGroup(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"UpdateSubnetGroup": func(in awstest.Input) (any, error) { got = in; return map[string]any{}, nil },
	}))
	have := want([]string{"subnet-1"})
	wanted := have.Clone()
	wanted["description"], wanted["subnets"] = modules.Null, modules.Strings([]string{"subnet-2", "subnet-3"})
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Update(ctx, r, permit, awstest.Scope("us-west-2"), have, wanted,
		[]string{"description", "subnets"}); err != nil {
		t.Fatal(err)
	}
	if got.Text("SubnetGroupName") != "home" || got["Description"] != "" ||
		!slices.Equal(got.Texts("SubnetIds"), []string{"subnet-2", "subnet-3"}) {
		t.Errorf("updated with %v", got)
	}
}

func TestClusterLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newSubnetGroup(clients), permit, scope, want(newSubnets(t, clients, scope)), ""); err != nil {
		t.Fatal(err)
	}
	text, number := modules.Text, modules.Int[int]
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCluster(clients),
		Scope:    scope,
		Once:     true, // its final snapshot has the name of the first one's
		Want: modules.Row{
			"cluster_name": text("events"), "description": text("events"), "node_type": text("db.t4g.small"),
			"num_shards": number(2), "num_replicas_per_shard": number(2),
			"acl_name": text("open-access"), "subnet_group_id": text("home"), "port": number(6380),
			"tls_enabled": modules.Bool(true), "auto_minor_version_upgrade": modules.Bool(true),
			"snapshot_retention_limit": number(1), "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"description": {text("others")}, // moto takes an empty one for none given
			"node_type":   {text("db.r6g.large")}, "num_shards": {number(3)}, "num_replicas_per_shard": {number(1)},
			"engine_version": {text("7.1")},
			"acl_name":       {text("strict")}, "parameter_group_name": {text("mine")},
			"maintenance_window":       {text("sun:23:00-mon:01:30")},
			"snapshot_retention_limit": {number(3)}, "snapshot_window": {text("05:00-09:00")},
		},
	})
	sdk, err := declare.Client(ctx, clients.Permitted(permit), scope, memorydb.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	out, err := sdk.DescribeSnapshots(ctx, &memorydb.DescribeSnapshotsInput{})
	if err != nil || len(out.Snapshots) != 1 || !strings.HasPrefix(*out.Snapshots[0].Name, "events-final-") {
		t.Errorf("final snapshots: %v, %v", out, err)
	}
}

func TestClusterGoing(t *testing.T) {
	t.Parallel()
	status, deleted := "creating", []awstest.Input{}
	r := newCluster(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"DescribeClusters": func(awstest.Input) (any, error) {
			return map[string]any{"Clusters": []any{map[string]any{"Name": "events", "Status": status, "ARN": "arn"}}},
				nil
		},
		"ListTags": func(awstest.Input) (any, error) { return map[string]any{"TagList": []any{}}, nil },
		"DeleteCluster": func(in awstest.Input) (any, error) {
			deleted = append(deleted, in)
			if status == "updating" {
				status = "deleting"
				return nil, awstest.Fault{Code: "InvalidClusterStateFault", Message: "Cluster is not in a valid state"}
			}
			return map[string]any{}, nil
		},
	}))
	scope, ctx, permit := awstest.Scope("us-west-2"), t.Context(), awstest.Permit()
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{{"cluster_name": modules.Text("events")}})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	for _, unknown := range []string{"port", "num_replicas_per_shard"} {
		if _, told := rows[0][unknown]; told {
			t.Errorf("%s of a cluster that is being created is taken for known", unknown)
		}
	}
	for _, status = range []string{"creating", "updating"} {
		if err := awstest.Delete(ctx, r, permit, scope, rows[0]); err != nil {
			t.Error(err)
		}
	}
	if len(deleted) != 2 || deleted[0]["FinalSnapshotName"] != nil || deleted[1]["FinalSnapshotName"] == nil {
		t.Errorf("deleted by %v", deleted)
	}
}

// moto goes on showing the security groups that a cluster was created with.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	groups := []string{"sg-1"}
	m := newGroups(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"DescribeClusters": func(awstest.Input) (any, error) {
			shown := []any{map[string]string{"SecurityGroupId": "sg-old", "Status": "removing"}}
			for _, group := range groups {
				shown = append(shown, map[string]string{"SecurityGroupId": group, "Status": "active"})
			}
			return map[string]any{"Clusters": []any{map[string]any{"Name": "events", "SecurityGroups": shown}}}, nil
		},
		"UpdateCluster": func(in awstest.Input) (any, error) {
			groups = in.Texts("SecurityGroupIds")
			return map[string]any{}, nil
		},
	}))
	m.Standard = func(context.Context, modules.Scope, aws.MemberList) (string, error) { return "sg-1", nil }
	scope, ctx, permit := awstest.Scope("us-west-2"), t.Context(), awstest.Permit()
	row := func(group string) modules.Row {
		return modules.Row{"memory_db_cluster_id": modules.Text("events"), "security_group_id": modules.Text(group)}
	}
	for _, step := range []struct {
		do    func() error
		wants []string
	}{
		// in place of the standard one
		{func() error {
			_, err := awstest.Create(ctx, m, permit, scope, row("sg-2"), "")
			return err
		}, []string{"sg-2"}},
		{func() error {
			_, err := awstest.Create(ctx, m, permit, scope, row("sg-3"), "")
			return err
		}, []string{"sg-2", "sg-3"}},
		{func() error { return awstest.Delete(ctx, m, permit, scope, row("sg-2")) }, []string{"sg-3"}},
		{func() error { return awstest.Delete(ctx, m, permit, scope, row("sg-3")) }, []string{"sg-1"}},
	} {
		if err := step.do(); err != nil || !slices.Equal(groups, step.wants) {
			t.Fatalf("got %v, %v, want %v", groups, err, step.wants)
		}
	}
	if rows, err := awstest.Get(ctx, m, scope, []modules.Row{row("sg-1"), row("sg-old")}); err != nil ||
		len(rows) != 1 {
		t.Errorf("got %v, %v", rows, err)
	}
}
