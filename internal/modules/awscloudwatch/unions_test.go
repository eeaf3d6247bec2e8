package awscloudwatch

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// alarms is a CloudWatch with one alarm, as its query protocol has it; moto has neither queries nor windows. sent is
// what the last PutMetricAlarm says.
func alarms(t *testing.T, members *string, sent *url.Values) *declare.Resource {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch action := r.Form.Get("Action"); action {
		case "DescribeAlarms":
			fmt.Fprintf(w, `<DescribeAlarmsResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><DescribeAlarmsResult><MetricAlarms><member><AlarmName>a</AlarmName><AlarmArn>arn:aws:cloudwatch:us-east-1:123456789012:alarm:a</AlarmArn><ActionsEnabled>true</ActionsEnabled>%s</member></MetricAlarms></DescribeAlarmsResult></DescribeAlarmsResponse>`, *members)
		case "ListTagsForResource":
			fmt.Fprint(w, `<ListTagsForResourceResponse><ListTagsForResourceResult><Tags/></ListTagsForResourceResult></ListTagsForResourceResponse>`)
		default:
			*sent = maps.Clone(r.Form)
			fmt.Fprintf(w, `<%sResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></%sResponse>`, action, action)
		}
	}))
	t.Cleanup(server.Close)
	return newMetricAlarm(awstest.Fake(server.URL))
}

func readAlarm(t *testing.T, r *declare.Resource) modules.Row {
	t.Helper()
	rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{{"alarm_name": modules.Text("a")}})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	return rows[0]
}

// says returns what a call says, of the members that begin so.
func says(sent url.Values, prefix string) []string {
	var list []string
	for key := range sent {
		if strings.HasPrefix(key, prefix) {
			list = append(list, key+"="+sent.Get(key))
		}
	}
	slices.Sort(list)
	return list
}

// A query, and a window, are read, changed, taken away, and sent again when something else is changed.
func TestUnions(t *testing.T) {
	t.Parallel()
	const rest = `<WarmUpConfiguration><WarmUpPeriodDurationInMinutes>5</WarmUpPeriodDurationInMinutes></WarmUpConfiguration>`
	for _, c := range []struct {
		column, members, value, other string
		prefix                        string
		same, changed                 []string
	}{
		{"evaluation_criteria",
			`<EvaluationCriteria><PromQLCriteria><Query>up == 0</Query><PendingPeriod>60</PendingPeriod></PromQLCriteria></EvaluationCriteria><EvaluationInterval>60</EvaluationInterval>`,
			`{"PromQLCriteria":{"Query":"up == 0","PendingPeriod":60}}`, `{"PromQLCriteria":{"Query":"up == 1","RecoveryPeriod":30}}`,
			"EvaluationCriteria",
			[]string{"EvaluationCriteria.PromQLCriteria.PendingPeriod=60", "EvaluationCriteria.PromQLCriteria.Query=up == 0"},
			[]string{"EvaluationCriteria.PromQLCriteria.Query=up == 1", "EvaluationCriteria.PromQLCriteria.RecoveryPeriod=30"}},
		{"evaluation_window",
			`<EvaluationWindow><WallClockWindow><Timezone>Europe/Berlin</Timezone></WallClockWindow></EvaluationWindow>`,
			`{"WallClockWindow":{"Timezone":"Europe/Berlin"}}`, `{"WallClockWindow":{"Timezone":"UTC"}}`, "EvaluationWindow",
			[]string{"EvaluationWindow.WallClockWindow.Timezone=Europe/Berlin"},
			[]string{"EvaluationWindow.WallClockWindow.Timezone=UTC"}},
	} {
		members, sent := c.members+rest, url.Values{}
		r := alarms(t, &members, &sent)
		have := readAlarm(t, r)
		if !r.Table().Column(c.column).Same(have[c.column], document(t, c.value)) {
			t.Errorf("%s is %s, want %s", c.column, have[c.column], c.value)
		}
		update := func(column string, v modules.Value) {
			t.Helper()
			want := have.Clone()
			want[column] = v
			if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), have, want, []string{column}); err != nil {
				t.Fatal(err)
			}
			if got := says(sent, "WarmUp"); !slices.Equal(got, []string{"WarmUpConfiguration.WarmUpPeriodDurationInMinutes=5"}) {
				t.Errorf("the rest is sent as %q", got)
			}
		}
		update("alarm_description", modules.Text("d"))
		if got := says(sent, c.prefix); !slices.Equal(got, c.same) {
			t.Errorf("unchanged: %q, want %q", got, c.same)
		}
		update(c.column, document(t, c.other))
		if got := says(sent, c.prefix); !slices.Equal(got, c.changed) {
			t.Errorf("changed: %q, want %q", got, c.changed)
		}
		update(c.column, modules.Null)
		if got := says(sent, c.prefix); len(got) > 0 {
			t.Errorf("taken away: %q", got)
		}
		members = rest
		if v := readAlarm(t, r)[c.column]; !v.IsNull() {
			t.Errorf("%s is %s without one", c.column, v)
		}
	}
}

// A window that slides is none, and one without a time zone is in UTC (page WallClockWindow).
func TestWindow(t *testing.T) {
	t.Parallel()
	members, sent := `<EvaluationWindow><SlidingWindow/></EvaluationWindow>`, url.Values{}
	r := alarms(t, &members, &sent)
	if v := readAlarm(t, r)["evaluation_window"]; !v.IsNull() {
		t.Errorf("it is %s", v)
	}
	members = `<EvaluationWindow><WallClockWindow/></EvaluationWindow>`
	if v := readAlarm(t, r)["evaluation_window"]; !r.Table().Column("evaluation_window").Same(v, document(t, `{"WallClockWindow":{"Timezone":"UTC"}}`)) {
		t.Errorf("it is %s", v)
	}
	row := modules.Row{"alarm_name": modules.Text("a"), "evaluation_interval": modules.Int(60),
		"evaluation_criteria": document(t, `{"PromQLCriteria":{"Query":"up == 0"}}`)}
	if _, err := awstest.Create(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), row, ""); err != nil ||
		!slices.Equal(says(sent, "Evaluation"), []string{"EvaluationCriteria.PromQLCriteria.Query=up == 0", "EvaluationInterval=60"}) {
		t.Errorf("got %v, and %q", err, says(sent, "Evaluation"))
	}
}
