package awsopensearch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ostypes "github.com/aws/aws-sdk-go-v2/service/opensearch/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var text = modules.Text

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func policy(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"` +
		action + `","Resource":"*"}]}`
}

func domain(name string) modules.Row {
	return modules.Row{
		"domain_name": text(name), "version": text("OpenSearch_2.11"), "instance_type": text("t3.small.search"),
		"instance_count":          modules.Int(1),
		"availability_zone_count": modules.Int(1), "cold_storage": modules.Bool(false),
		"enable_fine_grained_access_control": modules.Bool(false),
		"enforce_https":                      modules.Bool(true), "encryption_at_rest": modules.Bool(true),
		"node_to_node_encryption": modules.Bool(true),
	}
}

func TestDomainLifecycle(t *testing.T) {
	t.Parallel()
	groups := newSecurityGroups(awstest.Clients(t))
	want := domain("life")
	want["tags"], want["subnets"] = modules.StringMap(map[string]string{"env": "test"}),
		modules.Strings([]string{"subnet-1"})
	want["access_policy"] = document(t, policy("es:ESHttpGet"))
	awstest.Lifecycle(t, awstest.Case{
		Resource: newDomain(awstest.Clients(t), groups), Scope: awstest.Scope("us-east-1"), Want: want,
		Changes: map[string][]modules.Value{
			"instance_type":           {text("m6g.large.search")},
			"instance_count":          {modules.Int(3)},
			"availability_zone_count": {modules.Int(3), modules.Int(2), modules.Int(1)},
			"ebs_options":             {document(t, `{"EBSEnabled":true,"VolumeType":"gp3","VolumeSize":20}`)},
			"access_policy":           {document(t, policy("es:ESHttpPut"))},
			"advanced_options":        {document(t, `{"rest.action.multi.allow_explicit_index":"false"}`)},
			"subnets":                 {modules.Strings([]string{"subnet-2", "subnet-3"})},
			"custom_endpoint":         {text("search.example.com"), modules.Null},
			"endpoint_certificate_id": {text("arn:aws:acm:us-east-1:123456789012:certificate/1"), modules.Null},
			"kms_key_id":              {text("arn:aws:kms:us-east-1:123456789012:key/1")},
		},
		// Types and numbers go together, and have a test of their own. moto has no
		// UpgradeDomain, keeps a policy that is to be removed, and of UpdateDomainConfig
		// neither Auto-Tune's state nor the IP address type.
		Elsewhere: []string{"version", "dedicated_master_type", "dedicated_master_count", "warm_instance_type",
			"warm_instance_count", "auto_tune", "ip_address_type",
			"fine_grained_access_control_user_arn", "fine_grained_access_control_master_username",
			"fine_grained_access_control_master_password"},
		Calls: map[string]int{"tags": 2},
	})
}

// recorder is a service that has one domain and notes what it is sent.
type recorder struct {
	status map[string]any
	path   string
	body   map[string]any
}

func (f *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/2021-01-01/")
	switch {
	case strings.HasPrefix(path, "tags"):
		fmt.Fprint(w, `{}`)
	case path == "opensearch/domain-info":
		_ = json.NewEncoder(w).Encode(map[string]any{"DomainStatusList": []any{f.status}})
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(map[string]any{"DomainStatus": f.status})
	default:
		f.path, f.body = path, map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&f.body)
		fmt.Fprint(w, `{}`)
	}
}

