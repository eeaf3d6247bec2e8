package awslambda

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// fakeSettings answers as the pages of the API Reference say of GetFunction and what is read of a function besides.
// A function is called by what it is.
type fakeSettings struct {
	mu    sync.Mutex
	reads []string // the parts that were read
	sent  []string // what was changed
}

func (f *fakeSettings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name, part, _ := strings.Cut(r.URL.Path[strings.Index(r.URL.Path, "/functions/")+len("/functions/"):], "/")
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method != http.MethodGet {
		f.sent = append(f.sent, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", string(body))))
		fmt.Fprint(w, `{}`)
		return
	}
	if part != "" {
		f.reads = append(f.reads, part)
	}
	managed := strings.HasPrefix(name, "managed")
	switch {
	case part == "":
		configuration := map[string]any{"FunctionName": name, "FunctionArn": "arn:aws:lambda:us-west-2:123456789012:function:" + name,
			"Role": "arn:aws:iam::123456789012:role/runner", "State": "Active", "PackageType": "Zip"}
		if name == "image" {
			configuration["PackageType"] = "Image"
		}
		if managed {
			configuration["CapacityProviderConfig"] = map[string]any{"LambdaManagedInstancesCapacityProviderConfig": map[string]any{
				"CapacityProviderArn": "arn:aws:lambda:us-west-2:123456789012:capacity-provider:c"}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Configuration": configuration})
	case part == "code-signing-config" && name == "signed":
		fmt.Fprintf(w, `{"FunctionName": %q, "CodeSigningConfigArn": %q}`, name, signing)
	case part == "code-signing-config":
		fmt.Fprintf(w, `{"FunctionName": %q}`, name)
	case part == "recursion-config":
		fmt.Fprint(w, `{"RecursiveLoop": "Terminate"}`)
	case part == "runtime-management-config" && name == "signed":
		fmt.Fprint(w, `{"UpdateRuntimeOn": "Manual", "RuntimeVersionArn": "arn:aws:lambda:us-west-2::runtime:1"}`)
	case part == "runtime-management-config":
		fmt.Fprint(w, `{"UpdateRuntimeOn": "FunctionUpdate", "RuntimeVersionArn": "arn:aws:lambda:us-west-2::runtime:2"}`)
	case part == "function-scaling-config" && r.URL.Query().Get("Qualifier") == "$LATEST.PUBLISHED" && name == "managed":
		fmt.Fprint(w, `{"RequestedFunctionScalingConfig": {"MinExecutionEnvironments": 5, "MaxExecutionEnvironments": 20}}`)
	default:
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"Message": "it has no such version"}`)
	}
}

const signing = "arn:aws:lambda:us-west-2:123456789012:code-signing-config:csc-0123456789abcdefg"

// What is read of a function by calls of its own is what it can have.
func TestSettingsRead(t *testing.T) {
	t.Parallel()
	fake := &fakeSettings{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	clients := awstest.Fake(server.URL)
	r := newFunction(clients, newSecurityGroups(clients))
	manual := `{"UpdateRuntimeOn": "Manual", "RuntimeVersionArn": "arn:aws:lambda:us-west-2::runtime:1"}`
	const all = "code-signing-config recursion-config runtime-management-config"
	for _, c := range []struct {
		name, parts               string
		signing, scaling, runtime modules.Value
	}{
		{"signed", all, modules.Text(signing), modules.Null, document(t, manual)},
		{"plain", all, modules.Null, modules.Null, document(t, `{"UpdateRuntimeOn": "FunctionUpdate"}`)},
		{"image", "recursion-config", modules.Null, modules.Null, modules.Null},
		{"managed", "code-signing-config function-scaling-config recursion-config runtime-management-config", modules.Null,
			document(t, `{"MaxExecutionEnvironments": 20, "MinExecutionEnvironments": 5}`), document(t, `{"UpdateRuntimeOn": "FunctionUpdate"}`)},
		{"managed-unpublished", "code-signing-config function-scaling-config recursion-config runtime-management-config",
			modules.Null, modules.Null, document(t, `{"UpdateRuntimeOn": "FunctionUpdate"}`)},
	} {
		fake.reads = nil
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-west-2"), []modules.Row{{"name": modules.Text(c.name)}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v, %v", c.name, rows, err)
		}
		slices.Sort(fake.reads)
		if got := strings.Join(fake.reads, " "); got != c.parts {
			t.Errorf("%s: read %s, want %s", c.name, got, c.parts)
		}
		for column, want := range map[string]modules.Value{"code_signing_config_arn": c.signing,
			"function_scaling_config": c.scaling, "runtime_management_config": c.runtime,
			"recursive_loop": modules.Text("Terminate")} {
			if got := rows[0][column]; !r.Table().Column(column).Same(got, want) {
				t.Errorf("%s: %s is %s, want %s", c.name, column, got, want)
			}
		}
	}
}

// Each setting is changed by its own call, and taken back where there is such a call.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	fake := &fakeSettings{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	clients := awstest.Fake(server.URL)
	r := newFunction(clients, newSecurityGroups(clients))
	const manual = `{"UpdateRuntimeOn": "Manual", "RuntimeVersionArn": "arn:aws:lambda:us-west-2::runtime:1"}`
	for _, c := range []struct {
		column     string
		have, want modules.Value
		sent       string
	}{
		{"code_signing_config_arn", modules.Null, modules.Text(signing),
			`PUT /2020-06-30/functions/f/code-signing-config {"CodeSigningConfigArn":"` + signing + `"}`},
		{"code_signing_config_arn", modules.Text(signing), modules.Null, `DELETE /2020-06-30/functions/f/code-signing-config`},
		{"recursive_loop", modules.Text("Terminate"), modules.Text("Allow"),
			`PUT /2024-08-31/functions/f/recursion-config {"RecursiveLoop":"Allow"}`},
		{"runtime_management_config", modules.Null, document(t, manual),
			`PUT /2021-07-20/functions/f/runtime-management-config {"RuntimeVersionArn":"arn:aws:lambda:us-west-2::runtime:1","UpdateRuntimeOn":"Manual"}`},
		{"runtime_management_config", document(t, manual), modules.Null,
			`PUT /2021-07-20/functions/f/runtime-management-config {"UpdateRuntimeOn":"Auto"}`},
		{"function_scaling_config", modules.Null, document(t, `{"MinExecutionEnvironments": 0, "MaxExecutionEnvironments": 2}`),
			`PUT /2025-11-30/functions/f/function-scaling-config?Qualifier=%24LATEST.PUBLISHED {"FunctionScalingConfig":{"MaxExecutionEnvironments":2,"MinExecutionEnvironments":0}}`},
	} {
		fake.sent = nil
		have := modules.Row{"name": modules.Text("f"), "package_type": modules.Text("Zip"), c.column: c.have}
		want := have.Clone()
		want[c.column] = c.want
		err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-west-2"), have, want, []string{c.column})
		if got := strings.Join(fake.sent, "\n"); err != nil || got != c.sent {
			t.Errorf("%s: %v, sent %s\nwant %s", c.column, err, got, c.sent)
		}
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
