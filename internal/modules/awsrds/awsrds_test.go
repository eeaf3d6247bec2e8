package awsrds

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
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
	client, err := clients.Permitted(awstest.Permit()).EC2(ctx, scope)
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
			"name": modules.Text("life"), "family": modules.Text("postgres16"),
			"description": modules.Text("of a test"),
			"parameters":  document(t, `{"max_connections":"100"}`),
			"tags":        modules.StringMap(map[string]string{"env": "test"}),
		},
		// None is removed: moto has no ResetDBParameterGroup.
		Changes: map[string][]modules.Value{"parameters": {document(t, `{"max_connections":200,"work_mem":"4096"}`)},
			"tags": tags},
		Calls: map[string]int{"tags": 2},
	})
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Delete(ctx, r, permit, awstest.Scope("us-west-2"),
		modules.Row{"name": modules.Text("default.postgres16")}); modules.ClassOf(err) != modules.Invalid {
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
			"name": modules.Text("life"), "description": modules.Text("of a test"),
			"subnets": modules.Strings(subnets[:2]),
			"tags":    modules.StringMap(map[string]string{"env": "test"}),
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
	ctx, permit := t.Context(), awstest.Permit()
	subnets, _ := network(ctx, t, clients, scope)
	for _, name := range []string{"one", "two"} {
		if _, err := awstest.Create(ctx, newParameterGroup(clients), permit, scope, modules.Row{
			"name": modules.Text(name), "family": modules.Text("postgres16"), "description": modules.Text("of a test"),
		}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := awstest.Create(ctx, newSubnetGroup(clients), permit, scope, modules.Row{
		"name": modules.Text("net"), "description": modules.Text("of a test"), "subnets": modules.Strings(subnets[:2]),
	}, ""); err != nil {
		t.Fatal(err)
	}
	journal := &awstest.Journal{}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newInstance(clients), Scope: scope,
		Want: modules.Row{
			"db_instance_identifier": modules.Text("life"), "engine": modules.Text("postgres"),
			"engine_version":    modules.Text("16.3"),
			"db_instance_class": modules.Text("db.t4g.micro"), "allocated_storage": modules.Int(20),
			"storage_type":      modules.Text("gp3"),
			"storage_encrypted": modules.Bool(true), "db_name": modules.Text("app"),
			"master_username": modules.Text("someone"), "master_user_password": modules.Text("not-a-secret"),
			"multi_az": modules.Bool(false), "db_subnet_group_id": modules.Text("net"),
			"publicly_accessible": modules.Bool(false), "parameter_group_id": modules.Text("one"),
			"backup_retention_period":    modules.Int(1),
			"auto_minor_version_upgrade": modules.Bool(true), "deletion_protection": modules.Bool(true),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"engine_version":             {modules.Text("16.4")},
			"db_instance_class":          {modules.Text("db.t4g.small")},
			"allocated_storage":          {modules.Int(30)},
			"storage_type":               {modules.Text("gp2")},
			"multi_az":                   {modules.Bool(true)},
			"publicly_accessible":        {modules.Bool(true)},
			"parameter_group_id":         {modules.Text("two")},
			"backup_retention_period":    {modules.Int(0), modules.Int(7)},
			"auto_minor_version_upgrade": {modules.Bool(false)},
			"deletion_protection":        {modules.Bool(false)},
			"tags":                       tags,
		},
		// moto does not change the port, and has neither roles nor another key of the secret: see TestInstanceParts.
		Elsewhere: []string{"associated_roles", "enable_cloudwatch_logs_exports", "master_user_secret_kms_key_id",
			"option_group_name", "port"},
		Calls: map[string]int{"tags": 2},
		Along: byAWS,
		Once:  true, // its final snapshot has the name of the first one's
	})

	// A password is changed by one call.
	r := newInstance(clients)
	row := modules.Row{"db_instance_identifier": modules.Text("secret"), "engine": modules.Text("postgres"),
		"db_instance_class": modules.Text("db.t4g.micro"),
		"allocated_storage": modules.Int(20), "master_username": modules.Text("someone"),
		"master_user_password": modules.Text("not-a-secret")}
	ctx, permit = t.Context(), awstest.PermitBy(journal)
	have, err := awstest.Create(ctx, r, permit, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	journal.Take()
	row["master_user_password"] = modules.Text("nor-is-this")
	if err := awstest.Update(ctx, r, permit, scope, have, row, []string{"master_user_password"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); !slices.Equal(calls, []string{"RDS:ModifyDBInstance"}) {
		t.Errorf("made the calls %v", calls)
	}
}

// A Multi-AZ DB cluster, of which everything is described.
func multiAZ(name string) modules.Row {
	return modules.Row{
		"db_cluster_identifier": modules.Text(name), "engine": modules.Text("postgres"),
		"engine_version":            modules.Text("16.3"),
		"db_cluster_instance_class": modules.Text("db.m6gd.large"), "allocated_storage": modules.Int(100),
		"iops":         modules.Int(1000),
		"storage_type": modules.Text("io1"), "storage_encrypted": modules.Bool(true),
		"database_name":   modules.Text("app"),
		"master_username": modules.Text("someone"), "master_user_password": modules.Text("not-a-secret"),
		"port":                modules.Int(5433),
		"publicly_accessible": modules.Bool(false), "backup_retention_period": modules.Int(2),
		"deletion_protection": modules.Bool(true),
		"tags":                modules.StringMap(map[string]string{"env": "test"}),
	}
}

// ofClusters are columns that moto does not change: it has neither roles nor keys of secrets, and ignores the others.
var ofClusters = []string{"associated_roles", "enable_cloudwatch_logs_exports", "master_user_secret_kms_key_id",
	"performance_insights_enabled", "enable_local_write_forwarding"}

// byAWS has the columns that AWS decides about where it keeps the password, for Lifecycle.
var byAWS = map[string][]string{"manage_master_user_password": {"master_user_secret_kms_key_id"}}

func TestClusterLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	subnets, _ := network(ctx, t, clients, scope)
	if _, err := awstest.Create(ctx, newSubnetGroup(clients), permit, scope, modules.Row{
		"name": modules.Text("net"), "description": modules.Text("of a test"), "subnets": modules.Strings(subnets[:2]),
	}, ""); err != nil {
		t.Fatal(err)
	}
	want := multiAZ("life")
	want["subnet_group_id"] = modules.Text("net")
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCluster(clients), Scope: scope, Want: want,
		Changes: map[string][]modules.Value{
			"engine_version":            {modules.Text("16.4")},
			"db_cluster_instance_class": {modules.Text("db.m6gd.xlarge")},
			"allocated_storage":         {modules.Int(200)},
			"iops":                      {modules.Int(2000)},
			"storage_type":              {modules.Text("io2")},
			"port":                      {modules.Int(5434)}, // AWS would refuse it
			"backup_retention_period":   {modules.Int(7)},
			"deletion_protection":       {modules.Bool(false)},
			"tags":                      tags,
		},
		Calls:     map[string]int{"tags": 2},
		Elsewhere: append([]string{"serverless_min_capacity", "serverless_max_capacity"}, ofClusters...),
		Along:     byAWS,
		Once:      true, // moto names the first snapshot after the cluster and the minute
	})
}

