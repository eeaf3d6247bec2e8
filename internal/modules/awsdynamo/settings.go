package awsdynamo

import (
	"cmp"
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// limited leaves out of a limit what is none: -1 takes one away (page OnDemandThroughput).
func limited(o *dbtypes.OnDemandThroughput) {
	if awssdk.ToInt64(o.MaxReadRequestUnits) <= 0 {
		o.MaxReadRequestUnits = nil
	}
	if awssdk.ToInt64(o.MaxWriteRequestUnits) <= 0 {
		o.MaxWriteRequestUnits = nil
	}
}

// limits returns limits without those that are none; nil if none is left.
func limits(o *dbtypes.OnDemandThroughput) *dbtypes.OnDemandThroughput {
	if o == nil {
		return nil
	}
	left := *o
	if limited(&left); left.MaxReadRequestUnits == nil && left.MaxWriteRequestUnits == nil {
		return nil
	}
	return &left
}

// unlimited returns a limit with what takes the rest of it away.
func unlimited(o *dbtypes.OnDemandThroughput) *dbtypes.OnDemandThroughput {
	whole := &dbtypes.OnDemandThroughput{MaxReadRequestUnits: awssdk.Int64(-1), MaxWriteRequestUnits: awssdk.Int64(-1)}
	if o != nil && o.MaxReadRequestUnits != nil {
		whole.MaxReadRequestUnits = o.MaxReadRequestUnits
	}
	if o != nil && o.MaxWriteRequestUnits != nil {
		whole.MaxWriteRequestUnits = o.MaxWriteRequestUnits
	}
	return whole
}

// onDemandThroughput are limits, without those that are none.
var onDemandThroughput = declare.Reads(func(member any) (modules.Value, error) {
	o := member.(dbtypes.OnDemandThroughput)
	if left := limits(&o); left != nil {
		return aws.Document(*left)
	}
	return modules.Null, nil
})

// setOnDemand changes the limits of a table that is paid by the request. Another has none, and none to take away.
func setOnDemand(ctx context.Context, s *declare.Step) error {
	if _, provisioned, err := billing(s.Want["throughput"]); err != nil || provisioned != nil {
		return err
	}
	var o dbtypes.OnDemandThroughput
	if err := aws.ParseDocument("on_demand_throughput", s.Want["on_demand_throughput"], &o); err != nil {
		return err
	}
	_, err := declare.ClientOf[*dynamodb.Client](s).UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: s.Have["table_name"].Ptr(), OnDemandThroughput: unlimited(&o)})
	return waits(ctx, s, err)
}

// warmThroughput is read without its status.
var warmThroughput = declare.Reads(func(member any) (modules.Value, error) {
	w := member.(dbtypes.TableWarmThroughputDescription)
	if w.ReadUnitsPerSecond == nil && w.WriteUnitsPerSecond == nil {
		return modules.Null, nil
	}
	return aws.Document(dbtypes.WarmThroughput{ReadUnitsPerSecond: w.ReadUnitsPerSecond,
		WriteUnitsPerSecond: w.WriteUnitsPerSecond})
})

// encryption is read from what tells which key it is. A table that DynamoDB encrypts with a key of its own has none
// (page SSEDescription).
var encryption = declare.Reads(func(member any) (modules.Value, error) {
	switch d := member.(dbtypes.SSEDescription); d.Status {
	case dbtypes.SSEStatusEnabled, dbtypes.SSEStatusEnabling, dbtypes.SSEStatusUpdating:
		return aws.Document(dbtypes.SSESpecification{Enabled: awssdk.Bool(true), SSEType: d.SSEType,
			KMSMasterKeyId: d.KMSMasterKeyArn})
	}
	return modules.Null, nil
})

// sameEncryption tells whether two specifications can mean the same: a key may be told by its id or its ARN, and one
// that is left out is told by DynamoDB, as the one type that there is.
func sameEncryption(a, b string) bool {
	var x, y dbtypes.SSESpecification
	if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil {
		return a == b
	}
	return awssdk.ToBool(x.Enabled) == awssdk.ToBool(y.Enabled) &&
		(x.SSEType == "" || y.SSEType == "" || x.SSEType == y.SSEType) &&
		(x.KMSMasterKeyId == nil || y.KMSMasterKeyId == nil || declare.SameKey(*x.KMSMasterKeyId, *y.KMSMasterKeyId))
}

// usualDays is over how many days a table can be restored where nobody says (page PointInTimeRecoverySpecification).
const usualDays = 35

// recovery reads over how many days a table can be restored, if it can.
var recovery = declare.Codec{Decode: func(member any) (modules.Value, error) {
	d := member.(dbtypes.PointInTimeRecoveryDescription)
	if d.PointInTimeRecoveryStatus != dbtypes.PointInTimeRecoveryStatusEnabled {
		return modules.Null, nil
	}
	if d.RecoveryPeriodInDays == nil {
		return modules.Int(usualDays), nil
	}
	return modules.Int(int64(*d.RecoveryPeriodInDays)), nil
}}

// setRecovery turns the recovery on, over so many days, or off.
func setRecovery(_ context.Context, s *declare.Step, in *dynamodb.UpdateContinuousBackupsInput) error {
	days := s.Want["point_in_time_recovery_days"]
	in.PointInTimeRecoverySpecification = &dbtypes.PointInTimeRecoverySpecification{
		PointInTimeRecoveryEnabled: awssdk.Bool(!days.IsNull()), RecoveryPeriodInDays: days.Int32Ptr()}
	return nil
}

