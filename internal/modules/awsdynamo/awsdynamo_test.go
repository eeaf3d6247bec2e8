package awsdynamo

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func parse(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTableLifecycle(t *testing.T) {
	t.Parallel()
	resource := newTable(awstest.Clients(t))
	// moto has no table classes: neither CreateTable nor UpdateTable keeps
	// TableClass. TestTableRow reads it.
	resource.Table().Column("table_class").CreateOnly = true
	awstest.Lifecycle(t, awstest.Case{
		Resource: resource,
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"table_name": modules.Text("events"), "primary_key": parse(t, `{"user":"S","at":"N","range":"at"}`),
			"throughput": modules.Text(onDemand), "table_class": modules.Text("STANDARD"),
			"stream_view_type":       modules.Null,
			"time_to_live_attribute": modules.Null, "deletion_protection_enabled": modules.Bool(false),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		// moto changes none of these: TestIndexesChange and TestSettingsOfATable do.
		Elsewhere: []string{"attribute_definitions", "global_secondary_indexes", "on_demand_throughput",
			"warm_throughput", "sse_specification", "contributor_insights_mode", "kinesis_stream_specification"},
		Changes: map[string][]modules.Value{
			"throughput": {parse(t, `{"ReadCapacityUnits":3,"WriteCapacityUnits":4}`),
				modules.Text(onDemand)},
			"stream_view_type":            {modules.Text("KEYS_ONLY"), modules.Null},
			"time_to_live_attribute":      {modules.Text("expires"), modules.Null},
			"point_in_time_recovery_days": {modules.Int(7), modules.Int(35), modules.Null},
			"policy":                      {parse(t, `{"Version":"2012-10-17","Statement":[]}`), modules.Null},
			"deletion_protection_enabled": {modules.Bool(true), modules.Bool(false)},
			"tags":                        {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

func TestTableExists(t *testing.T) {
	t.Parallel()
	r, scope := newTable(awstest.Clients(t)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	row := modules.Row{"table_name": modules.Text("one"), "primary_key": parse(t, `{"id":"S"}`),
		"throughput": modules.Text(onDemand)}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("got %v, want class %s", err, modules.Exists)
	}
}

func TestTableRow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			fmt.Fprint(w, `{"Table":{"TableName":"t","TableArn":"arn","TableClassSummary":{"TableClass":"STANDARD_INFREQUENT_ACCESS"}}}`)
			return
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTimeToLive") {
			fmt.Fprint(w, `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
			return
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeContinuousBackups") {
			fmt.Fprint(w, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED"}}`)
			return
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeKinesisStreamingDestination") {
			fmt.Fprint(w, `{"KinesisDataStreamDestinations":[]}`)
			return
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	rows, err := awstest.Get(t.Context(), newTable(awstest.Fake(server.URL)), awstest.Scope("us-east-1"),
		[]modules.Row{{"table_name": modules.Text("t")}})
	if err != nil || len(rows) != 1 || rows[0]["table_class"].String() != "STANDARD_INFREQUENT_ACCESS" {
		t.Errorf("got %v, %v", rows, err)
	}
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"S"}`:                    "id",
		`{"a":"S","b":"N"}`:             "a b",
		`{"a":"S","b":"N","range":"a"}`: "b a",
		`{"a":"S","range":"a"}`:         "",
		`{}`:                            "",
		`{"a":"S","b":"N","c":"N"}`:     "",
	} {
		k, err := keyOf(text)
		got := ""
		for i, a := range k {
			if i > 0 {
				got += " "
			}
			got += a.name
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	if !sameKey(`{"a":"S","b":"N"}`, `{"a":"S","b":"N","range":"b"}`) ||
		sameKey(`{"a":"S","b":"N"}`, `{"a":"S","b":"N","range":"a"}`) {
		t.Error("takes keys for others")
	}
}

// DynamoDB takes a second change of the time to live an hour after the first, and
// says so as of a value that is wrong (page UpdateTimeToLive).
func TestTimeToLiveTwice(t *testing.T) {
	t.Parallel()
	const often = "Time to live has been modified multiple times within a fixed interval"
	for message, want := range map[string]modules.Error{
		often: {Class: modules.Dependency, RetryAfter: 10 * time.Minute},
		"Time to live has been modified multiple times within a fixed interval.": {Class: modules.Dependency,
			RetryAfter: 10 * time.Minute},
		"Invalid AttributeName": {Class: modules.Invalid},
	} {
		calls, others := 0, 0
		r := newTable(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
			"UpdateTimeToLive": func(awstest.Input) (any, error) {
				calls++
				return nil, awstest.Fault{Code: "ValidationException", Message: message}
			},
			"UpdateTable": func(awstest.Input) (any, error) { others++; return struct{}{}, nil },
		}))
		ctx, permit := t.Context(), awstest.Permit()
		have := modules.Row{"table_name": modules.Text("t"), "time_to_live_attribute": modules.Text("expires"),
			"deletion_protection_enabled": modules.Bool(false)}
		row := modules.Row{"table_name": modules.Text("t"), "time_to_live_attribute": modules.Null,
			"deletion_protection_enabled": modules.Bool(true)}
		err := awstest.Update(ctx, r, permit, awstest.Scope("us-east-1"), have, row,
			[]string{"time_to_live_attribute", "deletion_protection_enabled"})
		if others != 1 {
			t.Error("holds up another change of the table")
		}
		var e *modules.Error
		if !errors.As(err, &e) || e.Class != want.Class || e.RetryAfter != want.RetryAfter || e.Message != message ||
			calls != 1 {
			t.Errorf("%s: %v of class %s after %s, want %s after %s; %d calls", message, err, modules.ClassOf(err),
				e.RetryAfter, want.Class, want.RetryAfter, calls)
		}
	}
}
