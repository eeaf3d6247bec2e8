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
	"iasql/internal/modules"
)

// alarmsPageSize is the most alarms DescribeAlarms gives a page, and takes the
// names of.
const alarmsPageSize = 100

// missing is what alarms do about missing data unless told otherwise.
const missing = "missing"

// metricAlarm is the table metric_alarm.
type metricAlarm struct {
	clients     *aws.Clients
	description *modules.Table
}

func newMetricAlarm(c *aws.Clients) *metricAlarm {
	return &metricAlarm{clients: c, description: describeMetricAlarm()}
}

// The limits are those of the page PutMetricAlarm of the CloudWatch API
// Reference.
func describeMetricAlarm() *modules.Table {
	actions := func(name, when string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeJSON, Unordered: true, EmptyIsNull: true,
			Check: "jsonb_typeof(" + name + ") = 'array' AND jsonb_array_length(" + name + ") <= 5",
			Doc:   "What is done when its state becomes " + when + ": up to five ARNs, such as of SNS topics, a JSON array."}
	}
	return &modules.Table{
		Name:     "metric_alarm",
		Doc:      "Alarms on metrics. What AWS keeps of an alarm and no column shows stays as it is when the alarm is changed.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "alarm_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: "length(alarm_name) BETWEEN 1 AND 255",
				Doc:   "The alarm's name."},
			modules.Column{Name: "alarm_description", Type: modules.TypeText, Check: "length(alarm_description) BETWEEN 1 AND 1024",
				Doc: "What it is about, up to 1024 characters."},
			modules.Column{Name: "actions_enabled", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether its actions are done. Default true."},
			actions("alarm_actions", "ALARM"),
			actions("ok_actions", "OK"),
			actions("insufficient_data_actions", "INSUFFICIENT_DATA"),
			modules.Column{Name: "comparison_operator", Type: modules.TypeText, Enum: spellings(cwtypes.ComparisonOperator("").Values()),
				Doc: "How the metric is compared with the threshold."},
			modules.Column{Name: "threshold", Type: modules.TypeDouble, Doc: "What the metric is compared with."},
			modules.Column{Name: "threshold_metric_id", Type: modules.TypeText,
				Doc: "The Id of the member of metrics that is an ANOMALY_DETECTION_BAND, which the metric is compared with instead."},
			modules.Column{Name: "evaluation_periods", Type: modules.TypeInteger, Check: "evaluation_periods >= 1",
				Doc: "Over how many periods the metric is compared."},
			modules.Column{Name: "datapoints_to_alarm", Type: modules.TypeInteger, Check: "datapoints_to_alarm >= 1",
				Doc: "In how many of them it must be beyond the threshold. NULL: in all."},
			modules.Column{Name: "namespace", Type: modules.TypeText, Check: "length(namespace) BETWEEN 1 AND 255",
				Doc: "The metric's namespace, such as AWS/EC2. NULL where metrics says what is compared."},
			modules.Column{Name: "metric_name", Type: modules.TypeText, Check: "length(metric_name) BETWEEN 1 AND 255",
				Doc: "The metric's name, such as CPUUtilization."},
			modules.Column{Name: "dimensions", Type: modules.TypeJSON, Unordered: true, EmptyIsNull: true, Check: "jsonb_typeof(dimensions) = 'array'",
				Doc: `The metric's dimensions, such as [{"Name": "InstanceId", "Value": "i-0a1b2c3d"}].`},
			modules.Column{Name: "period", Type: modules.TypeInteger, Check: "period IN (10, 20, 30) OR period % 60 = 0 AND period > 0",
				Doc: "How many seconds a period has: 10, 20, 30 or a multiple of 60."},
			modules.Column{Name: "statistic", Type: modules.TypeText, Enum: spellings(cwtypes.Statistic("").Values()),
				Doc: "The statistic of the metric's values in a period."},
			modules.Column{Name: "extended_statistic", Type: modules.TypeText,
				Doc: "Another statistic instead, such as p99."},
			modules.Column{Name: "unit", Type: modules.TypeText, Enum: spellings(cwtypes.StandardUnit("").Values()),
				Doc: "Only values of this unit count. NULL: all."},
			modules.Column{Name: "metrics", Type: modules.TypeJSON, Equal: sameMetrics, EmptyIsNull: true, Check: "jsonb_typeof(metrics) = 'array'",
				Doc: `A computation on metrics, in the words of the API, instead of one metric, such as [{"Id": "e", "Expression": "m * 2"}, {"Id": "m", "ReturnData": false, "MetricStat": {"Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}, "Period": 60, "Stat": "p99"}}].`},
			modules.Column{Name: "treat_missing_data", Type: modules.TypeText, Required: true, Default: "'" + missing + "'",
				Enum: []string{"breaching", "notBreaching", "ignore", missing},
				Doc:  "What missing values count as. Default missing."},
			modules.Column{Name: "evaluate_low_sample_count_percentile", Type: modules.TypeText, Enum: []string{"evaluate", "ignore"},
				Doc: "Whether a percentile of too few values counts. NULL: it does."},
			modules.Column{Name: "alarm_arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "state_value", Type: modules.TypeText, Assigned: true, Doc: "Its state: OK, ALARM or INSUFFICIENT_DATA."},
			modules.Column{Name: "state_reason", Type: modules.TypeText, Assigned: true, Doc: "Why it is in that state."},
			modules.Column{Name: "state_updated_timestamp", Type: modules.TypeTime, Assigned: true, Doc: "Since when."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"statistic IS NULL OR extended_statistic IS NULL",
			"metrics IS NULL OR num_nonnulls(namespace, metric_name, dimensions, period, statistic, extended_statistic, unit) = 0",
		},
		DestroyBeforeCreate: true,
	}
}

