package awsssm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestParameterLifecycle(t *testing.T) {
	t.Parallel()
	text := modules.Text
	awstest.Lifecycle(t, awstest.Case{
		Resource: newParameter(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"name": text("/app/url"), "type": text("String"), "value": text("http://one"),
			"description": text("of the app"),
			"data_type":   text("text"), "tier": text("Standard"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"value":           {text("http://two")},
			"description":     {text("of another app"), modules.Null},
			"allowed_pattern": {text("^http"), modules.Null},
			"data_type":       {text("aws:ec2:image"), text("text")},
			"tier":            {text("Advanced")},
		},
		Elsewhere: []string{"key_id", "policies"}, // TestSecret, TestPolicies
	})
}

// The value of a SecureString is written and never read.
func TestSecret(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	r := newParameter(clients)
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, ssm.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	want := modules.Row{"name": modules.Text("/app/password"), "type": modules.Text(secure),
		"secure_value": modules.Text("hunter1")}
	for i, value := range []string{"hunter1", "hunter2"} {
		want["secure_value"] = modules.Text(value)
		if i == 0 {
			_, err = awstest.Create(ctx, r, permit, scope, want, "")
		} else {
			err = awstest.Update(ctx, r, permit, scope, want, want, []string{"secure_value"})
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{want})
		if err != nil || len(rows) != 1 || !rows[0]["value"].IsNull() ||
			rows[0]["key_id"] != modules.Text("alias/aws/ssm") {
			t.Fatalf("got %v, %v", rows, err)
		}
		for column, v := range rows[0] {
			if strings.Contains(v.String(), "hunter") {
				t.Errorf("column %s shows the value: %s", column, v)
			}
		}
		out, err := client.GetParameter(ctx,
			&ssm.GetParameterInput{Name: awssdk.String("/app/password"), WithDecryption: awssdk.Bool(true)})
		if err != nil || *out.Parameter.Value != value {
			t.Errorf("got %v, %v, want %s", out, err, value)
		}
	}
	want["key_id"], want["secure_value"] = modules.Text("alias/mine"), modules.Null
	if err := awstest.Update(ctx, r, permit, scope, want, want, []string{"key_id"}); modules.ClassOf(err) != modules.Invalid || err == nil {
		t.Errorf("a change without the value: got %v, want class %s", err, modules.Invalid)
	}
	want["secure_value"] = modules.Text("hunter3")
	if err := awstest.Update(ctx, r, permit, scope, want, want, []string{"key_id", "secure_value"}); err != nil {
		t.Error(err)
	}
	if rows, err := awstest.Get(ctx, r, scope, []modules.Row{want}); err != nil || rows[0]["key_id"] != want["key_id"] {
		t.Errorf("got %v, %v", rows, err)
	}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
}

// Policies are read, set and removed; a change of something else does not send them, which leaves them as they are
// (page PutParameter, Policies). moto tells them in another form than AWS.
func TestPolicies(t *testing.T) {
	t.Parallel()
	const expiration = `{"Type":"Expiration","Version":"1.0","Attributes":{"Timestamp":"2030-01-01T00:00:00.000Z"}}`
	const notice = `{"Type":"NoChangeNotification","Version":"1.0","Attributes":{"After":"20","Unit":"Days"}}`
	var texts []string
	var sent []any
	r := newParameter(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"DescribeParameters": func(awstest.Input) (any, error) {
			var list []any
			for _, text := range texts {
				list = append(list, map[string]string{"PolicyText": text, "PolicyType": "any", "PolicyStatus": "Pending"})
			}
			return map[string]any{"Parameters": []any{map[string]any{"Name": "a", "Type": "String", "Tier": "Advanced", "Version": 1,
				"DataType": "text", "Policies": list}}}, nil
		},
		"GetParameters": func(awstest.Input) (any, error) {
			return map[string]any{"Parameters": []any{map[string]any{"Name": "a", "Type": "String", "Value": "v"}}}, nil
		},
		"ListTagsForResource": func(awstest.Input) (any, error) { return map[string]any{}, nil },
		"PutParameter": func(in awstest.Input) (any, error) {
			sent = append(sent, in["Policies"])
			if text := in.Text("Policies"); text == "[{}]" {
				texts = nil
			} else if text != "" {
				var list []json.RawMessage
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					t.Error(err)
				}
				texts = nil
				for _, one := range list {
					texts = append(texts, string(one))
				}
			}
			return map[string]any{"Version": 2, "Tier": "Advanced"}, nil
		},
	}))
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	identity := modules.Row{"name": modules.Text("a")}
	column := r.Table().Column("policies")
	for _, change := range []struct {
		column string
		value  modules.Value
		left   modules.Value
		sends  bool
	}{
		{"value", modules.Text("w"), modules.Null, false},
		{"policies", modules.Text("[" + expiration + "]"), modules.Text("[" + expiration + "]"), true},
		{"policies", modules.Text("[" + notice + "," + expiration + "]"), modules.Text("[" + expiration + ", " + notice + "]"), true},
		{"value", modules.Text("x"), modules.Text("[" + expiration + "," + notice + "]"), false},
		{"policies", modules.Null, modules.Null, true},
	} {
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		want := rows[0].Clone()
		want[change.column] = change.value
		if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), rows[0], want,
			[]string{change.column}); err != nil {
			t.Fatal(err)
		}
		if last := sent[len(sent)-1]; (last != nil) != change.sends {
			t.Errorf("%s to %v sends %v", change.column, change.value, last)
		}
		rows, err = awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{identity})
		if err != nil || !column.Same(rows[0]["policies"], change.left) {
			t.Errorf("%s to %v leaves %v, %v", change.column, change.value, rows, err)
		}
	}
	if samePolicies("["+expiration+"]", "["+notice+"]") || samePolicies("["+expiration+"]", "[]") {
		t.Error("other policies are taken for the same")
	}
}

