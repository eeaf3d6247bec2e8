package awselasticache

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// moto has no ModifyCacheCluster, tells nothing of nodes, and keeps what was
// deleted for ever.
func TestClusterInMoto(t *testing.T) {
	t.Parallel()
	r, scope := newCluster(awstest.Clients(t)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{
		"cluster_id": modules.Text("sessions"), "engine": modules.Text("redis"),
		"node_type": modules.Text("cache.t4g.micro"), "num_nodes": modules.Int(1),
		"transit_encryption_enabled": modules.Bool(true), "auto_minor_version_upgrade": modules.Bool(true),
		"snapshot_retention_limit": modules.Int(3),
		"security_group_ids":       modules.Strings([]string{"sg-1", "sg-2"}),
		"tags":                     modules.StringMap(map[string]string{"env": "test"}),
	}
	get := func(row modules.Row) modules.Row {
		t.Helper()
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{row, {"cluster_id": modules.Text("sessions0")}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	created, err := awstest.Create(ctx, r, permit, scope, want, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
	have := get(created)
	for column, v := range want {
		if column != "security_group_ids" && !r.Table().Column(column).Same(have[column], v) {
			t.Errorf("%s is %v, want %v", column, have[column], v)
		}
	}
	if _, told := have["port"]; told {
		t.Error("the port of a cluster without nodes is taken for known")
	}
	want["tags"] = modules.StringMap(map[string]string{"a": "1"})
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"tags"}); err != nil {
		t.Fatal(err)
	}
	if have = get(created); have["tags"] != want["tags"] {
		t.Errorf("tags are %v", have["tags"])
	}
	for range 2 {
		if err := awstest.Delete(ctx, r, permit, scope, have); err != nil {
			t.Fatal(err)
		}
	}
	if status := get(created)["status"].String(); status != "deleting" {
		t.Errorf("deleted, it is %s", status)
	}
}

// fake answers as the Amazon ElastiCache API Reference has it (query protocol):
// of one cluster, for which what it is told to be is pending.
type fake struct {
	cluster string // further members
	status  string
	calls   []url.Values
	refuse  bool // to delete, since it is going already
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	action, body := r.Form.Get("Action"), ""
	switch action {
	case "DescribeCacheClusters":
		body = "<CacheClusters><CacheCluster><CacheClusterId>c</CacheClusterId><ARN>arn</ARN><CacheClusterStatus>" +
			f.status + "</CacheClusterStatus>" + f.cluster + "</CacheCluster></CacheClusters>"
	case "ListTagsForResource":
		body = "<TagList/>"
	default:
		f.calls = append(f.calls, r.Form)
		if f.refuse {
			f.status = "deleting"
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>InvalidCacheClusterState</Code><Message>c is not "+
				"available</Message></Error></ErrorResponse>")
			return
		}
	}
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
}

const memcached = `<Engine>memcached</Engine><CacheNodeType>cache.t4g.micro</CacheNodeType><NumCacheNodes>3</NumCacheNodes>
	<ConfigurationEndpoint><Address>c.cfg</Address><Port>11211</Port></ConfigurationEndpoint>
	<CacheNodes><CacheNode><CacheNodeId>0001</CacheNodeId></CacheNode><CacheNode><CacheNodeId>0002</CacheNodeId></CacheNode><CacheNode><CacheNodeId>0003</CacheNodeId></CacheNode></CacheNodes>`

func read(t *testing.T, f *fake) (*httptest.Server, modules.Row) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	rows, err := awstest.Get(t.Context(), newCluster(awstest.Fake(server.URL)), awstest.Scope("us-east-1"),
		[]modules.Row{{"cluster_id": modules.Text("c")}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	return server, rows[0]
}

func TestClusterUpdate(t *testing.T) {
	t.Parallel()
	f := &fake{status: "available",
		cluster: memcached + "<PendingModifiedValues><EngineVersion>1.6.22</EngineVersion></PendingModifiedValues>"}
	server, have := read(t, f)
	if have["address"].String() != "c.cfg" || have["port"].String() != "11211" ||
		have["engine_version"].String() != "1.6.22" {
		t.Errorf("got %v", have)
	}
	want := have.Clone()
	want["num_nodes"], want["auto_minor_version_upgrade"], want["security_group_ids"] = modules.Int(1),
		modules.Bool(true), modules.Strings([]string{"sg-1", "sg-2"})
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Update(ctx, newCluster(awstest.Fake(server.URL)), permit, awstest.Scope("us-east-1"), have, want,
		[]string{"num_nodes", "auto_minor_version_upgrade", "security_group_ids"}); err != nil {
		t.Fatal(err)
	}
	if len(f.calls) != 1 {
		t.Fatalf("calls: %v", f.calls)
	}
	for member, wanted := range map[string]string{
		"Action": "ModifyCacheCluster", "CacheClusterId": "c", "ApplyImmediately": "true", "NumCacheNodes": "1",
		"AutoMinorVersionUpgrade": "true", "CacheNodeType": "",
		"CacheNodeIdsToRemove.CacheNodeId.1": "0002", "CacheNodeIdsToRemove.CacheNodeId.2": "0003",
		"SecurityGroupIds.SecurityGroupId.2": "sg-2",
	} {
		if got := f.calls[0].Get(member); got != wanted {
			t.Errorf("%s is %q, want %q", member, got, wanted)
		}
	}
}

// A snapshot is taken of what can have one; a cluster that is on its way out is
// let go, and one of a replication group is none.
func TestClusterDeletion(t *testing.T) {
	t.Parallel()
	const redis = "<Engine>redis</Engine><CacheNodeType>cache.t4g.micro</CacheNodeType><NumCacheNodes>1</NumCacheNodes>"
	for name, c := range map[string]struct {
		fake
		snapshot bool
	}{
		"redis":     {fake{cluster: redis, status: "available"}, true},
		"new":       {fake{cluster: redis, status: "creating"}, false},
		"memcached": {fake{cluster: memcached, status: "available"}, false},
		"going":     {fake{cluster: redis, status: "modifying", refuse: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &c.fake
			server, have := read(t, f)
			ctx, permit := t.Context(), awstest.Permit()
			if err := awstest.Delete(ctx, newCluster(awstest.Fake(server.URL)), permit, awstest.Scope("us-east-1"),
				have); err != nil {
				t.Fatal(err)
			}
			if got := f.calls[0].Get("FinalSnapshotIdentifier"); len(f.calls) != 1 ||
				strings.HasPrefix(got, "c-final-") != c.snapshot {
				t.Errorf("calls: %v", f.calls)
			}
		})
	}
	server := httptest.NewServer(&fake{status: "available",
		cluster: redis + "<ReplicationGroupId>g</ReplicationGroupId>"})
	t.Cleanup(server.Close)
	if rows, err := awstest.Get(t.Context(), newCluster(awstest.Fake(server.URL)), awstest.Scope("us-east-1"),
		[]modules.Row{{"cluster_id": modules.Text("c")}}); err != nil || len(rows) != 0 {
		t.Errorf("of a replication group: %v, %v", rows, err)
	}
}

// A log that is delivered no more is said to end: what ModifyCacheCluster is not told of goes on.
func TestLogDelivery(t *testing.T) {
	t.Parallel()
	slow := `{"LogType":"slow-log","LogFormat":"json","DestinationType":"cloudwatch-logs","DestinationDetails":{"CloudWatchLogsDetails":{"LogGroup":"slow"}}}`
	engine := strings.NewReplacer("slow-log", "engine-log", `"slow"`, `"engine"`).Replace(slow)
	have := modules.Row{"cluster_id": modules.Text("sessions"), "num_nodes": modules.Int(1),
		"log_delivery_configurations": modules.Text("[" + slow + "," + engine + "]")}
	want := have.Clone()
	want["log_delivery_configurations"] = modules.Text("[" + slow + "]")
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newCluster(c) }, have, want,
		`<ModifyCacheClusterResponse><ModifyCacheClusterResult/></ModifyCacheClusterResponse>`,
		"log_delivery_configurations")
	if len(calls) != 1 || !strings.Contains(calls[0], "Enabled=false&") ||
		!strings.Contains(calls[0], "LogType=engine-log") ||
		!strings.Contains(calls[0], "LogGroup=slow") {
		t.Errorf("made the calls %q", calls)
	}
}