func spellings[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
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

// client returns a client that speaks the query protocol, one of those that
// CloudWatch understands and, unlike the SDK's choice, emulators too.
func (r *metricAlarm) client(ctx context.Context, scope modules.Scope) (*cloudwatch.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *cloudwatch.Client {
		return cloudwatch.NewFromConfig(cfg, func(o *cloudwatch.Options) {
			o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801)
		})
	})
}

// Table returns the description.
func (r *metricAlarm) Table() *modules.Table { return r.description }

// List gives every alarm of the scope to page.
func (r *metricAlarm) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.describe(ctx, scope, nil, page)
}

// Get reads the alarms with these names.
func (r *metricAlarm) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	collect, rows := aws.Collector()
	for names := range slices.Chunk(aws.Column(identities, "alarm_name"), alarmsPageSize) {
		if err := r.describe(ctx, scope, names, collect); err != nil {
			return nil, err
		}
	}
	return rows(), nil
}

func (r *metricAlarm) describe(ctx context.Context, scope modules.Scope, names []string, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, cloudwatch.NewDescribeAlarmsPaginator(client, &cloudwatch.DescribeAlarmsInput{
		AlarmNames: names, AlarmTypes: []cwtypes.AlarmType{cwtypes.AlarmTypeMetricAlarm}, MaxRecords: awssdk.Int32(alarmsPageSize),
	}), func(out *cloudwatch.DescribeAlarmsOutput) error {
		rows, err := aws.Read(ctx, out.MetricAlarms, func(ctx context.Context, a cwtypes.MetricAlarm) (modules.Row, error) {
			tags, err := client.ListTagsForResource(ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: a.AlarmArn})
			if err != nil {
				return nil, err
			}
			row, err := metricAlarmRow(a)
			if err != nil {
				return nil, err
			}
			row["tags"] = cloudwatchTags.Value(tags.Tags)
			return row, nil
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

func metricAlarmRow(a cwtypes.MetricAlarm) (modules.Row, error) {
	row := modules.Row{
		"alarm_name":                           modules.TextPtr(a.AlarmName),
		"alarm_description":                    modules.NonEmpty(awssdk.ToString(a.AlarmDescription)),
		"actions_enabled":                      modules.Bool(awssdk.ToBool(a.ActionsEnabled)),
		"comparison_operator":                  modules.NonEmpty(a.ComparisonOperator),
		"threshold":                            modules.FloatPtr(a.Threshold),
		"threshold_metric_id":                  modules.NonEmpty(awssdk.ToString(a.ThresholdMetricId)),
		"evaluation_periods":                   modules.IntPtr(a.EvaluationPeriods),
		"datapoints_to_alarm":                  modules.IntPtr(a.DatapointsToAlarm),
		"namespace":                            modules.NonEmpty(awssdk.ToString(a.Namespace)),
		"metric_name":                          modules.NonEmpty(awssdk.ToString(a.MetricName)),
		"period":                               modules.IntPtr(a.Period),
		"statistic":                            modules.NonEmpty(a.Statistic),
		"extended_statistic":                   modules.NonEmpty(awssdk.ToString(a.ExtendedStatistic)),
		"unit":                                 modules.NonEmpty(a.Unit),
		"treat_missing_data":                   modules.NonEmpty(awssdk.ToString(a.TreatMissingData)),
		"evaluate_low_sample_count_percentile": modules.NonEmpty(awssdk.ToString(a.EvaluateLowSampleCountPercentile)),
		"alarm_arn":                            modules.TextPtr(a.AlarmArn),
		"state_value":                          modules.NonEmpty(a.StateValue),
		"state_reason":                         modules.NonEmpty(awssdk.ToString(a.StateReason)),
		"state_updated_timestamp":              modules.TimePtr(a.StateUpdatedTimestamp),
	}
	if row["treat_missing_data"].IsNull() {
		row["treat_missing_data"] = modules.Text(missing)
	}
	var err error
	document := func(column string, n int, v any) {
		row[column] = modules.Null
		if n > 0 && err == nil {
			row[column], err = aws.Document(v)
		}
	}
	document("alarm_actions", len(a.AlarmActions), a.AlarmActions)
	document("ok_actions", len(a.OKActions), a.OKActions)
	document("insufficient_data_actions", len(a.InsufficientDataActions), a.InsufficientDataActions)
	document("dimensions", len(a.Dimensions), a.Dimensions)
	document("metrics", len(a.Metrics), a.Metrics)
	return row, err
}

// input returns the whole alarm that a row describes.
func input(want modules.Row) (*cloudwatch.PutMetricAlarmInput, error) {
	in := &cloudwatch.PutMetricAlarmInput{
		AlarmName:                        want["alarm_name"].Ptr(),
		AlarmDescription:                 want["alarm_description"].Ptr(),
		ActionsEnabled:                   awssdk.Bool(want["actions_enabled"].Bool()),
		AlarmActions:                     want["alarm_actions"].Strings(),
		OKActions:                        want["ok_actions"].Strings(),
		InsufficientDataActions:          want["insufficient_data_actions"].Strings(),
		ComparisonOperator:               cwtypes.ComparisonOperator(want["comparison_operator"].String()),
		Threshold:                        want["threshold"].Float64Ptr(),
		ThresholdMetricId:                want["threshold_metric_id"].Ptr(),
		EvaluationPeriods:                want["evaluation_periods"].Int32Ptr(),
		DatapointsToAlarm:                want["datapoints_to_alarm"].Int32Ptr(),
		Namespace:                        want["namespace"].Ptr(),
		MetricName:                       want["metric_name"].Ptr(),
		Period:                           want["period"].Int32Ptr(),
		Statistic:                        cwtypes.Statistic(want["statistic"].String()),
		ExtendedStatistic:                want["extended_statistic"].Ptr(),
		Unit:                             cwtypes.StandardUnit(want["unit"].String()),
		TreatMissingData:                 want["treat_missing_data"].Ptr(),
		EvaluateLowSampleCountPercentile: want["evaluate_low_sample_count_percentile"].Ptr(),
	}
	if err := aws.ParseDocument("dimensions", want["dimensions"], &in.Dimensions); err != nil {
		return nil, err
	}
	var err error
	in.Metrics, err = metricsOf(want["metrics"])
	return in, err
}

// Create creates an alarm.
func (r *metricAlarm) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	in, err := input(want)
	if err != nil {
		return nil, err
	}
	in.Tags = cloudwatchTags.List(aws.TagsOf(want, ""))
	if _, err := client.PutMetricAlarm(ctx, in); err != nil {
		return nil, err
	}
	return modules.Row{"alarm_name": want["alarm_name"]}, nil
}

// Update changes everything but tags in one call, which replaces the whole
// alarm: what no column shows is read, and sent again.
func (r *metricAlarm) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(columns, func(name string) bool { return name != modules.ColumnTags }) {
		in, err := input(want)
		if err != nil {
			return err
		}
		in.AlarmName = have["alarm_name"].Ptr()
		out, err := client.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
			AlarmNames: []string{*in.AlarmName}, AlarmTypes: []cwtypes.AlarmType{cwtypes.AlarmTypeMetricAlarm},
		})
		if err != nil {
			return err
		}
		for _, a := range out.MetricAlarms {
			in.ActionConfiguration, in.EvaluationCriteria, in.EvaluationInterval = a.ActionConfiguration, a.EvaluationCriteria, a.EvaluationInterval
			in.EvaluationWindow, in.WarmUpConfiguration = a.EvaluationWindow, a.WarmUpConfiguration
		}
		if _, err := client.PutMetricAlarm(ctx, in); err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	arn := have["alarm_arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &cloudwatch.TagResourceInput{ResourceARN: arn, Tags: cloudwatchTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &cloudwatch.UntagResourceInput{ResourceARN: arn, TagKeys: keys})
			return err
		})
}

// Delete deletes an alarm.
func (r *metricAlarm) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{have["alarm_name"].String()}})
	return aws.IfExists(err)
}