// insights has an answer tell the mode of insights that are enabled, and no other. Those that were enabled without one
// count all keys (page UpdateContributorInsights).
func insights(out *dynamodb.DescribeContributorInsightsOutput) error {
	switch out.ContributorInsightsStatus {
	case dbtypes.ContributorInsightsStatusEnabled, dbtypes.ContributorInsightsStatusEnabling:
		if out.ContributorInsightsMode == "" {
			out.ContributorInsightsMode = dbtypes.ContributorInsightsModeAccessedAndThrottledKeys
		}
	default:
		out.ContributorInsightsMode = ""
	}
	return nil
}

// setInsights has keys counted, or no longer.
func setInsights(ctx context.Context, s *declare.Step) error {
	in := &dynamodb.UpdateContributorInsightsInput{TableName: s.Have["table_name"].Ptr(),
		ContributorInsightsAction: dbtypes.ContributorInsightsActionDisable}
	if mode := s.Want["contributor_insights_mode"]; !mode.IsNull() {
		in.ContributorInsightsAction = dbtypes.ContributorInsightsActionEnable
		in.ContributorInsightsMode = dbtypes.ContributorInsightsMode(mode.String())
	}
	_, err := declare.ClientOf[*dynamodb.Client](s).UpdateContributorInsights(ctx, in)
	return waits(ctx, s, err)
}

// stream is what the column kinesis_stream_specification holds.
type stream struct {
	StreamArn                            *string
	ApproximateCreationDateTimePrecision dbtypes.ApproximateCreationDateTimePrecision
}

// precise fills in the precision of a stream's times.
func precise(to *stream) {
	to.ApproximateCreationDateTimePrecision = cmp.Or(to.ApproximateCreationDateTimePrecision,
		dbtypes.ApproximateCreationDateTimePrecisionMillisecond)
}

// streaming reads to which stream changes go. One to which they no longer do is told of for a day.
var streaming = declare.Codec{Decode: func(member any) (modules.Value, error) {
	for _, d := range member.([]dbtypes.KinesisDataStreamDestination) {
		switch d.DestinationStatus {
		case dbtypes.DestinationStatusActive, dbtypes.DestinationStatusEnabling, dbtypes.DestinationStatusUpdating:
			to := stream{d.StreamArn, d.ApproximateCreationDateTimePrecision}
			precise(&to)
			return aws.Document(to)
		}
	}
	return modules.Null, nil
}}

// setStreaming disables the stream that there is, or enables the one that is wanted: a table has one (page
// EnableKinesisStreamingDestination), and the next pass enables another.
func setStreaming(ctx context.Context, s *declare.Step) error {
	client, table := declare.ClientOf[*dynamodb.Client](s), s.Have["table_name"].Ptr()
	have, want, err := declare.Both(s, "kinesis_stream_specification", precise)
	if err != nil {
		return err
	}
	switch {
	case have.StreamArn == nil && want.StreamArn == nil:
	case have.StreamArn == nil:
		_, err = client.EnableKinesisStreamingDestination(ctx, &dynamodb.EnableKinesisStreamingDestinationInput{
			TableName: table, StreamArn: want.StreamArn,
			EnableKinesisStreamingConfiguration: &dbtypes.EnableKinesisStreamingConfiguration{
				ApproximateCreationDateTimePrecision: want.ApproximateCreationDateTimePrecision}})
	case awssdk.ToString(have.StreamArn) == awssdk.ToString(want.StreamArn):
		_, err = client.UpdateKinesisStreamingDestination(ctx, &dynamodb.UpdateKinesisStreamingDestinationInput{
			TableName: table, StreamArn: want.StreamArn,
			UpdateKinesisStreamingConfiguration: &dbtypes.UpdateKinesisStreamingConfiguration{
				ApproximateCreationDateTimePrecision: want.ApproximateCreationDateTimePrecision}})
	default:
		_, err = client.DisableKinesisStreamingDestination(ctx, &dynamodb.DisableKinesisStreamingDestinationInput{
			TableName: table, StreamArn: have.StreamArn})
	}
	return waits(ctx, s, err)
}

// importSource is what the column import_source_specification holds.
type importSource struct {
	S3BucketSource       *dbtypes.S3BucketSource
	InputFormat          dbtypes.InputFormat
	InputCompressionType dbtypes.InputCompressionType
	InputFormatOptions   *dbtypes.InputFormatOptions
}

var source = declare.Codec{Encode: func(v modules.Value) (any, error) {
	var from importSource
	err := aws.ParseDocument("import_source_specification", v, &from)
	return from.S3BucketSource, err
}}

// importInto fills in what the table is that an import makes. What ImportTable does not take, updates set afterwards.
func importInto(ctx context.Context, s *declare.Step, in *dynamodb.ImportTableInput) error {
	var from importSource
	if err := aws.ParseDocument("import_source_specification", s.Want["import_source_specification"],
		&from); err != nil {
		return err
	}
	in.InputFormat, in.InputCompressionType, in.InputFormatOptions = from.InputFormat, from.InputCompressionType,
		from.InputFormatOptions
	table := &dynamodb.CreateTableInput{TableName: s.Want["table_name"].Ptr()}
	for column, member := range map[string]any{"global_secondary_indexes": &table.GlobalSecondaryIndexes,
		"on_demand_throughput": &table.OnDemandThroughput, "sse_specification": &table.SSESpecification} {
		if err := aws.ParseDocument(column, s.Want[column], member); err != nil {
			return err
		}
	}
	if err := create(ctx, s, table); err != nil {
		return err
	}
	in.TableCreationParameters = &dbtypes.TableCreationParameters{TableName: table.TableName,
		AttributeDefinitions: table.AttributeDefinitions, KeySchema: table.KeySchema, BillingMode: table.BillingMode,
		GlobalSecondaryIndexes: table.GlobalSecondaryIndexes, OnDemandThroughput: table.OnDemandThroughput,
		ProvisionedThroughput: table.ProvisionedThroughput, SSESpecification: table.SSESpecification}
	return nil
}
