package awsappsync

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// fakeAppSync keeps APIs as the AWS AppSync API Reference has it (REST, JSON):
// an update sets everything. moto's leaves alone what is missing, and keeps
// neither limits nor introspection nor metrics. Pages have one API.
type fakeAppSync struct {
	mu   sync.Mutex
	apis []map[string]any

	variables map[string]any // by API
}

func (f *fakeAppSync) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost && r.URL.Path == "/" { // IAM
		fmt.Fprint(w, "<GetRoleResponse><GetRoleResult><Role><Arn>arn:aws:iam::123456789012:role/service/merge</Arn></Role></GetRoleResult></GetRoleResponse>")
		return
	}
	in := map[string]any{}
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	at := -1
	for i, api := range f.apis {
		if len(path) > 1 && (strings.HasSuffix(api["arn"].(string), path[len(path)-1]) || api["apiId"] == path[1]) {
			at = i
		}
	}
	switch {
	case r.URL.Path == "/v1/apis" && r.Method == http.MethodGet:
		first := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("nextToken"), &first)
		page := map[string]any{}
		if first < len(f.apis) {
			page["graphqlApis"] = f.apis[first : first+1]
			page["nextToken"] = fmt.Sprint(first + 1)
		}
		answer(page)
	case r.URL.Path == "/v1/apis":
		id := fmt.Sprintf("api%d", len(f.apis)+1)
		in["apiId"], in["arn"] = id, "arn:aws:appsync:us-east-1:123456789012:apis/"+id
		f.apis = append(f.apis, in)
		answer(map[string]any{"graphqlApi": in})
	case at < 0:
		w.Header().Set("X-Amzn-Errortype", "NotFoundException")
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"message": "GraphQL API not found."})
	case path[len(path)-1] == "environmentVariables" && r.Method == http.MethodPut: // it replaces all
		_ = json.NewDecoder(r.Body).Decode(&in)
		variables, told := in["environmentVariables"]
		if !told {
			w.Header().Set("X-Amzn-Errortype", "BadRequestException")
			w.WriteHeader(http.StatusBadRequest)
		}
		f.variables[path[1]] = variables
		answer(in)
	case path[len(path)-1] == "environmentVariables":
		answer(map[string]any{"environmentVariables": f.variables[path[1]]})
	case path[0] == "tags" && r.Method == http.MethodPost:
		tags, _ := f.apis[at]["tags"].(map[string]any)
		if tags == nil {
			tags = map[string]any{}
		}
		maps.Copy(tags, in["tags"].(map[string]any))
		f.apis[at]["tags"] = tags
		answer(map[string]any{})
	case path[0] == "tags":
		for _, key := range r.URL.Query()["tagKeys"] {
			delete(f.apis[at]["tags"].(map[string]any), key)
		}
		answer(map[string]any{})
	case r.Method == http.MethodPost:
		for _, kept := range []string{"apiId", "arn", "tags", "apiType", "visibility"} {
			in[kept] = f.apis[at][kept]
		}
		f.apis[at] = in
		answer(map[string]any{"graphqlApi": in})
	case r.Method == http.MethodDelete:
		f.apis = append(f.apis[:at:at], f.apis[at+1:]...)
		answer(map[string]any{})
	default:
		answer(map[string]any{"graphqlApi": f.apis[at]})
	}
}

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGraphqlAPILifecycle(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&fakeAppSync{variables: map[string]any{}, apis: []map[string]any{{"apiId": "before", "name": "news",
		"arn": "arn:apis/before", "authenticationType": "API_KEY"}}})
	t.Cleanup(server.Close)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newGraphqlAPI(awstest.Fake(server.URL)),
		Scope:    awstest.Scope("us-east-1"),
		Want: modules.Row{
			"name": modules.Text("news"), "authentication_type": modules.Text("API_KEY"),
			"xray_enabled": modules.Bool(false), "introspection_config": modules.Text("ENABLED"),
			"query_depth_limit": modules.Int(0), "resolver_count_limit": modules.Int(0),
			"api_type": modules.Text("GRAPHQL"), "visibility": modules.Text("PRIVATE"),
			"log_config": document(t, `{"CloudWatchLogsRoleArn":"arn:aws:iam::123456789012:role/logs","FieldLogLevel":"ERROR"}`),
			"tags":       modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"name": {modules.Text("other")},
			"lambda_authorizer_config": {document(t,
				`{"AuthorizerUri":"arn:aws:lambda:us-east-1:123456789012:function:f"}`), modules.Null},
			"open_id_connect_config": {document(t, `{"Issuer":"https://example.com"}`), modules.Null},
			"user_pool_config": {document(t,
				`{"UserPoolId":"us-east-1_a","AwsRegion":"us-east-1","DefaultAction":"DENY"}`), modules.Null},
			"additional_authentication_providers": {document(t,
				`[{"AuthenticationType":"AWS_IAM"},{"AuthenticationType":"OPENID_CONNECT","OpenIDConnectConfig":{"Issuer":"https://example.com"}}]`), modules.Null},
			"log_config": {document(t,
				`{"CloudWatchLogsRoleArn":"arn:aws:iam::123456789012:role/logs","FieldLogLevel":"ALL","ExcludeVerboseContent":true}`), modules.Null},
			"enhanced_metrics_config": {document(t,
				`{"DataSourceLevelMetricsBehavior":"PER_DATA_SOURCE_METRICS","OperationLevelMetricsConfig":"ENABLED","ResolverLevelMetricsBehavior":"PER_RESOLVER_METRICS"}`),
				modules.Null},
			"environment_variables": {document(t, `{"TABLE":"orders","STAGE":"test"}`), document(t, `{"TABLE":"others"}`),
				modules.Null},
			"query_depth_limit":              {modules.Int(3), modules.Int(0)},
			"resolver_count_limit":           {modules.Int(100), modules.Int(0)},
			"owner_contact":                  {modules.Text("us"), modules.Null},
			"merged_api_execution_role_name": {modules.Text("merge"), modules.Null},
		},
	})
}
