package awslambda

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws"
	"iasql/internal/aws/awstest"
	"iasql/internal/modules"
	"iasql/internal/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func zipped(t *testing.T, code string) modules.Value {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("index.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(code)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return modules.Text(base64.StdEncoding.EncodeToString(b.Bytes()))
}

func createRole(ctx context.Context, t *testing.T, clients *aws.Clients, name string) {
	t.Helper()
	client, err := aws.Client(ctx, clients, awstest.Scope(""), func(cfg awssdk.Config) *iam.Client { return iam.NewFromConfig(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: &name, Path: awssdk.String("/team/"),
		AssumeRolePolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// network returns the ids of two subnets and of the default security group of a
// default VPC.
func network(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope) (subnets []string, group string) {
	t.Helper()
	client, err := clients.EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{aws.EC2Filter("group-name", "default"), aws.EC2Filter("vpc-id", *s.Subnets[0].VpcId)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []string{*s.Subnets[0].SubnetId, *s.Subnets[1].SubnetId}, *g.SecurityGroups[0].GroupId
}

func want(t *testing.T, name string) modules.Row {
	return modules.Row{
		"name": modules.Text(name), "role_name": modules.Text("runner"), "zip_b64": zipped(t, "def handler(e, c): return 1"),
		"description": modules.Text("a function"), "handler": modules.Text("index.handler"), "runtime": modules.Text("python3.12"),
		"architecture": modules.Text("arm64"), "memory_size": modules.Int(256), "timeout": modules.Int(5), "ephemeral_storage_size": modules.Int(1024),
		"environment": modules.StringMap(map[string]string{"MODE": "test"}), "subnets": modules.Null, "security_group_ids": modules.Null,
		"reserved_concurrent_executions": modules.Int(2), "tags": modules.StringMap(map[string]string{"env": "test"}),
	}
}

func TestFunctionLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	createRole(ctx, t, clients, "runner")
	createRole(ctx, t, clients, "other")
	subnets, group := network(ctx, t, clients, scope)
	row := want(t, "life")
	row["subnets"], row["security_group_ids"] = modules.Strings(subnets[:1]), modules.Strings([]string{group})
	awstest.Lifecycle(t, awstest.Case{
		Resource: newFunction(clients), Scope: scope, Want: row,
		Changes: map[string][]modules.Value{
			"role_name":                      {modules.Text("other")},
			"description":                    {modules.Text("another"), modules.Null},
			"handler":                        {modules.Text("index.other")},
			"runtime":                        {modules.Text("python3.13")},
			"memory_size":                    {modules.Int(512)},
			"timeout":                        {modules.Int(900)},
			"environment":                    {modules.StringMap(map[string]string{"A": "1", "B": "2"}), modules.Null},
			"subnets":                        {modules.Strings(subnets)},
			"reserved_concurrent_executions": {modules.Int(7), modules.Null},
			"tags":                           {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
		// Groups are set together with subnets; moto's UpdateFunctionConfiguration
		// ignores EphemeralStorage, of which TestEphemeralStorage is.
		Elsewhere: []string{"security_group_ids", "ephemeral_storage_size"},
		Calls:     map[string]int{"tags": 2},
	})
}

// Code is pushed, and its hash tells.
func TestCode(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	journal := &awstest.Journal{}
	ctx := modules.WithMutations(t.Context(), journal)
	createRole(ctx, t, clients, "runner")
	r, row := newFunction(clients), want(t, "code")
	identity, err := r.Create(ctx, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	get := func() modules.Row {
		t.Helper()
		rows, err := r.Get(ctx, scope, []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	was := get()
	row["zip_b64"] = zipped(t, "def handler(e, c): return 2")
	journal.Take()
	if err := r.Update(ctx, scope, was, row, []string{"zip_b64"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); len(calls) != 1 {
		t.Errorf("made the calls %v, want one", calls)
	}
	if is := get(); is["code_sha256"] == was["code_sha256"] || is["architecture"] != was["architecture"] {
		t.Errorf("the code is as it was: %v", is)
	}

	if _, err := r.Create(ctx, scope, row, ""); modules.ClassOf(err) != modules.Exists {
		t.Errorf("create again: %v, want class %s", err, modules.Exists)
	}
	for column, c := range map[string]struct {
		value modules.Value
		class modules.Class
	}{
		"zip_b64":   {modules.Null, modules.Invalid},
		"role_name": {modules.Text("nobody"), modules.Dependency},
	} {
		bad := want(t, "bad")
		bad[column] = c.value
		if _, err := r.Create(ctx, scope, bad, ""); modules.ClassOf(err) != c.class {
			t.Errorf("create with %s %q: %v, want class %s", column, c.value, err, c.class)
		}
	}
}

func TestEphemeralStorage(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	r, row := newFunction(awstest.Fake(server.URL)), want(t, "storage")
	if err := r.Update(ctx, awstest.Scope("us-east-1"), row, row, []string{"ephemeral_storage_size"}); err != nil {
		t.Fatal(err)
	}
	if storage, _ := sent["EphemeralStorage"].(map[string]any); len(sent) != 1 || storage["Size"] != 1024.0 {
		t.Errorf("sent %v, want the size alone", sent)
	}
}
