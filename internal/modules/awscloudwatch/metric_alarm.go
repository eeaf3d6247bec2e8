package awscloudwatch

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// alarmsPageSize is the most alarms DescribeAlarms gives a page, and takes the
// names of.
const alarmsPageSize = 100

// newMetricAlarm declares the table metric_alarm. The limits are those of the
// page PutMetricAlarm of the CloudWatch API Reference.
func newMetricAlarm(c *aws.Clients) *declare.Resource {
	actions := func(name, member, when string) declare.Column {
		return declare.JSON(name, member, "What is done when its state becomes "+when+
			": up to five ARNs, such as of SNS topics, a JSON array.").
			Unordered().EmptyIsNull().Check("jsonb_typeof(" + name + ") = 'array' AND jsonb_array_length(" +
			name + ") <= 5")
	}
	return declare.New(c, declare.Table[cwtypes.MetricAlarm]{
		Name: "metric_alarm",
		Doc: "Alarms on metrics. What AWS keeps of an alarm and no column shows stays as it is when the alarm is " +
			"changed.",
		// The query protocol is one of those that CloudWatch understands and, unlike
		// the SDK's choice, emulators too.
		Service: declare.Service(cloudwatch.NewFromConfig, func(o *cloudwatch.Options) {
			o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801)
		}),
		Columns: []declare.Column{
			declare.Name("alarm_name", "AlarmName", "The alarm's name.").Length(1, 255),
			declare.Text("alarm_description", "AlarmDescription", "What it is about, up to 1024 characters.").Length(1,
				1024),
			declare.Bool("actions_enabled", "ActionsEnabled",
				"Whether its actions are done. Default true.").Default("true"),
			actions("alarm_actions", "AlarmActions", "ALARM"),
			actions("ok_actions", "OKActions", "OK"),
			actions("insufficient_data_actions", "InsufficientDataActions", "INSUFFICIENT_DATA"),
			declare.Text("comparison_operator", "ComparisonOperator",
				"How the metric is compared with the threshold.").OneOf(
				declare.Values(cwtypes.ComparisonOperator("").Values())...),
			declare.Double("threshold", "Threshold", "What the metric is compared with."),
			declare.Text("threshold_metric_id", "ThresholdMetricId",
				"The Id of the member of metrics that is an ANOMALY_DETECTION_BAND, which the metric is compared "+
					"with instead."),
			declare.Integer("evaluation_periods", "EvaluationPeriods",
				"Over how many periods the metric is compared.").Check("evaluation_periods >= 1"),
			declare.Integer("datapoints_to_alarm", "DatapointsToAlarm",
				"In how many of them it must be beyond the threshold. NULL: in all.").Check("datapoints_to_alarm >= 1"),
			declare.Text("namespace", "Namespace",
				"The metric's namespace, such as AWS/EC2. NULL where metrics says what is compared.").Length(1, 255),
			declare.Text("metric_name", "MetricName", "The metric's name, such as CPUUtilization.").Length(1, 255),
			declare.JSON("dimensions", "Dimensions",
				`The metric's dimensions, such as [{"Name": "InstanceId", "Value": "i-0a1b2c3d"}].`).
				Unordered().EmptyIsNull().Check("jsonb_typeof(dimensions) = 'array'"),
			declare.Integer("period", "Period",
				"How many seconds a period has: 10, 20, 30 or a multiple of 60.").Check(
				"period IN (10, 20, 30) OR period % 60 = 0 AND period > 0"),
			declare.Text("statistic", "Statistic",
				"The statistic of the metric's values in a period.").OneOf(
				declare.Values(cwtypes.Statistic("").Values())...),
			declare.Text("extended_statistic", "ExtendedStatistic", "Another statistic instead, such as p99."),
			declare.Text("unit", "Unit", "Only values of this unit count. NULL: all.").OneOf(
				declare.Values(cwtypes.StandardUnit("").Values())...),
			declare.JSON("metrics", "Metrics",
				`A computation on metrics, in the words of the API, instead of one metric, such as [{"Id": "e", "Expression": "m * 2"}, {"Id": "m", "ReturnData": false, "MetricStat": {"Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}, "Period": 60, "Stat": "p99"}}].`).
				Same(sameMetrics).EmptyIsNull().Check("jsonb_typeof(metrics) = 'array'").
				As(declare.Codec{Encode: func(v modules.Value) (any, error) { return metricsOf(v) }}),
			declare.Text("treat_missing_data", "TreatMissingData", "What missing values count as. Default missing.").
				Default("'missing'").OneOf("breaching", "notBreaching", "ignore",
				"missing").Usual(modules.Text("missing")),
			declare.Text("evaluate_low_sample_count_percentile", "EvaluateLowSampleCountPercentile",
				"Whether a percentile of too few values counts. NULL: it does.").OneOf("evaluate", "ignore"),
			declare.JSON("evaluation_criteria", "EvaluationCriteria",
				`A PromQL query that says when it is in ALARM, instead of what is compared with a threshold: {"PromQLCriteria": {"Query": "…", "PendingPeriod": 300}}.`).
				As(criteria).Same(declare.Alike[criteriaDocument](nil)).
				Check("evaluation_criteria ? 'PromQLCriteria'").Since(4),
			declare.Integer("evaluation_interval", "EvaluationInterval",
				"Every how many seconds such a query is evaluated: 10, 20, 30 or a multiple of 60.").Check(
				"(evaluation_interval IN (10, 20, 30) OR evaluation_interval % 60 = 0 AND evaluation_interval > 0)").
				Since(4),
			declare.JSON("evaluation_window", "EvaluationWindow",
				`Has its periods begin with the hour, the day or the week of a time zone: {"WallClockWindow": {"Timezone": "America/New_York"}}. NULL: they slide.`).
				As(window).Same(declare.Alike(inUTC)).Check("evaluation_window ? 'WallClockWindow'").Since(4),
			declare.ARN("alarm_arn", "AlarmArn"),
			declare.Text("state_value", "StateValue", "Its state: OK, ALARM or INSUFFICIENT_DATA.").Computed(),
			declare.Text("state_reason", "StateReason", "Why it is in that state.").Computed(),
			declare.Time("state_updated_timestamp", "StateUpdatedTimestamp", "Since when."),
			declare.Tags("Tags", (*cloudwatch.Client).TagResource,
				(*cloudwatch.Client).UntagResource).From(
				declare.Call((*cloudwatch.Client).ListTagsForResource)).Together("cloudwatch:alarm", "alarm_arn"),
		},
		Checks: []string{
			"statistic IS NULL OR extended_statistic IS NULL",
			"metrics IS NULL OR num_nonnulls(namespace, metric_name, dimensions, period, statistic, " +
				"extended_statistic, unit) = 0",
			"evaluation_criteria IS NULL OR num_nonnulls(namespace, metric_name, dimensions, period, statistic, " +
				"extended_statistic, unit, metrics, threshold, threshold_metric_id, comparison_operator, " +
				"evaluation_periods, datapoints_to_alarm, evaluation_window) = 0",
			"(evaluation_criteria IS NULL) = (evaluation_interval IS NULL)",
		},
		Published:           declare.Published{Type: "AWS::CloudWatch::Alarm", Since: 4},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("monitoring.amazonaws.com",
			modules.Request("alarmNames", "EnableAlarmActions", "DisableAlarmActions"),
			modules.Request("alarmName", "SetAlarmState"),
		),
		List: declare.Pages(cloudwatch.NewDescribeAlarmsPaginator, "MetricAlarms",
			declare.Fill(func(_ *declare.Step, in *cloudwatch.DescribeAlarmsInput) {
				in.AlarmTypes, in.MaxRecords = []cwtypes.AlarmType{cwtypes.AlarmTypeMetricAlarm},
					awssdk.Int32(alarmsPageSize)
			})),
		Get:    declare.Named("AlarmNames", alarmsPageSize),
		Create: declare.Call((*cloudwatch.Client).PutMetricAlarm),
		Updates: []declare.Update{declare.Replace(declare.Call((*cloudwatch.Client).PutMetricAlarm,
			declare.Edit(keepRest)))},
		Delete: declare.Call((*cloudwatch.Client).DeleteAlarms, declare.From("AlarmNames[0]", "alarm_name")),
	})
}

