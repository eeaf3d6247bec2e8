// Package awskinesis is the module aws_kinesis: data streams.
//
// It is long because retention, metrics, mode, encryption and shards are each set by a pair of calls, and AWS refuses
// the wrong one of the two.
package awskinesis

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	kinesistypes "github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostTags is how many tags a stream can have, and ListTagsForStream gives at
// most. Without a limit it gives fewer.
const mostTags = 50

// Module returns the module aws_kinesis, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_kinesis", Version: 2, Doc: "Streams of Kinesis Data Streams.",
		Dependencies: []string{"aws_account"}, Resources: []modules.Resource{newStream(c)},
	}
}

// newStream declares the table kinesis_stream. The limits are those of the pages
// CreateStream, IncreaseStreamRetentionPeriod and UpdateMaxRecordSize of the
// Kinesis API Reference. While another change of it is under way, AWS refuses one
// with ResourceInUseException, which waits.
func newStream(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[kinesistypes.StreamDescriptionSummary]{
		Name: "kinesis_stream",
		Doc: "Data streams. Deleting one deletes what is in it; AWS refuses that while the stream has registered " +
			"consumers. AWS takes one change of a stream after the other, each of which can take minutes.",
		Service: declare.Service(kinesis.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "StreamName",
				"The stream's name, up to 128 letters, digits and _.-").Matches(`^[A-Za-z0-9_.-]+$`).Length(1, 128),
			declare.Text("stream_mode", "StreamModeDetails.StreamMode",
				"Whether it has as many shards as shard_count says (PROVISIONED, the default) or as AWS finds that "+
					"it needs (ON_DEMAND). It can be changed twice in 24 hours.").
				Default("'PROVISIONED'").OneOf("PROVISIONED", "ON_DEMAND"),
			declare.Integer("shard_count", "OpenShardCount",
				"How many shards it has; NULL for an ON_DEMAND stream. One change can double or halve it at most, "+
					"ten times in 24 hours.").
				In("ShardCount", "TargetShardCount").OptionalComputed().Check("shard_count >= 1"),
			declare.Integer("retention_period_hours", "RetentionPeriodHours",
				"For how many hours records are kept, from 24 to 8760. Default 24. What is older is lost when it is "+
					"decreased.").Default("24").Between(24, 8760),
			declare.Integer("max_record_size_in_kib", "MaxRecordSizeInKiB",
				"How many KiB a record may have, from 1024 to 10240; 1024 if left out.").OptionalComputed().Between(
				1024, 10240),
			declare.Text("kms_key_id", "KeyId",
				"The id, ARN or alias of the KMS key that encrypts it, such as alias/aws/kinesis, which is AWS's. "+
					"NULL: it is not encrypted.").Length(1, 2048),
			declare.Texts("shard_level_metrics", "EnhancedMonitoring[0].ShardLevelMetrics",
				"Which metrics CloudWatch gets of each shard: "+strings.Join(metrics, ", ")+".").
				Unordered().EmptyIsNull().Check("shard_level_metrics <@ '{" + strings.Join(metrics, ",") +
				"}'::text[]"),
			declare.Integer("warm_throughput_mi_bps", "WarmThroughput.TargetMiBps",
				"How many MiB a second an ON_DEMAND stream can be written at once; AWS decides if left out.").
				In("WarmThroughputMiBps").OptionalComputed().Check("warm_throughput_mi_bps >= 0").Since(2),
			declare.Integer("open_shard_count", "OpenShardCount", "How many shards it has now.").Computed(),
			declare.Text("stream_status", "StreamStatus", "CREATING, ACTIVE, UPDATING or DELETING.").Computed(),
			declare.ARN("arn", "StreamARN"),
			declare.Time("creation_timestamp", "StreamCreationTimestamp", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*kinesis.Client).AddTagsToStream, (*kinesis.Client).RemoveTagsFromStream).
				From(declare.Call((*kinesis.Client).ListTagsForStream,
					declare.PageSize(mostTags))),
		},
		Published: declare.Published{Type: "AWS::Kinesis::Stream", Since: 2,
			Columns: map[string]string{"DesiredShardLevelMetrics": "shard_level_metrics",
				"StreamEncryption":    "kms_key_id",
				"WarmThroughputMiBps": "warm_throughput_mi_bps"},
		},
		Checks:              []string{`(stream_mode = 'PROVISIONED') = (shard_count IS NOT NULL)`},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("kinesis.amazonaws.com",
			modules.Request("streamName", "IncreaseStreamRetentionPeriod", "DecreaseStreamRetentionPeriod",
				"SplitShard", "MergeShards", "EnableEnhancedMonitoring", "DisableEnhancedMonitoring",
				"UpdateShardCount", "StartStreamEncryption", "StopStreamEncryption", "DeleteStream", "AddTagsToStream",
				"RemoveTagsFromStream").Or("requestParameters.streamARN"),
			modules.Request("resourceARN", "TagResource", "UntagResource"),
		),
		List: declare.Pages(kinesis.NewListStreamsPaginator, "StreamNames").Names("name", ""),
		Get:  declare.One(declare.Call((*kinesis.Client).DescribeStreamSummary), "StreamDescriptionSummary"),
		Row: func(_ context.Context, _ *declare.Step, _ *kinesistypes.StreamDescriptionSummary, row modules.Row) error {
			if row["stream_mode"].String() == string(kinesistypes.StreamModeOnDemand) {
				row["shard_count"] = modules.Null
			} else if row["stream_status"].String() == string(kinesistypes.StreamStatusCreating) {
				delete(row, "shard_count") // it has none yet
			}
			if slices.Contains(row["shard_level_metrics"].Strings(), string(kinesistypes.MetricsNameAll)) {
				row["shard_level_metrics"] = modules.Strings(metrics)
			}
			return nil
		},
		Create: declare.Call((*kinesis.Client).CreateStream, declare.Failed(exists)),
		Updates: []declare.Update{
			declare.Modify(declare.Call((*kinesis.Client).UpdateStreamMode), "stream_mode"),
			declare.Modify(declare.Call((*kinesis.Client).UpdateShardCount,
				declare.With(&kinesis.UpdateShardCountInput{ScalingType: kinesistypes.ScalingTypeUniformScaling})),
				"shard_count"),
			declare.By(retain, "retention_period_hours"),
			declare.Modify(declare.Call((*kinesis.Client).UpdateMaxRecordSize), "max_record_size_in_kib"),
			declare.Modify(declare.Call((*kinesis.Client).UpdateStreamWarmThroughput), "warm_throughput_mi_bps"),
			declare.Put("kms_key_id",
				declare.Call((*kinesis.Client).StartStreamEncryption,
					declare.With(&kinesis.StartStreamEncryptionInput{EncryptionType: kinesistypes.EncryptionTypeKms})),
				declare.Call((*kinesis.Client).StopStreamEncryption,
					declare.With(&kinesis.StopStreamEncryptionInput{EncryptionType: kinesistypes.EncryptionTypeKms}),
					declare.From("KeyId", "kms_key_id"))),
			declare.By(monitor, "shard_level_metrics"),
		},
		Delete: declare.Call((*kinesis.Client).DeleteStream),

		Going:     declare.In("stream_status", string(kinesistypes.StreamStatusDeleting)),
		Forming:   declare.In("stream_status", string(kinesistypes.StreamStatusCreating)),
		HoldsData: true,
	})
}

