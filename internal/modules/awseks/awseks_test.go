package awseks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
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

var (
	text  = modules.Text
	tags  = modules.StringMap(map[string]string{"env": "test"})
	scope = awstest.Scope("us-east-1")
)

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withRole returns clients of an account that has the role eks.
func withRole(ctx context.Context, t *testing.T) *aws.Clients {
	t.Helper()
	clients := awstest.Clients(t)
	client, err := declare.Client(ctx, clients.Permitted(awstest.Permit()), scope, iam.NewFromConfig)
	if err == nil {
		_, err = client.CreateRole(ctx,
			&iam.CreateRoleInput{RoleName: awssdk.String("eks"), AssumeRolePolicyDocument: awssdk.String(
				`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"eks.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func cluster(name string) modules.Row {
	return modules.Row{
		"cluster_name": text(name), "role_name": text("eks"),
		"subnets":                modules.Strings([]string{"subnet-1", "subnet-2"}),
		"endpoint_public_access": modules.Bool(true), "endpoint_private_access": modules.Bool(false),
		"deletion_protection": modules.Bool(false), "tags": tags,
	}
}

// fakeEKS keeps clusters as the Amazon EKS API Reference has it: a change leaves
// alone what it does not name. moto makes the VPC configuration what a change says
// of it, keeps no further settings, and has no UpdateClusterVersion. Pages have one
// cluster.
type fakeEKS struct {
	sync.Mutex
	clusters map[string]map[string]any
}

func (f *fakeEKS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	if r.URL.Path == "/" { // IAM
		fmt.Fprint(w, "<GetRoleResponse><GetRoleResult><Role><Arn>arn:aws:iam::123456789012:role/service/eks</Arn></Role></GetRoleResult></GetRoleResponse>")
		return
	}
	in := map[string]any{}
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	fail := func(status int, code string) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"message":"no"}`)
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name := parts[len(parts)-1]
	if len(parts) == 3 && parts[0] == "clusters" {
		name = parts[1]
	}
	c := f.clusters[name]
	answer := map[string]any{}
	switch {
	case r.URL.Path == "/clusters" && r.Method == http.MethodGet:
		names := slices.Sorted(maps.Keys(f.clusters))
		at := max(0, slices.Index(names, r.URL.Query().Get("nextToken")))
		answer["clusters"] = names[min(at, len(names)):min(at+1, len(names))]
		if at+1 < len(names) {
			answer["nextToken"] = names[at+1]
		}
	case r.URL.Path == "/clusters":
		name = in["name"].(string)
		if f.clusters[name] != nil {
			fail(http.StatusConflict, "ResourceInUseException")
			return
		}
		in["arn"], in["status"] = "arn:aws:eks:us-east-1:123456789012:cluster/"+name, "ACTIVE"
		f.clusters[name] = in
		answer["cluster"] = in
	case c == nil:
		fail(http.StatusNotFound, "ResourceNotFoundException")
		return
	case parts[0] == "tags" && r.Method == http.MethodPost:
		merge(c, in)
	case parts[0] == "tags":
		for _, key := range r.URL.Query()["tagKeys"] {
			delete(c["tags"].(map[string]any), key)
		}
	case r.Method == http.MethodPost && len(in) > 2: // with the client's token
		fail(http.StatusBadRequest, "InvalidParameterException")
		return
	case r.Method == http.MethodPost:
		merge(c, in)
	case r.Method == http.MethodDelete:
		delete(f.clusters, name)
	default:
		answer["cluster"] = c
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func merge(have, change map[string]any) {
	for name, to := range change {
		inner, ok := to.(map[string]any)
		if old, had := have[name].(map[string]any); ok && had {
			merge(old, inner)
		} else {
			have[name] = to
		}
	}
}

func TestClusterLifecycle(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&fakeEKS{clusters: map[string]map[string]any{"another": {"name": "another"}}})
	t.Cleanup(server.Close)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCluster(awstest.Fake(server.URL)), Scope: scope, Want: cluster("life"),
		Changes: map[string][]modules.Value{
			"version":             {text("1.33")},
			"subnets":             {modules.Strings([]string{"subnet-2", "subnet-3"})},
			"security_group_ids":  {modules.Strings([]string{"sg-1"}), modules.Null},
			"public_access_cidrs": {modules.Strings([]string{"203.0.113.0/24"})},
			"log_types":           {modules.Strings([]string{"api", "audit"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

func TestNodeGroupLifecycle(t *testing.T) {
	t.Parallel()
	ctx, permit := t.Context(), awstest.Permit()
	clients := withRole(ctx, t)
	if _, err := awstest.Create(ctx, newCluster(clients), permit, scope, cluster("home"), ""); err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newNodeGroup(clients), Scope: scope,
		Want: modules.Row{
			"cluster_id": text("home"), "node_group_name": text("life"), "role_name": text("eks"),
			"subnets":        modules.Strings([]string{"subnet-1"}),
			"instance_types": modules.Strings([]string{"t3.large"}), "min_size": modules.Int(0),
			"max_size": modules.Int(2), "tags": tags,
		},
		Changes: map[string][]modules.Value{
			"min_size":     {modules.Int(1)},
			"max_size":     {modules.Int(3)},
			"desired_size": {modules.Int(2)},
			"labels":       {document(t, `{"kind":"web","old":"1"}`), document(t, `{"kind":"batch"}`), modules.Null},
			"taints": {document(t, `[{"Key":"gpu","Value":"true","Effect":"NO_SCHEDULE"},{"Key":"old","Effect":"NO_EXECUTE"}]`),
				document(t, `[{"Key":"gpu","Value":"false","Effect":"NO_SCHEDULE"}]`), modules.Null},
			"max_unavailable": {modules.Int(2)},
		},
		// moto has no UpdateNodegroupVersion, and changes the tags of clusters alone. A
		// percentage does not go with a number.
		Elsewhere: []string{"version", "release_version", "launch_template_version",
			"max_unavailable_percentage", "tags"},
	})
}

// What is sent where the emulator does not keep it: one kind of change a call.
func TestCalls(t *testing.T) {
	t.Parallel()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		delete(in, "clientRequestToken")
		body, _ := json.Marshal(in)
		sent = append(sent, r.Method+" "+r.URL.Path+" "+string(body))
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(server.Close)
	clients := awstest.Fake(server.URL)
	ctx, permit := t.Context(), awstest.Permit()
	group := modules.Row{"cluster_id": text("home"), "node_group_name": text("nodes"),
		"launch_template_id": text("web"), "arn": text("arn:nodes"), "tags": tags}
	for _, test := range []struct {
		r      *declare.Resource
		have   modules.Row
		change modules.Row
		want   []string
	}{
		{newCluster(clients), cluster("life"), modules.Row{"version": text("1.33")},
			[]string{`POST /clusters/life/updates {"version":"1.33"}`}},
		{newCluster(clients), cluster("life"),
			modules.Row{"subnets": modules.Strings([]string{"subnet-3"}), "endpoint_private_access": modules.Bool(true),
				"deletion_protection": modules.Bool(true)}, []string{
				`POST /clusters/life/update-config {"resourcesVpcConfig":{"subnetIds":["subnet-3"]}}`,
				`POST /clusters/life/update-config {"resourcesVpcConfig":{"endpointPrivateAccess":true}}`,
				`POST /clusters/life/update-config {"deletionProtection":true}`,
			}},
		{newCluster(clients), cluster("life"),
			modules.Row{"authentication_mode": text("API"), "support_type": text("STANDARD")}, []string{
				`POST /clusters/life/update-config {"accessConfig":{"authenticationMode":"API"}}`,
				`POST /clusters/life/update-config {"upgradePolicy":{"supportType":"STANDARD"}}`,
			}},
		{newNodeGroup(clients), group, modules.Row{"tags": modules.StringMap(map[string]string{"more": "1"})}, []string{
			`DELETE /tags/arn:nodes null`, `POST /tags/arn:nodes {"tags":{"more":"1"}}`,
		}},
		{newNodeGroup(clients), group, modules.Row{"max_unavailable_percentage": modules.Int(50)}, []string{
			`POST /clusters/home/node-groups/nodes/update-config {"updateConfig":{"maxUnavailablePercentage":50}}`,
		}},
		{newNodeGroup(clients), group, modules.Row{"launch_template_version": text("2")}, []string{
			`POST /clusters/home/node-groups/nodes/update-version {"launchTemplate":{"name":"web","version":"2"}}`,
		}},
		{newNodeGroup(clients), group, modules.Row{"version": text("1.33"), "release_version": text("1.33.0-20250704")},
			[]string{
				`POST /clusters/home/node-groups/nodes/update-version {"releaseVersion":"1.33.0-20250704","version":"1.33"}`,
			}},
	} {
		want, columns := test.have.Clone(), []string{}
		for column, value := range test.change {
			want[column] = value
			columns = append(columns, column)
		}
		sent = nil
		if err := awstest.Update(ctx, test.r, permit, scope, test.have, want, columns); err != nil ||
			strings.Join(sent, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%v: %v, sent\n%s\nwant\n%s", columns, err, strings.Join(sent, "\n"),
				strings.Join(test.want, "\n"))
		}
	}
	sent = nil
	for _, r := range []*declare.Resource{newCluster(clients), newNodeGroup(clients)} {
		have := modules.Row{"cluster_name": text("life"), "cluster_id": text("home"), "node_group_name": text("nodes"),
			"status": text("DELETING")}
		if err := awstest.Delete(ctx, r, permit, scope, have); err != nil || len(sent) > 0 {
			t.Errorf("delete what is on its way out: %v, sent %v", err, sent)
		}
	}
}