// What only an Aurora cluster has.
func TestAuroraLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCluster(awstest.Clients(t)), Scope: awstest.Scope("us-west-2"),
		Want: modules.Row{
			"db_cluster_identifier": modules.Text("aurora-life"), "engine": modules.Text("aurora-postgresql"),
			"master_username": modules.Text("someone"), "master_user_password": modules.Text("not-a-secret"),
			"storage_encrypted": modules.Bool(true), "publicly_accessible": modules.Bool(false),
			"deletion_protection":     modules.Bool(false),
			"backup_retention_period": modules.Int(1), "serverless_min_capacity": modules.Text("0.5"),
			"serverless_max_capacity": modules.Int(2),
			"tags":                    modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"serverless_min_capacity": {modules.Text("1.5")},
			"serverless_max_capacity": {modules.Int(16)},
		},
		Elsewhere: append([]string{
			"engine_version", "db_cluster_instance_class", "allocated_storage", "iops", "storage_type", "port",
			"backup_retention_period", "deletion_protection", "tags",
		}, ofClusters...),
		Along: byAWS,
		Once:  true,
	})
}

// members returns a new Aurora cluster and a new Multi-AZ DB cluster of one
// instance each. moto makes none with a Multi-AZ DB cluster: the one is made by a
// call that AWS would refuse.
func members(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope) {
	t.Helper()
	aurora := modules.Row{
		"db_cluster_identifier": modules.Text("aurora"), "engine": modules.Text("aurora-postgresql"),
		"storage_encrypted": modules.Bool(true),
		"master_username":   modules.Text("someone"), "master_user_password": modules.Text("not-a-secret"),
		"backup_retention_period": modules.Int(7),
	}
	for _, want := range []modules.Row{aurora, multiAZ("multi")} {
		want["deletion_protection"] = modules.Bool(false)
		if _, err := awstest.Create(ctx, newCluster(clients), awstest.Permit(), scope, want, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := awstest.Create(ctx, newInstance(clients), awstest.Permit(), scope, modules.Row{
			"db_instance_identifier": modules.Text("in-" + want["db_cluster_identifier"].String()),
			"db_cluster_id":          want["db_cluster_identifier"],
			"engine":                 want["engine"], "db_instance_class": modules.Text("db.r6g.large"),
			"publicly_accessible": modules.Bool(false),
		}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// What a cluster decides is NULL in its members' rows, and what AWS has made with
// it is left to AWS.
func TestMembers(t *testing.T) {
	t.Parallel()
	clients, scope, journal := awstest.Clients(t), awstest.Scope("us-west-2"), &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	members(ctx, t, clients, scope)
	instances, clusters := newInstance(clients), newCluster(clients)
	read := func(r modules.Resource) map[string]modules.Row {
		t.Helper()
		page, rows := aws.Collector()
		if err := awstest.List(ctx, r, scope, page); err != nil {
			t.Fatal(err)
		}
		byName := map[string]modules.Row{}
		for _, row := range rows() {
			byName[row[r.Table().Identity()[0]].String()] = row
		}
		return byName
	}
	if aurora := read(clusters)["aurora"]; !aurora["allocated_storage"].IsNull() ||
		!aurora["db_cluster_instance_class"].IsNull() || aurora["publicly_accessible"].Bool() {
		t.Errorf("an Aurora cluster has what Multi-AZ DB clusters have: %v", aurora)
	}
	listed := read(instances)
	for name, row := range listed {
		if cluster := modules.Text(strings.TrimPrefix(name, "in-")); row["db_cluster_id"] != cluster {
			t.Errorf("%s is a member of %v, want %v", name, row["db_cluster_id"], cluster)
		}
		for _, column := range ofCluster {
			if !row[column].IsNull() {
				t.Errorf("%s: column %s is %v, want NULL", name, column, row[column])
			}
		}
	}
	if made := listed["in-aurora"]; made["made_by_cluster"].Bool() || instances.Protected(made) != "" {
		t.Error("an instance of an Aurora cluster is taken for AWS's own")
	}
	if !listed["in-multi"]["made_by_cluster"].Bool() {
		t.Error("an instance of a Multi-AZ DB cluster is not taken for AWS's own")
	}
	journal.Take()
	if err := awstest.Delete(ctx, instances, permit, scope, listed["in-multi"]); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("delete what AWS has made: %v, want class %s", err, modules.Invalid)
	}
	if calls, _ := journal.Take(); len(calls) > 0 {
		t.Errorf("made the calls %v", calls)
	}
	if err := awstest.Delete(ctx, clusters, permit, scope, read(clusters)["aurora"]); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a cluster that has an instance: %v, want class %s", err, modules.Dependency)
	}
	for _, err := range []error{awstest.Delete(ctx, instances, permit, scope, listed["in-aurora"]),
		awstest.Delete(ctx, clusters, permit, scope, read(clusters)["aurora"])} {
		if err != nil {
			t.Error(err)
		}
	}
}

// A database that has no other security group has the default one, which the
// first other takes the place of.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	client, err := clients.Permitted(permit).EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	subnets, groups := network(ctx, t, clients, scope)
	for _, name := range []string{"one", "two"} {
		out, err := client.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, *out.GroupId)
	}
	if _, err := awstest.Create(ctx, newSubnetGroup(clients), permit, scope, modules.Row{
		"name": modules.Text("net"), "description": modules.Text("of a test"), "subnets": modules.Strings(subnets[:2]),
	}, ""); err != nil {
		t.Fatal(err)
	}
	members(ctx, t, clients, scope)
	if _, err := awstest.Create(ctx, newInstance(clients), permit, scope, modules.Row{
		"db_instance_identifier": modules.Text("single"), "engine": modules.Text("postgres"),
		"db_instance_class": modules.Text("db.t4g.micro"),
		"allocated_storage": modules.Int(20), "master_username": modules.Text("someone"),
		"master_user_password": modules.Text("not-a-secret"),
	}, ""); err != nil {
		t.Fatal(err)
	}
	for owner, r := range map[string]*aws.Memberships{"single": newInstanceGroups(clients),
		"aurora": newClusterGroups(clients)} {
		row := func(group string) modules.Row {
			return modules.Row{r.Owner: modules.Text(owner), r.Member: modules.Text(group)}
		}
		// moto gives a cluster no group by itself.
		if owner == "aurora" {
			if err := r.Set(ctx, clients.Permitted(permit), scope, aws.MemberList{Owner: owner}, groups[:1]); err != nil {
				t.Fatal(err)
			}
		}
		has := func(want ...string) {
			t.Helper()
			page, rows := aws.Collector()
			if err := awstest.List(ctx, r, scope, page); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range rows() {
				if row[r.Owner].String() != owner {
					t.Errorf("%s lists %v, which is a member of a cluster", r.Description.Name, row)
				}
				got = append(got, row[r.Member].String())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has the groups %v, want %v", owner, got, want)
			}
		}
		has(groups[0])
		for _, group := range groups[1:] {
			if _, err := awstest.Create(ctx, r, permit, scope, row(group), ""); err != nil {
				t.Fatal(err)
			}
		}
		has(groups[1:]...)
		if got, err := awstest.Get(ctx, r, scope, []modules.Row{row(groups[0]), row(groups[1])}); err != nil ||
			len(got) != 1 {
			t.Errorf("get: got %v, %v, want one of two", got, err)
		}
		for _, group := range groups {
			if err := awstest.Delete(ctx, r, permit, scope, row(group)); err != nil {
				t.Fatal(err)
			}
		}
		has(groups[0])
	}
	// A member's are its cluster's: there is nothing to delete.
	member := newInstanceGroups(clients)
	if err := awstest.Delete(ctx, member, permit, scope,
		modules.Row{"rds_id": modules.Text("in-aurora"), "security_group_id": modules.Text(groups[0])}); err != nil {
		t.Error(err)
	}
}

