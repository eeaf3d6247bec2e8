package awsrds

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/awstest"
	"iasql/internal/modules"
	"iasql/internal/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var tags = []modules.Value{modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null}

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// network returns the ids of the default VPC's subnets and security groups.
func network(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope) (subnets, groups []string) {
	t.Helper()
	client, err := clients.EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, subnet := range s.Subnets {
		subnets = append(subnets, *subnet.SubnetId)
	}
	g, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{aws.EC2Filter("vpc-id", *s.Subnets[0].VpcId)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range g.SecurityGroups {
		groups = append(groups, *group.GroupId)
	}
	return subnets, groups
}

func TestParameterGroupLifecycle(t *testing.T) {
	t.Parallel()
	r := newParameterGroup(awstest.Clients(t))
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: awstest.Scope("us-west-2"),
		Want: modules.Row{
			"name": modules.Text("life"), "family": modules.Text("postgres16"), "description": modules.Text("of a test"),
			"parameters": document(t, `{"max_connections":"100"}`), "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		// None is removed: moto has no ResetDBParameterGroup.
		Changes: map[string][]modules.Value{"parameters": {document(t, `{"max_connections":200,"work_mem":"4096"}`)}, "tags": tags},
		Calls:   map[string]int{"tags": 2},
	})
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	if err := r.Delete(ctx, awstest.Scope("us-west-2"), modules.Row{"name": modules.Text("default.postgres16")}); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("delete AWS's own group: %v, want class %s", err, modules.Invalid)
	}
}

func TestSubnetGroupLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	subnets, _ := network(t.Context(), t, clients, scope)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newSubnetGroup(clients), Scope: scope,
		Want: modules.Row{
			"name": modules.Text("life"), "description": modules.Text("of a test"), "subnets": modules.Strings(subnets[:2]),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{"tags": tags},
		// moto's ModifyDBSubnetGroup deletes the group.
		Elsewhere: []string{"description", "subnets"},
		Calls:     map[string]int{"tags": 2},
	})
}

func TestInstanceLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	subnets, groups := network(ctx, t, clients, scope)
	for _, name := range []string{"one", "two"} {
		if _, err := newParameterGroup(clients).Create(ctx, scope, modules.Row{
			"name": modules.Text(name), "family": modules.Text("postgres16"), "description": modules.Text("of a test"),
		}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newSubnetGroup(clients).Create(ctx, scope, modules.Row{
		"name": modules.Text("net"), "description": modules.Text("of a test"), "subnets": modules.Strings(subnets[:2]),
	}, ""); err != nil {
		t.Fatal(err)
	}
	journal := &awstest.Journal{}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newInstance(clients), Scope: scope,
		Want: modules.Row{
			"db_instance_identifier": modules.Text("life"), "engine": modules.Text("postgres"), "engine_version": modules.Text("16.3"),
			"db_instance_class": modules.Text("db.t4g.micro"), "allocated_storage": modules.Int(20), "storage_type": modules.Text("gp3"),
			"storage_encrypted": modules.Bool(true), "db_name": modules.Text("app"),
			"master_username": modules.Text("someone"), "master_user_password": modules.Text("not-a-secret"),
			"multi_az": modules.Bool(false), "db_subnet_group_id": modules.Text("net"), "vpc_security_group_ids": modules.Strings(groups[:1]),
			"publicly_accessible": modules.Bool(false), "parameter_group_id": modules.Text("one"), "backup_retention_period": modules.Int(1),
			"auto_minor_version_upgrade": modules.Bool(true), "deletion_protection": modules.Bool(true),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"engine_version":             {modules.Text("16.4")},
			"db_instance_class":          {modules.Text("db.t4g.small")},
			"allocated_storage":          {modules.Int(30)},
			"storage_type":               {modules.Text("gp2")},
			"multi_az":                   {modules.Bool(true)},
			"vpc_security_group_ids":     {modules.Strings(groups)},
			"publicly_accessible":        {modules.Bool(true)},
			"parameter_group_id":         {modules.Text("two")},
			"backup_retention_period":    {modules.Int(0), modules.Int(7)},
			"auto_minor_version_upgrade": {modules.Bool(false)},
			"deletion_protection":        {modules.Bool(false)},
			"tags":                       tags,
		},
		Calls: map[string]int{"tags": 2},
	})

	// A password is changed by one call.
	r := newInstance(clients)
	row := modules.Row{"db_instance_identifier": modules.Text("secret"), "engine": modules.Text("postgres"), "db_instance_class": modules.Text("db.t4g.micro"),
		"allocated_storage": modules.Int(20), "master_username": modules.Text("someone"), "master_user_password": modules.Text("not-a-secret")}
	ctx = modules.WithMutations(t.Context(), journal)
	have, err := r.Create(ctx, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	journal.Take()
	row["master_user_password"] = modules.Text("nor-is-this")
	if err := r.Update(ctx, scope, have, row, []string{"master_user_password"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); !slices.Equal(calls, []string{"RDS:ModifyDBInstance"}) {
		t.Errorf("made the calls %v", calls)
	}
}

func TestSameness(t *testing.T) {
	if !sameVersion("16", "16.4") || !sameVersion("16.4", "16") || sameVersion("1", "16.4") {
		t.Error("versions are compared wrongly")
	}
	if !sameStrings(`{"a":1}`, `{"a":"1"}`) || sameStrings(`{"a":1}`, `{"a":"2"}`) {
		t.Error("parameters are compared wrongly")
	}
}
