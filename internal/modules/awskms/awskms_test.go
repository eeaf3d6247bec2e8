package awskms

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newKey(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"description": modules.Text("of the app"), "key_spec": modules.Text("SYMMETRIC_DEFAULT"),
			"key_usage": modules.Text("ENCRYPT_DECRYPT"),
			"origin":    modules.Text("AWS_KMS"), "multi_region": modules.Bool(false), "enabled": modules.Bool(true),
			"enable_key_rotation": modules.Bool(false), "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"description": {modules.Text("of another app"), modules.Null},
			"policy":      {document(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"kms:*","Resource":"*"}]}`)},
		},
		Elsewhere: []string{"rotation_period_in_days"}, // TestRotation
	})
}

func TestAliasLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("eu-west-1")
	ctx, permit := t.Context(), awstest.Permit()
	var keys []modules.Value
	for range 2 {
		key, err := awstest.Create(ctx, newKey(clients), permit, scope, modules.Row{"description": modules.Text("one")},
			"")
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key["key_id"])
	}
	alias := newAlias(clients)
	awstest.Lifecycle(t, awstest.Case{
		Resource: alias, Scope: scope,
		Want:    modules.Row{"alias_name": modules.Text("alias/app/main"), "target_key_id": keys[0]},
		Changes: map[string][]modules.Value{"target_key_id": {keys[1], keys[0]}},
	})
	err := awstest.List(ctx, alias, scope, func(rows []modules.Row) error {
		if len(rows) > 0 {
			return fmt.Errorf("shows %v", rows)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// fakeKMS answers as the KMS API Reference has it (JSON 1.1, operations named by
// X-Amz-Target). moto keeps no rotation period, rotates any key, and deletes a key
// as often as it is asked to.
type fakeKMS struct {
	mu     sync.Mutex
	calls  []string
	answer func(operation string, in map[string]any) (out map[string]any, code string)
}

func (f *fakeKMS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	delete(in, "KeyId")
	call, _ := json.Marshal(in)
	f.calls = append(f.calls, operation+" "+string(call))
	out, code := f.answer(operation, in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": code, "message": "it is so"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func TestRotation(t *testing.T) {
	t.Parallel()
	fake := &fakeKMS{answer: func(string, map[string]any) (map[string]any, string) { return map[string]any{}, "" }}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	r, scope := newKey(awstest.Fake(server.URL)), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	for _, c := range []struct {
		enabled, rotate bool
		days            modules.Value
		columns, want   []string
	}{
		{true, true, modules.Int(180), []string{"enabled", "enable_key_rotation", "rotation_period_in_days"},
			[]string{`EnableKey {}`, `EnableKeyRotation {"RotationPeriodInDays":180}`}},
		{true, true, modules.Int(90), []string{"rotation_period_in_days"},
			[]string{`EnableKeyRotation {"RotationPeriodInDays":90}`}},
		{true, true, modules.Null, []string{"enable_key_rotation"}, []string{`EnableKeyRotation {}`}},
		// A disabled key's rotation cannot be changed.
		{false, false, modules.Null, []string{"enabled", "enable_key_rotation"},
			[]string{`DisableKeyRotation {}`, `DisableKey {}`}},
	} {
		fake.calls = nil
		want := modules.Row{"enabled": modules.Bool(c.enabled), "enable_key_rotation": modules.Bool(c.rotate),
			"rotation_period_in_days": c.days}
		if err := awstest.Update(ctx, r, permit, scope, modules.Row{"key_id": modules.Text("k")}, want, c.columns); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(fake.calls, c.want) {
			t.Errorf("made the calls %q, want %q", fake.calls, c.want)
		}
	}
}

// What cannot be rotated is not, a key of AWS's is not shown, and neither is one
// that waits for its deletion. One that may not be read is an error.
func TestReading(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{"KeyId": "k", "KeyManager": "CUSTOMER", "KeyState": "Enabled", "Enabled": true,
		"KeySpec": "RSA_2048", "KeyUsage": "SIGN_VERIFY", "Origin": "AWS_KMS"}
	denied, rotation := "", ""
	fake := &fakeKMS{answer: func(operation string, in map[string]any) (map[string]any, string) {
		switch operation {
		case "ListKeys":
			if in["Limit"] != 1000.0 {
				return nil, "ValidationException"
			}
			return map[string]any{"Keys": []any{map[string]any{"KeyId": "k"}}}, ""
		case "DescribeKey":
			return map[string]any{"KeyMetadata": metadata}, denied
		case "GetKeyRotationStatus":
			if metadata["KeySpec"] != "SYMMETRIC_DEFAULT" {
				return nil, "UnsupportedOperationException"
			}
			return map[string]any{"KeyRotationEnabled": true, "RotationPeriodInDays": 365}, rotation
		case "ListResourceTags":
			if in["Marker"] == nil {
				return map[string]any{"Tags": []any{map[string]any{"TagKey": "a", "TagValue": "1"}}, "Truncated": true,
					"NextMarker": "two"}, ""
			}
			return map[string]any{"Tags": []any{map[string]any{"TagKey": "b", "TagValue": "2"}}, "Truncated": false}, ""
		case "ScheduleKeyDeletion":
			return nil, "KMSInvalidStateException"
		}
		return map[string]any{}, ""
	}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	r, scope := newKey(awstest.Fake(server.URL)), awstest.Scope("us-west-2")
	list := func() (rows []modules.Row, err error) {
		err = awstest.List(t.Context(), r, scope, func(page []modules.Row) error {
			rows = append(rows, page...)
			return nil
		})
		return rows, err
	}
	rows, err := list()
	if err != nil || len(rows) != 1 || rows[0]["enable_key_rotation"] != modules.Bool(false) ||
		!rows[0]["rotation_period_in_days"].IsNull() ||
		rows[0]["tags"] != modules.StringMap(map[string]string{"a": "1", "b": "2"}) {
		t.Fatalf("got %v, %v", rows, err)
	}
	metadata["KeySpec"] = "SYMMETRIC_DEFAULT"
	if rows, err := list(); err != nil || rows[0]["rotation_period_in_days"] != modules.Int(365) {
		t.Errorf("got %v, %v", rows, err)
	}
	rotation = "NotFoundException" // and the key is there: nothing is known of its rotation
	if rows, err := list(); err != nil || len(rows) != 1 {
		t.Errorf("got %v, %v", rows, err)
	} else if v, told := rows[0]["rotation_period_in_days"]; told {
		t.Errorf("the rotation's period is %q", v)
	}
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Delete(ctx, r, permit, scope, rows[0]); err == nil {
		t.Error("a deletion that is refused is taken for one")
	}
	for _, state := range []string{"PendingDeletion", "PendingReplicaDeletion"} {
		metadata["KeyState"] = state
		if rows, err := list(); err != nil || len(rows) > 0 {
			t.Errorf("got %v, %v", rows, err)
		}
		if err := awstest.Delete(ctx, r, permit, scope, rows[0]); err != nil {
			t.Errorf("one that is being deleted: %v", err)
		}
	}
	metadata["KeyState"], metadata["KeyManager"] = "Enabled", "AWS"
	if rows, err := list(); err != nil || len(rows) > 0 {
		t.Errorf("got %v, %v", rows, err)
	}
	denied = "AccessDeniedException"
	if _, err := list(); err == nil || modules.ClassOf(err) != modules.Denied {
		t.Errorf("got %v, want class %s", err, modules.Denied)
	}
}