// metricsOf reads the column metrics.
func metricsOf(v modules.Value) ([]cwtypes.MetricDataQuery, error) {
	var queries []cwtypes.MetricDataQuery
	err := aws.ParseDocument("metrics", v, &queries)
	for i := range queries {
		if queries[i].ReturnData == nil {
			queries[i].ReturnData = awssdk.Bool(true) // page MetricDataQuery
		}
	}
	slices.SortFunc(queries, func(a, b cwtypes.MetricDataQuery) int {
		return strings.Compare(awssdk.ToString(a.Id), awssdk.ToString(b.Id))
	})
	return queries, err
}

func sameMetrics(a, b string) bool {
	var texts [2]modules.Value
	for i, text := range []string{a, b} {
		queries, err := metricsOf(modules.Text(text))
		if err != nil {
			return false
		}
		if texts[i], err = aws.Document(queries); err != nil {
			return false
		}
	}
	return texts[0] == texts[1]
}

// keepRest reads what no column shows, and sends it again: a change replaces the
// whole alarm.
func keepRest(ctx context.Context, s *declare.Step, in *cloudwatch.PutMetricAlarmInput) error {
	out, err := declare.ClientOf[*cloudwatch.Client](s).DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNames: []string{*in.AlarmName}, AlarmTypes: []cwtypes.AlarmType{cwtypes.AlarmTypeMetricAlarm},
	})
	if err != nil {
		return err
	}
	for _, a := range out.MetricAlarms {
		in.ActionConfiguration, in.WarmUpConfiguration = a.ActionConfiguration, a.WarmUpConfiguration
		// Of a kind that no column can show, or that is what AWS means by none.
		if in.EvaluationCriteria == nil && !s.Changes("evaluation_criteria") {
			in.EvaluationCriteria = a.EvaluationCriteria
		}
		if in.EvaluationWindow == nil && !s.Changes("evaluation_window") {
			in.EvaluationWindow = a.EvaluationWindow
		}
	}
	return nil
}

