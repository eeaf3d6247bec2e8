package awskinesis

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestStreamLifecycle(t *testing.T) {
	t.Parallel()
	number := modules.Int[int]
	awstest.Lifecycle(t, awstest.Case{
		Resource: newStream(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"name": modules.Text("orders"), "stream_mode": modules.Text("PROVISIONED"), "shard_count": number(2),
			"retention_period_hours": number(24), "tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"shard_count":            {number(4), number(3)},
			"retention_period_hours": {number(48), number(36)},
			"kms_key_id":             {modules.Text("alias/aws/kinesis"), modules.Text("alias/mine"), modules.Null},
			"shard_level_metrics": {
				modules.Strings([]string{"IncomingBytes", "OutgoingBytes"}),
				modules.Strings([]string{"OutgoingBytes", "IncomingRecords"}), modules.Null,
			},
		},
		Elsewhere: []string{"stream_mode", "max_record_size_in_kib", // TestChanges
			"warm_throughput_mi_bps"}, // which moto lacks: TestSent
		Calls: map[string]int{"shard_level_metrics": 2},
	})
}

// fakeKinesis answers as the Kinesis API Reference has it (JSON 1.1, operations
// named by X-Amz-Target). In moto streams are made and deleted at once.
type fakeKinesis struct {
	mu     sync.Mutex
	calls  []string
	answer func(operation string) (out map[string]any, code string)
}

func (f *fakeKinesis) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "Kinesis_20131202.")
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	delete(in, "StreamName")
	call, _ := json.Marshal(in)
	f.calls = append(f.calls, operation+" "+string(call))
	out, code := f.answer(operation)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": code, "message": "it is so"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// moto keeps no record size, and counts no shards of an ON_DEMAND stream.
func TestChanges(t *testing.T) {
	t.Parallel()
	fake := &fakeKinesis{answer: func(string) (map[string]any, string) { return map[string]any{}, "" }}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	r, ctx, permit := newStream(awstest.Fake(server.URL)), t.Context(), awstest.Permit()
	have := modules.Row{"name": modules.Text("s"), "arn": modules.Text("arn"), "stream_mode": modules.Text("ON_DEMAND"),
		"kms_key_id": modules.Text("old")}
	want := modules.Row{"name": modules.Text("s"), "stream_mode": modules.Text("PROVISIONED"),
		"shard_count": modules.Int(4), "max_record_size_in_kib": modules.Int(2048), "kms_key_id": modules.Null}
	if err := awstest.Update(ctx, r, permit, awstest.Scope("us-west-2"), have, want,
		[]string{"stream_mode", "shard_count", "max_record_size_in_kib", "kms_key_id"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		`UpdateStreamMode {"StreamARN":"arn","StreamModeDetails":{"StreamMode":"PROVISIONED"}}`,
		`UpdateShardCount {"ScalingType":"UNIFORM_SCALING","StreamARN":"arn","TargetShardCount":4}`,
		`UpdateMaxRecordSize {"MaxRecordSizeInKiB":2048,"StreamARN":"arn"}`,
		`StopStreamEncryption {"EncryptionType":"KMS","KeyId":"old","StreamARN":"arn"}`,
	}; !slices.Equal(fake.calls, want) {
		t.Errorf("made the calls %q, want %q", fake.calls, want)
	}
}

// A stream that is being deleted is there, and its name is not free. One that is
// being made does not tell how many shards it will have.
func TestStates(t *testing.T) {
	t.Parallel()
	status, mode := "ACTIVE", "ON_DEMAND"
	fake := &fakeKinesis{answer: func(operation string) (map[string]any, string) {
		switch operation {
		case "ListStreams":
			return map[string]any{"StreamNames": []string{"s"}, "HasMoreStreams": false}, ""
		case "DescribeStreamSummary":
			return map[string]any{"StreamDescriptionSummary": map[string]any{
				"StreamName": "s", "StreamStatus": status, "OpenShardCount": 4,
				"StreamModeDetails":  map[string]any{"StreamMode": mode},
				"EnhancedMonitoring": []any{map[string]any{"ShardLevelMetrics": []string{"ALL"}}},
			}}, ""
		case "ListTagsForStream":
			return map[string]any{"Tags": []any{}, "HasMoreTags": false}, ""
		}
		return nil, "ResourceInUseException"
	}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	r, scope, ctx, permit := newStream(awstest.Fake(server.URL)), awstest.Scope("us-west-2"), t.Context(),
		awstest.Permit()
	want := modules.Row{"name": modules.Text("s"), "stream_mode": modules.Text("ON_DEMAND")}
	check := func(going bool, create, remove modules.Class) {
		t.Helper()
		var rows []modules.Row
		if err := awstest.List(ctx, r, scope, func(page []modules.Row) error {
			rows = append(rows, page...)
			return nil
		}); err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		if !rows[0]["shard_count"].IsNull() || rows[0]["open_shard_count"] != modules.Int(4) ||
			len(rows[0]["shard_level_metrics"].Strings()) != len(metrics) ||
			(awstest.Phase(r, rows[0]) == modules.Going) != going {
			t.Errorf("got %v", rows[0])
		}
		if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err == nil || modules.ClassOf(err) != create {
			t.Errorf("create: got %v, want class %s", err, create)
		}
		if err := awstest.Delete(ctx, r, permit, scope, want); err == nil != going || err != nil &&
			modules.ClassOf(err) != remove {
			t.Errorf("delete: got %v, want class %s", err, remove)
		}
	}
	check(false, modules.Exists, modules.Dependency) // it has consumers
	status = "DELETING"
	check(true, modules.Dependency, modules.Dependency)
	status, mode = "CREATING", "PROVISIONED"
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{want})
	if _, told := rows[0]["shard_count"]; err != nil || told || awstest.Phase(r, rows[0]) != modules.Forming {
		t.Errorf("got %v, %v", rows, err)
	}
}

// What the emulator lacks is sent as AWS's API references have it.
func TestSent(t *testing.T) {
	t.Parallel()
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newStream(c) },
		modules.Row{"name": modules.Text("s"), "arn": modules.Text("arn:aws:kinesis:us-east-1:1:stream/s")},
		modules.Row{"warm_throughput_mi_bps": modules.Int(5)}, `{}`, "warm_throughput_mi_bps")
	if want := []string{`UpdateStreamWarmThroughput {"StreamARN":"arn:aws:kinesis:us-east-1:1:stream/s","StreamName":"s","WarmThroughputMiBps":5}`}; !slices.Equal(calls, want) {
		t.Errorf("made the calls %q, want %q", calls, want)
	}
}