// What is sent and read besides: upgrades, nodes of several kinds, master users,
// Auto-Tune and what is on its way out.
func TestDomainCalls(t *testing.T) {
	t.Parallel()
	f := &recorder{status: map[string]any{
		"DomainName": "life", "ARN": "arn:aws:es:us-east-1:123456789012:domain/life",
		"EngineVersion": "OpenSearch_2.11", "Endpoint": "search.example.com",
		"ClusterConfig": map[string]any{"InstanceType": "t3.small.search", "InstanceCount": 2,
			"ZoneAwarenessEnabled": true, "WarmEnabled": false, "DedicatedMasterEnabled": false,
			"DedicatedMasterCount": 3},
		"AutoTuneOptions": map[string]any{"State": "ENABLE_IN_PROGRESS"},
	}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	clients := awstest.Fake(server.URL)
	r, scope := newDomain(clients, newSecurityGroups(clients)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	read := func() modules.Row {
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{{"domain_name": text("life")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0]
	}
	have := read()
	for column, want := range map[string]modules.Value{"availability_zone_count": modules.Int(2),
		"dedicated_master_count": modules.Null, "auto_tune": modules.Bool(true),
		"endpoint": text("search.example.com")} {
		if have[column] != want {
			t.Errorf("%s is %s, want %s", column, have[column], want)
		}
	}
	for _, test := range []struct {
		change modules.Row
		path   string
		body   string
	}{
		{modules.Row{"version": text("OpenSearch_2.13")}, "opensearch/upgradeDomain",
			`{"DomainName":"life","TargetVersion":"OpenSearch_2.13"}`},
		{modules.Row{"dedicated_master_type": text("m6g.large.search"), "dedicated_master_count": modules.Int(3),
			"warm_instance_type": text("ultrawarm1.medium.search"), "warm_instance_count": modules.Int(2)},
			"opensearch/domain/life/config",
			`{"ClusterConfig":{"ColdStorageOptions":{"Enabled":false},"DedicatedMasterCount":3,"DedicatedMasterEnabled":true,"DedicatedMasterType":"m6g.large.search",` +
				`"InstanceCount":2,"InstanceType":"t3.small.search","WarmCount":2,"WarmEnabled":true,"WarmType":"ultrawarm1.medium.search","ZoneAwarenessConfig":{"AvailabilityZoneCount":2},"ZoneAwarenessEnabled":true}}`},
		{modules.Row{"auto_tune": modules.Bool(false)}, "opensearch/domain/life/config",
			`{"AutoTuneOptions":{"DesiredState":"DISABLED"}}`},
		{modules.Row{"access_policy": modules.Null}, "opensearch/domain/life/config", `{"AccessPolicies":""}`},
		{modules.Row{"ip_address_type": text("dualstack")}, "opensearch/domain/life/config",
			`{"IPAddressType":"dualstack"}`},
		{modules.Row{"enable_fine_grained_access_control": modules.Bool(true),
			"fine_grained_access_control_master_username": text("someone"),
			"fine_grained_access_control_master_password": text("not-a-secret")},
			"opensearch/domain/life/config",
			`{"AdvancedSecurityOptions":{"Enabled":true,"InternalUserDatabaseEnabled":true,"MasterUserOptions":{"MasterUserName":"someone","MasterUserPassword":"not-a-secret"}}}`},
		{modules.Row{"fine_grained_access_control_user_arn": text("arn:aws:iam::123456789012:role/r")},
			"opensearch/domain/life/config",
			`{"AdvancedSecurityOptions":{"Enabled":false,"InternalUserDatabaseEnabled":false,"MasterUserOptions":{"MasterUserARN":"arn:aws:iam::123456789012:role/r"}}}`},
	} {
		want, columns := have.Clone(), []string{}
		for column, value := range test.change {
			want[column] = value
			columns = append(columns, column)
		}
		if err := awstest.Update(ctx, r, permit, scope, have, want, columns); err != nil {
			t.Errorf("%v: %v", columns, err)
		}
		if body, _ := json.Marshal(f.body); f.path != test.path || string(body) != test.body {
			t.Errorf("%v: sent %s %s, want %s %s", columns, f.path, body, test.path, test.body)
		}
	}
	want := have.Clone()
	want["subnets"] = modules.Strings([]string{"subnet-1"})
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"subnets"}); modules.ClassOf(err) == modules.Dependency || err == nil {
		t.Errorf("a domain gets into a VPC: %v", err)
	}
	f.status["DomainProcessingStatus"] = "UpgradingEngineVersion"
	if err := awstest.Update(ctx, r, permit, scope, read(), want, []string{"version"}); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("upgrade during an upgrade: %v, want class %s", err, modules.Dependency)
	}
	f.status["Deleted"], f.path = true, ""
	if err := awstest.Delete(ctx, r, permit, scope, read()); err != nil || f.path != "" {
		t.Errorf("delete what is on its way out: %v, called %s", err, f.path)
	}
}

// What is being made does not tell what it has, and what is being deleted may say so
// in a member of its own.
func TestDomainStates(t *testing.T) {
	clients := aws.New(aws.Options{})
	r := newDomain(clients, newSecurityGroups(clients))
	row, err := declare.RowOf(t.Context(), r,
		ostypes.DomainStatus{DomainName: awssdk.String("d"),
			DomainProcessingStatus: ostypes.DomainProcessingStatusTypeCreating})
	if _, told := row["availability_zone_count"]; err != nil || told || awstest.Phase(r, row) != modules.Forming {
		t.Errorf("created: %v, %v", row, err)
	}
	for _, d := range []ostypes.DomainStatus{
		{DomainProcessingStatus: ostypes.DomainProcessingStatusTypeDeleting},
		{DomainProcessingStatus: ostypes.DomainProcessingStatusTypeActive, Deleted: awssdk.Bool(true)},
	} {
		if row, err := declare.RowOf(t.Context(), r, d); err != nil || awstest.Phase(r, row) != modules.Going {
			t.Errorf("deleted: %v, %v", row, err)
		}
	}
}

func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	groups := newSecurityGroups(clients)
	r := newDomain(clients, groups)
	in := domain("inside")
	in["subnets"] = modules.Strings([]string{"subnet-1"})
	for _, want := range []modules.Row{in, domain("outside")} {
		if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil {
			t.Fatal(err)
		}
	}
	// moto gives a domain no group by itself.
	one := modules.Row{"domain_id": text("inside"), "security_group_id": text("sg-1")}
	two := modules.Row{"domain_id": text("inside"), "security_group_id": text("sg-2")}
	if err := groups.Set(ctx, clients.Permitted(permit), scope,
		aws.MemberList{Owner: "inside", Subnets: []string{"subnet-1"}}, []string{"sg-1", "sg-2"}); err != nil {
		t.Fatal(err)
	}
	// A change of the subnets leaves the groups.
	have, err := awstest.Get(ctx, r, scope, []modules.Row{in})
	if err != nil || len(have) != 1 {
		t.Fatal(have, err)
	}
	in["subnets"] = modules.Strings([]string{"subnet-2"})
	if err := awstest.Update(ctx, r, permit, scope, have[0], in, []string{"subnets"}); err != nil {
		t.Fatal(err)
	}
	got, err := awstest.Get(ctx, groups, scope,
		[]modules.Row{one, two, {"domain_id": text("inside"), "security_group_id": text("sg-3")}})
	if err != nil || len(got) != 2 {
		t.Errorf("groups %v (%v), want two", got, err)
	}
	if err := groups.Set(ctx, clients.Permitted(permit), scope, aws.MemberList{Owner: "outside"}, []string{"sg-1"}); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a group of a domain in no VPC: %v, want class %s", err, modules.Invalid)
	}
}