// Pages may be empty and not the last; what has gone since is left out; values are
// asked for by ten, and those of SecureStrings not at all. This answers as the
// Systems Manager API Reference has it (JSON 1.1).
func TestPages(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		asked [][]any
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		out := map[string]any{}
		switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSSM.") {
		case "DescribeParameters":
			if in["NextToken"] == nil {
				out = map[string]any{"Parameters": []any{}, "NextToken": "two"}
				break
			}
			all := []any{}
			for _, name := range strings.Split("a b c d e f g h i j k untagged unvalued secret", " ") {
				kind := "String"
				if name == "secret" {
					kind = secure
				}
				all = append(all, map[string]any{"Name": name, "Type": kind, "Version": 1})
			}
			out["Parameters"] = all
		case "ListTagsForResource":
			if in["ResourceId"] == "untagged" {
				w.WriteHeader(http.StatusBadRequest)
				out["__type"] = "InvalidResourceId"
			}
		case "GetParameters":
			names := in["Names"].([]any)
			asked = append(asked, names)
			found := []any{}
			for _, name := range names {
				if name != "unvalued" {
					found = append(found, map[string]any{"Name": name, "Type": "String",
						"Value": "of " + name.(string)})
				}
			}
			out["Parameters"] = found
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	var rows []modules.Row
	if err := awstest.List(t.Context(), newParameter(awstest.Fake(server.URL)), awstest.Scope("us-east-1"),
		func(page []modules.Row) error { rows = append(rows, page...); return nil }); err != nil {
		t.Fatal(err)
	}
	if got, want := aws.Column(rows, "name"), strings.Split("a b c d e f g h i j k secret", " "); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(asked) != 2 || len(asked[0]) != 10 || rows[10]["value"] != modules.Text("of k") ||
		!rows[11]["value"].IsNull() {
		t.Errorf("asked for %v, got %v", asked, rows)
	}
}