// metrics are what can be had of a shard.
var metrics = func() []string {
	var names []string
	for _, name := range kinesistypes.MetricsName("").Values() {
		if name != kinesistypes.MetricsNameAll {
			names = append(names, string(name))
		}
	}
	return names
}()

// exists looks at the error of a creation. A name that is taken is one in use
// (page CreateStream, ResourceInUseException), as it is until a deletion is done.
func exists(ctx context.Context, s *declare.Step, err error) error {
	if !aws.HasCode(err, "ResourceInUseException") {
		return err
	}
	out, failed := declare.ClientOf[*kinesis.Client](s).DescribeStreamSummary(ctx,
		&kinesis.DescribeStreamSummaryInput{StreamName: s.Want["name"].Ptr()})
	if failed != nil || out.StreamDescriptionSummary.StreamStatus == kinesistypes.StreamStatusDeleting {
		return err
	}
	return &modules.Error{Class: modules.Exists, Code: "ResourceInUseException",
		Message: "there is a stream of that name", Err: err}
}

// retain changes how long records are kept. More and less are two calls.
func retain(ctx context.Context, s *declare.Step) error {
	client, hours := declare.ClientOf[*kinesis.Client](s), s.Want["retention_period_hours"].Int32Ptr()
	if s.Want["retention_period_hours"].Int() > s.Have["retention_period_hours"].Int() {
		_, err := client.IncreaseStreamRetentionPeriod(ctx,
			&kinesis.IncreaseStreamRetentionPeriodInput{StreamName: s.Have["name"].Ptr(), RetentionPeriodHours: hours})
		return err
	}
	_, err := client.DecreaseStreamRetentionPeriod(ctx,
		&kinesis.DecreaseStreamRetentionPeriodInput{StreamName: s.Have["name"].Ptr(), RetentionPeriodHours: hours})
	return err
}

// monitor has CloudWatch get the metrics that are wanted, and no others.
func monitor(ctx context.Context, s *declare.Step) error {
	client, name := declare.ClientOf[*kinesis.Client](s), s.Have["name"].Ptr()
	more, less := s.Added("shard_level_metrics")
	if len(less) > 0 {
		if _, err := client.DisableEnhancedMonitoring(ctx,
			&kinesis.DisableEnhancedMonitoringInput{StreamName: name, ShardLevelMetrics: named(less)}); err != nil {
			return err
		}
	}
	if len(more) > 0 {
		_, err := client.EnableEnhancedMonitoring(ctx,
			&kinesis.EnableEnhancedMonitoringInput{StreamName: name, ShardLevelMetrics: named(more)})
		return err
	}
	return nil
}

func named(metrics []string) []kinesistypes.MetricsName {
	names := make([]kinesistypes.MetricsName, len(metrics))
	for i, name := range metrics {
		names[i] = kinesistypes.MetricsName(name)
	}
	return names
}
