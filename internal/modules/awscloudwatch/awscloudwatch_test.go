package awscloudwatch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestLogGroupLifecycle(t *testing.T) {
	t.Parallel()
	resource := newLogGroup(awstest.Clients(t))
	scope := awstest.Scope("us-west-2")
	// One whose name begins like the other's is another.
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, resource, permit, scope,
		modules.Row{"log_group_name": modules.Text("/app/web-old")}, ""); err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: resource,
		Scope:    scope,
		Want: modules.Row{
			"log_group_name": modules.Text("/app/web"), "retention_in_days": modules.Int(7), "kms_key_id": modules.Null,
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"retention_in_days": {modules.Int(30), modules.Null},
			"tags":              {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},
		},
		// of the policies moto tells no state: TestSent
		Elsewhere: []string{"kms_key_id", "data_protection_policy"}, // TestLogGroupKey
		Calls:     map[string]int{"tags": 2},
	})
	if _, err := awstest.Create(ctx, resource, permit, scope,
		modules.Row{"log_group_name": modules.Text("/app/web-old")}, ""); err == nil ||
		modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
}

// TestLogGroupKey: a key is changed in place, and the logs stay. Moto has neither
// call; this answers them as the CloudWatch Logs API Reference has it (JSON 1.1,
// operations named by X-Amz-Target, empty answers).
func TestLogGroupKey(t *testing.T) {
	t.Parallel()
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		calls = append(calls, strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "Logs_20140328.")+" "+string(body))
		w.Header().Set("x-amzn-RequestId", "4442587f-b7d0-a2f9") // which every answer has
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	}))
	t.Cleanup(server.Close)
	resource := newLogGroup(awstest.Fake(server.URL))
	if resource.Table().Column("kms_key_id").CreateOnly {
		t.Error("changing the key replaces the log group, and its logs are gone")
	}
	ctx, permit := t.Context(), awstest.Permit()
	have := modules.Row{"log_group_name": modules.Text("/app"),
		"kms_key_id": modules.Text("arn:aws:kms:us-west-2:123456789012:key/old")}
	for _, key := range []modules.Value{modules.Text("arn:aws:kms:us-west-2:123456789012:key/new"), modules.Null} {
		if err := awstest.Update(ctx, resource, permit, awstest.Scope("us-west-2"), have,
			modules.Row{"log_group_name": have["log_group_name"], "kms_key_id": key}, []string{"kms_key_id"}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{
		`AssociateKmsKey {"kmsKeyId":"arn:aws:kms:us-west-2:123456789012:key/new","logGroupName":"/app"}`,
		`DisassociateKmsKey {"logGroupName":"/app"}`,
	}; !slices.Equal(calls, want) {
		t.Errorf("calls: %q, want %q", calls, want)
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

func TestMetricAlarmLifecycle(t *testing.T) {
	t.Parallel()
	text, number := modules.Text, modules.Int[int]
	topics := document(t, `["arn:aws:sns:us-west-2:123456789012:ops","arn:aws:sns:us-west-2:123456789012:web"]`)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newMetricAlarm(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"alarm_name": text("busy"), "actions_enabled": modules.Bool(true),
			"comparison_operator": text("GreaterThanThreshold"),
			"threshold":           text("80.5"), "evaluation_periods": number(3), "namespace": text("AWS/EC2"),
			"metric_name": text("CPUUtilization"),
			"dimensions":  document(t, `[{"Name":"InstanceId","Value":"i-1"},{"Name":"A","Value":"b"}]`),
			"period":      number(60), "statistic": text("Average"), "treat_missing_data": text("missing"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"alarm_description":                    {text("too busy"), modules.Null},
			"actions_enabled":                      {modules.Bool(false)},
			"alarm_actions":                        {topics, modules.Null},
			"ok_actions":                           {topics},
			"insufficient_data_actions":            {topics},
			"comparison_operator":                  {text("LessThanThreshold")},
			"threshold":                            {text("0.5")},
			"evaluation_periods":                   {number(5)},
			"datapoints_to_alarm":                  {number(4), modules.Null},
			"namespace":                            {text("Mine")},
			"metric_name":                          {text("Other")},
			"dimensions":                           {document(t, `[{"Name":"A","Value":"c"}]`), modules.Null},
			"period":                               {number(120)},
			"statistic":                            {text("Maximum"), modules.Null},
			"extended_statistic":                   {text("p99")},
			"evaluate_low_sample_count_percentile": {text("ignore")},
			"unit":                                 {text("Percent"), modules.Null},
			"treat_missing_data":                   {text("breaching"), text("missing")},
			"tags": {modules.StringMap(map[string]string{"a": "1", "b": "2"}),
				modules.Null},
		},
		// instead of a metric: TestMetricAlarmOfMetrics, or a query: TestUnions. moto has neither it nor windows
		Elsewhere: []string{"metrics", "threshold_metric_id", "evaluation_criteria", "evaluation_interval",
			"evaluation_window"},
		Calls: map[string]int{"tags": 2},
	})
}

// moto leaves out the unit of a computation's metrics.
func TestMetricAlarmOfMetrics(t *testing.T) {
	t.Parallel()
	r, scope := newMetricAlarm(awstest.Clients(t)), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	const stat = `"MetricStat":{"Metric":{"Namespace":"AWS/EC2","MetricName":"CPUUtilization","Dimensions":[{"Name":"a","Value":"b"}]},"Period":60,"Stat":"p99"}`
	want := modules.Row{
		"alarm_name": modules.Text("odd"), "actions_enabled": modules.Bool(true), "evaluation_periods": modules.Int(1),
		"comparison_operator": modules.Text("GreaterThanUpperThreshold"), "threshold_metric_id": modules.Text("band"),
		"treat_missing_data": modules.Text("missing"),
		"metrics": document(t, `[{"Id":"m",`+stat+
			`},{"Id":"band","Expression":"ANOMALY_DETECTION_BAND(m, 2)","Label":"band"}]`),
	}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	for _, metrics := range []string{want["metrics"].String(),
		`[{"Id":"m",` + stat + `},{"Id":"band","Expression":"ANOMALY_DETECTION_BAND(m, 3)","ReturnData":true}]`} {
		want["metrics"] = document(t, metrics)
		if err := awstest.Update(ctx, r, permit, scope, want, want, []string{"metrics"}); err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{want})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		for column, v := range want {
			if !r.Table().Column(column).Same(rows[0][column], v) {
				t.Errorf("%s is %v, want %v", column, rows[0][column], v)
			}
		}
	}
	want["metrics"] = document(t, `[{"Id":"m","Expresion":"1"}]`)
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a member that there is not: %v, want class %s", err, modules.Invalid)
	}
}

// What the emulator lacks is sent as AWS's API references have it.
func TestSent(t *testing.T) {
	t.Parallel()
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newLogGroup(c) },
		modules.Row{"log_group_name": modules.Text("g")},
		modules.Row{"data_protection_policy": modules.Text(`{"Name":"p"}`)}, `{}`, "data_protection_policy")
	if want := []string{`PutDataProtectionPolicy {"logGroupIdentifier":"g","policyDocument":"{\"Name\":\"p\"}"}`}; !slices.Equal(calls, want) {
		t.Errorf("made the calls %q, want %q", calls, want)
	}
}