func rowOf[T any](t *testing.T, r *declare.Resource, object T) modules.Row {
	t.Helper()
	row, err := declare.RowOf(t.Context(), r, object)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// What moto does not do: AWS does not say what an Aurora cluster's storage is, and
// tells what is under way.
func TestRows(t *testing.T) {
	aurora := rowOf(t, newCluster(nil),
		rdstypes.DBCluster{Engine: awssdk.String("aurora-mysql"), AllocatedStorage: awssdk.Int32(1)})
	if aurora["storage_type"] != modules.Text("aurora") || !aurora["allocated_storage"].IsNull() {
		t.Errorf("Aurora: %v", aurora)
	}
	changing := rowOf(t, newCluster(nil), rdstypes.DBCluster{
		Engine: awssdk.String("postgres"), DBClusterInstanceClass: awssdk.String("db.m6gd.large"),
		AllocatedStorage: awssdk.Int32(100), Iops: awssdk.Int32(1000),
		PendingModifiedValues: &rdstypes.ClusterPendingModifiedValues{AllocatedStorage: awssdk.Int32(200)},
	})
	if changing["allocated_storage"] != modules.Int(200) || changing["iops"] != modules.Int(1000) ||
		!changing["storage_type"].IsNull() {
		t.Errorf("changing: %v", changing)
	}
	for _, engine := range []string{"aurora-mysql", "aurora-postgresql", "neptune", "docdb", "mysql", "postgres"} {
		row := rowOf(t, newInstance(nil), rdstypes.DBInstance{Engine: &engine, DBClusterIdentifier: awssdk.String("c")})
		if own := engine == "mysql" || engine == "postgres"; row["made_by_cluster"].Bool() != own {
			t.Errorf("a member of a cluster of %s is made by it: %t", engine, !own)
		}
	}
	groups := groupsOf([]rdstypes.VpcSecurityGroupMembership{
		{VpcSecurityGroupId: awssdk.String("sg-1"), Status: awssdk.String("active")},
		{VpcSecurityGroupId: awssdk.String("sg-2"), Status: awssdk.String("adding")},
		{VpcSecurityGroupId: awssdk.String("sg-3"), Status: awssdk.String("removing")},
	})
	if !slices.Equal(groups, []string{"sg-1", "sg-2"}) {
		t.Errorf("groups: %v", groups)
	}
}

// What is sent depends on the kind of cluster: Aurora does not take
// PubliclyAccessible, of the others it must be said; and Iops go with StorageType.
func TestClusterCalls(t *testing.T) {
	t.Parallel()
	var form url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form = r.Form
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<ErrorResponse><Error><Code>InvalidParameterCombination</Code></Error></ErrorResponse>`)
	}))
	t.Cleanup(server.Close)
	r, scope := newCluster(awstest.Fake(server.URL)), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	for _, c := range []struct {
		class modules.Value
		sent  []string
	}{{modules.Null, nil}, {modules.Text("db.m6gd.large"), []string{"false"}}} {
		_, err := awstest.Create(ctx, r, permit, scope, modules.Row{
			"db_cluster_identifier": modules.Text("c"), "engine": modules.Text("postgres"),
			"db_cluster_instance_class": c.class, "publicly_accessible": modules.Bool(false),
		}, "")
		if modules.ClassOf(err) != modules.Invalid || !slices.Equal(form["PubliclyAccessible"], c.sent) {
			t.Errorf("class %v: %v, sent PubliclyAccessible %v, want %v", c.class, err,
				form["PubliclyAccessible"], c.sent)
		}
	}
	have := modules.Row{"db_cluster_identifier": modules.Text("c")}
	want := modules.Row{"storage_type": modules.Text("gp3"), "iops": modules.Int(3000)}
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"storage_type"}); err == nil ||
		form.Get("Iops") != "3000" || form.Get("StorageType") != "gp3" {
		t.Errorf("%v, sent %v", err, form)
	}
}

// What moto does not refuse: a final snapshot of what AWS takes none of.
func TestFinalSnapshots(t *testing.T) {
	t.Parallel()
	var shown string
	var form url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action := r.Form.Get("Action")
		if strings.HasPrefix(action, "Delete") {
			form = r.Form
		}
		list, _ := strings.CutPrefix(action, "Describe")
		_, _ = io.WriteString(w, "<"+action+"Response><"+action+"Result><"+list+"><"+strings.TrimSuffix(list, "s")+">"+
			shown+"</"+strings.TrimSuffix(list, "s")+"></"+list+"></"+action+"Result></"+action+"Response>")
	}))
	t.Cleanup(server.Close)
	clients, scope := awstest.Fake(server.URL), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	const postgres = "<Engine>postgres</Engine>"
	for _, c := range []struct {
		instance string // what AWS tells of it
		skip     modules.Value
		made     bool // whether a deletion is asked for
		snapshot bool
	}{
		{postgres + status("available"), modules.Null, true, true}, // a record that nobody knows anything of
		{postgres + status("available"), modules.Bool(false), true, true},
		{postgres + status("available"), modules.Bool(true), true, false},
		{postgres + status("storage-full"), modules.Null, true, true},
		{postgres + status("creating"), modules.Null, true, false},
		{postgres + status("failed"), modules.Null, true, false},
		{postgres + status("incompatible-network"), modules.Null, true, false},
		{postgres + status("incompatible-restore"), modules.Null, true, false},
		{postgres + status("deleting"), modules.Null, false, false},
		{postgres + status("available") +
			"<ReadReplicaSourceDBInstanceIdentifier>a</ReadReplicaSourceDBInstanceIdentifier>", modules.Null,
			true, false},
		{postgres + status("available") +
			"<ReadReplicaSourceDBClusterIdentifier>a</ReadReplicaSourceDBClusterIdentifier>", modules.Null,
			true, false},
		{"<Engine>aurora-postgresql</Engine><DBClusterIdentifier>c</DBClusterIdentifier>" + status("available"),
			modules.Null, true, false},
		{"<Engine>custom-oracle-ee</Engine>" + status("available"), modules.Null, true, false},
	} {
		shown, form = "<DBInstanceIdentifier>d</DBInstanceIdentifier>"+c.instance, nil
		err := awstest.Delete(ctx, newInstance(clients), permit, scope,
			modules.Row{"db_instance_identifier": modules.Text("d"), "skip_final_snapshot": c.skip})
		if name := form.Get("FinalDBSnapshotIdentifier"); err != nil || (form != nil) != c.made ||
			strings.HasPrefix(name, "d-final-") != c.snapshot ||
			c.made && form.Get("SkipFinalSnapshot") == "true" == c.snapshot {
			t.Errorf("%s, skip %v: %v, sent %v", c.instance, c.skip, err, form)
		}
		shown, form = "<DBClusterIdentifier>d</DBClusterIdentifier>"+postgres+"<Status>available</Status>", nil
		if err := awstest.Delete(ctx, newCluster(clients), permit, scope,
			modules.Row{"db_cluster_identifier": modules.Text("d"), "skip_final_snapshot": c.skip}); err != nil ||
			(form.Get("FinalDBSnapshotIdentifier") == "") != c.skip.Bool() ||
			(form.Get("SkipFinalSnapshot") == "true") != c.skip.Bool() {
			t.Errorf("cluster, skip %v: %v, sent %v", c.skip, err, form)
		}
	}
}

func status(status string) string { return "<DBInstanceStatus>" + status + "</DBInstanceStatus>" }

func TestSameness(t *testing.T) {
	if !declare.SameVersion("16", "16.4") || !declare.SameVersion("16.4", "16") || declare.SameVersion("1", "16.4") {
		t.Error("versions are compared wrongly")
	}
	if !sameStrings(`{"a":1}`, `{"a":"1"}`) || sameStrings(`{"a":1}`, `{"a":"2"}`) {
		t.Error("parameters are compared wrongly")
	}
}