// criteriaDocument is what the column evaluation_criteria holds: of a union, the one member that there is.
type criteriaDocument struct{ PromQLCriteria *cwtypes.AlarmPromQLCriteria }

// criteria are read and written as the member of the union that they are. One that the SDK does not know is not shown.
var criteria = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		switch m := member.(type) {
		case cwtypes.EvaluationCriteriaMemberPromQLCriteria:
			return aws.Document(criteriaDocument{&m.Value})
		case *cwtypes.EvaluationCriteriaMemberPromQLCriteria:
			return aws.Document(criteriaDocument{&m.Value})
		}
		return modules.Null, nil
	},
	Encode: func(v modules.Value) (any, error) {
		var d criteriaDocument
		if err := aws.ParseDocument("evaluation_criteria", v, &d); err != nil || d.PromQLCriteria == nil {
			return nil, err
		}
		return &cwtypes.EvaluationCriteriaMemberPromQLCriteria{Value: *d.PromQLCriteria}, nil
	},
}

// windowDocument is what the column evaluation_window holds: a window that slides, as one does without it, is none.
type windowDocument struct{ WallClockWindow *cwtypes.WallClockWindow }

// window is read and written as the member of the union that it is.
var window = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		d := windowDocument{}
		switch m := member.(type) {
		case cwtypes.EvaluationWindowMemberWallClockWindow:
			d.WallClockWindow = &m.Value
		case *cwtypes.EvaluationWindowMemberWallClockWindow:
			d.WallClockWindow = &m.Value
		default:
			return modules.Null, nil
		}
		inUTC(&d)
		return aws.Document(d)
	},
	Encode: func(v modules.Value) (any, error) {
		var d windowDocument
		if err := aws.ParseDocument("evaluation_window", v, &d); err != nil || d.WallClockWindow == nil {
			return nil, err
		}
		return &cwtypes.EvaluationWindowMemberWallClockWindow{Value: *d.WallClockWindow}, nil
	},
}

// inUTC fills in the time zone that is meant where none is said (page WallClockWindow).
func inUTC(d *windowDocument) {
	if d.WallClockWindow != nil && d.WallClockWindow.Timezone == nil {
		utc := "UTC"
		d.WallClockWindow.Timezone = &utc
	}
}
