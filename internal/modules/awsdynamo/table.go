package awsdynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// onDemand is what the column throughput holds for tables that are paid by the
// request.
const onDemand = `"PAY_PER_REQUEST"`

// newTable declares the table dynamo_table. Its time to live and its tags are
// unknown until it is made. UpdateTable takes some changes together, and while a
// table is UPDATING others fail with ResourceInUseException, which heals.
func newTable(c *aws.Clients) *declare.Resource {
	made := declare.Only(func(row modules.Row) bool {
		return row["status"].String() != string(dbtypes.TableStatusCreating) &&
			row["status"].String() != string(dbtypes.TableStatusDeleting)
	})
	update := func(options ...declare.Option) *declare.Op {
		return declare.Call((*dynamodb.Client).UpdateTable, append(options, waiting)...)
	}
	return declare.New(c, declare.Table[dbtypes.TableDescription]{
		Name: "dynamo_table",
		Doc: "DynamoDB tables. Items are neither shown nor changed. " +
			"DynamoDB takes one change of a table at a time: of several, the later ones wait for the earlier.",
		Service: declare.Service(dynamodb.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("table_name", "TableName",
				"The table's name: 3 to 255 letters, digits and _.-").Matches(`^[A-Za-z0-9_.-]{3,255}$`),
			declare.JSON("primary_key", "",
				`Its key: attributes with the types S (string), N (number) or B (binary), and which of two is the range key: {"id": "S"}, or {"user": "S", "at": "N", "range": "at"}; without "range" the last by name is. An attribute cannot be named range.`).
				Required().CreateOnly().Same(sameKey).Check(`jsonb_typeof(primary_key) = 'object'`),
			declare.JSON("attribute_definitions", "",
				`The types of further attributes that are keys of secondary indexes, as in primary_key: {"mail": "S"}. They change together with the indexes, in one statement.`).
				EmptyIsNull().Check(`jsonb_typeof(attribute_definitions) = 'object'`).Since(2),
			declare.JSON("global_secondary_indexes", "",
				`Its global secondary indexes, in the words of the API: [{"IndexName": "by_mail", "KeySchema": [{"AttributeName": "mail", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]. `+
					`Another key or projection makes that index anew. DynamoDB makes and deletes one at a time.`).
				In("GlobalSecondaryIndexes").EmptyIsNull().Same(sameIndexes).
				Check(`jsonb_typeof(global_secondary_indexes) = 'array'`).Since(2),
			declare.JSON("local_secondary_indexes", "",
				`Its local secondary indexes, as those of global_secondary_indexes.`).
				In("LocalSecondaryIndexes").CreateOnly().EmptyIsNull().Same(sameIndexes).
				Check(`jsonb_typeof(local_secondary_indexes) = 'array'`).Since(2),
			declare.JSON("throughput", "",
				`How it is paid: "PAY_PER_REQUEST", the default, or a capacity such as {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}.`).
				Default(`'"PAY_PER_REQUEST"'`).
				Check(`throughput = '"PAY_PER_REQUEST"' OR jsonb_typeof(throughput) = 'object' AND throughput ?& ARRAY['ReadCapacityUnits', 'WriteCapacityUnits']`),
			declare.JSON("on_demand_throughput", "OnDemandThroughput",
				`The most that a table paid by the request may use: {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50}. NULL: there is no such limit.`).
				As(onDemandThroughput).Same(declare.Alike(limited)).EmptyIsNull().
				Check(`jsonb_typeof(on_demand_throughput) = 'object'`).Since(2),
			declare.JSON("warm_throughput", "WarmThroughput",
				`What it can take at once: {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}; as DynamoDB has it if left out. It can be raised, and DynamoDB raises it as the table is used.`).
				As(warmThroughput).OptionalComputed().Same(declare.Filling(declare.Alike[dbtypes.WarmThroughput](nil),
				"ReadUnitsPerSecond", "WriteUnitsPerSecond")).
				Check(`jsonb_typeof(warm_throughput) = 'object'`).Since(2),
			declare.Text("table_class", "TableClassSummary.TableClass",
				"STANDARD, the default, or STANDARD_INFREQUENT_ACCESS: storage costs less and access more.").
				In("TableClass").Default("'STANDARD'").OneOf("STANDARD",
				"STANDARD_INFREQUENT_ACCESS").Usual(modules.Text("STANDARD")),
			declare.Text("stream_view_type", "StreamSpecification.StreamViewType",
				"What its stream tells of a changed item. NULL: it has none. Of one that exists it changes by way "+
					"of NULL.").
				OneOf("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"),
			declare.Text("time_to_live_attribute", "TimeToLiveDescription",
				"The attribute with the time after which an item is deleted. NULL: none is. Changes take up to an "+
					"hour, in which there can be no other.").
				Length(1, 255).As(timeToLive).From(declare.Call((*dynamodb.Client).DescribeTimeToLive, made)),
			declare.Integer("point_in_time_recovery_days",
				"ContinuousBackupsDescription.PointInTimeRecoveryDescription",
				"Over how many days it can be restored as it was at any second, from 1 to 35. NULL: it cannot.").
				Between(1, 35).As(recovery).Born(modules.Null).Since(2).
				From(declare.Call((*dynamodb.Client).DescribeContinuousBackups, made, declare.IfAllowed(),
					declare.Rarely())),
			declare.JSON("sse_specification", "SSEDescription",
				`The KMS key that encrypts it: {"Enabled": true, "KMSMasterKeyId": "arn:aws:kms:…"}, or {"Enabled": true} for aws/dynamodb. NULL: a key of DynamoDB's own. From a key to aws/dynamodb it goes by way of NULL.`).
				In("SSESpecification").As(encryption).Same(sameEncryption).
				Check(`sse_specification @> '{"Enabled": true}'`).
				Check(`coalesce(sse_specification ->> 'KMSMasterKeyId', '') !~ '(^|:)alias/'`).Since(2),
			declare.Text("contributor_insights_mode", "ContributorInsightsMode",
				"Which keys CloudWatch Contributor Insights counts: ACCESSED_AND_THROTTLED_KEYS or THROTTLED_KEYS. "+
					"NULL: none.").
				OneOf(declare.Values(dbtypes.ContributorInsightsMode("").Values())...).Since(2).
				Born(modules.Null).
				From(declare.Call((*dynamodb.Client).DescribeContributorInsights, made, declare.IfAllowed(),
					declare.Rarely(), declare.Checked(insights))),
			declare.JSON("kinesis_stream_specification", "KinesisDataStreamDestinations",
				`The Kinesis stream that is told of changed items: {"StreamArn": "arn:aws:kinesis:…", "ApproximateCreationDateTimePrecision": "MICROSECOND"}; the precision is MILLISECOND if left out. NULL: none.`).
				As(streaming).Same(declare.Alike(precise)).Born(modules.Null).
				Check(`kinesis_stream_specification ? 'StreamArn'`).Since(2).
				From(declare.Call((*dynamodb.Client).DescribeKinesisStreamingDestination, made, declare.IfAllowed(),
					declare.Rarely())),
			declare.JSON("import_source_specification", "",
				`What is in S3 and a new table begins with: {"S3BucketSource": {"S3Bucket": "b"}, "InputFormat": "CSV"}, and more as ImportTable takes it. It matters when the table is created.`).
				In("S3BucketSource").As(source).Along().
				Check(`import_source_specification ?& ARRAY['S3BucketSource', 'InputFormat']`).Since(2),
			declare.Policy("Policy", "Who may use it, besides what the policies of users and roles say: a "+
				"resource-based policy. NULL: it has none.").In("Policy", "ResourcePolicy").Since(2).
				From(declare.Call((*dynamodb.Client).GetResourcePolicy, made, declare.None("PolicyNotFoundException"),
					declare.IfAllowed(), declare.Rarely())),
			declare.Bool("deletion_protection_enabled", "DeletionProtectionEnabled",
				"Whether the table cannot be deleted.").Default("false"),
			declare.Text("table_id", "TableId",
				"Its unique id, which a later table of the same name does not get.").Computed(),
			declare.ARN("arn", "TableArn"),
			declare.Text("stream_arn", "LatestStreamArn", "The ARN of its stream, if it has one.").Computed(),
			declare.Text("status", "TableStatus", "CREATING, ACTIVE, UPDATING, DELETING and so on.").Computed(),
			declare.Time("created_at", "CreationDateTime", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*dynamodb.Client).TagResource, (*dynamodb.Client).UntagResource, waiting).
				From(declare.Call((*dynamodb.Client).ListTagsOfResource, made)).Together("dynamodb:table", "arn"),
		},
		Checks: []string{
			`import_source_specification IS NULL OR local_secondary_indexes IS NULL`,
			`on_demand_throughput IS NULL OR throughput = '"PAY_PER_REQUEST"'`},
		Published: declare.Published{Type: "AWS::DynamoDB::Table", Since: 2, Columns: map[string]string{
			"BillingMode": "throughput", "ContributorInsightsSpecification": "contributor_insights_mode",
			"KeySchema": "primary_key", "PointInTimeRecoverySpecification": "point_in_time_recovery_days",
			"ProvisionedThroughput": "throughput", "ResourcePolicy": "policy",
			"StreamSpecification":     "stream_view_type",
			"TimeToLiveSpecification": "time_to_live_attribute",
		}},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("dynamodb.amazonaws.com",
			modules.Request("tableName", "UpdateTimeToLive", "UpdateContinuousBackups", "UpdateContributorInsights",
				"UpdateTableReplicaAutoScaling"),
			modules.Request("tableName", "EnableKinesisStreamingDestination", "DisableKinesisStreamingDestination",
				"UpdateKinesisStreamingDestination"),
			modules.Request("targetTableName", "RestoreTableFromBackup", "RestoreTableToPointInTime"),
			modules.Request("tableCreationParameters.tableName", "ImportTable"),
		),
		List:   declare.Pages(dynamodb.NewListTablesPaginator, "TableNames").Names("table_name", ""),
		Get:    declare.One(declare.Call((*dynamodb.Client).DescribeTable), "Table"),
		Row:    complete,
		Create: declare.Call((*dynamodb.Client).CreateTable, declare.Edit(create), declare.Failed(createError)),
		CreateFrom: []declare.Origin{{Column: "import_source_specification",
			Create: declare.Call((*dynamodb.Client).ImportTable, declare.Edit(importInto),
				declare.Failed(createError))}},
		Updates: []declare.Update{
			// Tags can be changed besides: they go first. The time to live goes last: for
			// the hour in which it is refused it holds up nothing else.
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return s.UpdateTags(ctx)
			}, modules.ColumnTags),
			declare.ModifyEach(update(), "deletion_protection_enabled", "table_class"),
			declare.Modify(update(declare.Edit(func(ctx context.Context, s *declare.Step,
				in *dynamodb.UpdateTableInput) (err error) {
				if in.BillingMode, in.ProvisionedThroughput, err = billing(s.Want["throughput"]); err != nil ||
					in.ProvisionedThroughput == nil || s.Have["throughput"].String() != onDemand {
					return err
				}
				return provisionIndexes(ctx, s, in)
			})), "throughput"),
			declare.By(setOnDemand, "on_demand_throughput"),
			declare.Modify(update(), "warm_throughput"),
			declare.Modify(update(declare.Edit(setStream)), "stream_view_type"),
			declare.Modify(update(declare.Fill(func(s *declare.Step, in *dynamodb.UpdateTableInput) {
				if s.Want["sse_specification"].IsNull() {
					in.SSESpecification = &dbtypes.SSESpecification{Enabled: awssdk.Bool(false)}
				}
			})), "sse_specification"),
			declare.By(setIndexes, "global_secondary_indexes", "attribute_definitions"),
			declare.Modify(declare.Call((*dynamodb.Client).UpdateContinuousBackups, declare.Edit(setRecovery), waiting),
				"point_in_time_recovery_days"),
			declare.By(setInsights, "contributor_insights_mode"),
			declare.By(setStreaming, "kinesis_stream_specification"),
			declare.Put("policy", declare.Call((*dynamodb.Client).PutResourcePolicy, waiting),
				declare.Call((*dynamodb.Client).DeleteResourcePolicy, waiting)),
			declare.By(setTimeToLive, "time_to_live_attribute"),
		},
		Delete: declare.Call((*dynamodb.Client).DeleteTable, waiting),
		// for which DeleteTable has ResourceInUseException, too
		Going: declare.In("status", string(dbtypes.TableStatusDeleting)),

		Forming:   declare.In("status", string(dbtypes.TableStatusCreating)),
		HoldsData: true,
	})
}

// key is a primary key: its attributes, hash key first.
type key []struct{ name, kind string }

// keyOf reads the column primary_key.
func keyOf(text string) (key, error) {
	var all map[string]string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	last, given := all["range"]
	delete(all, "range")
	var k key
	for name, kind := range all {
		k = append(k, struct{ name, kind string }{name, kind})
	}
	slices.SortFunc(k, func(a, b struct{ name, kind string }) int {
		switch {
		case a.name == last:
			return 1
		case b.name == last:
			return -1
		case a.name < b.name:
			return -1
		}
		return 1
	})
	if len(k) < 1 || len(k) > 2 || given && (len(k) != 2 || k[1].name != last) {
		return nil, errors.New(`a key has one or two attributes, and "range" names one of two`)
	}
	return k, nil
}

// value returns the key as the column holds it: with "range" for two.
func (k key) value() (modules.Value, error) {
	all := map[string]string{}
	for _, a := range k {
		all[a.name] = a.kind
	}
	if len(k) == 2 {
		all["range"] = k[1].name
	}
	return modules.JSON(all)
}

var sameKey = declare.Equal(keyOf, func(x, y key) bool { return slices.Equal(x, y) })

// timeToLive reads the attribute, if the time to live is enabled.
var timeToLive = declare.Codec{Decode: func(member any) (modules.Value, error) {
	d := member.(dbtypes.TimeToLiveDescription)
	if d.TimeToLiveStatus == dbtypes.TimeToLiveStatusEnabled || d.TimeToLiveStatus == dbtypes.TimeToLiveStatusEnabling {
		return modules.TextPtr(d.AttributeName), nil
	}
	return modules.Null, nil
}}

// complete adds to a row what several members tell together.
func complete(_ context.Context, _ *declare.Step, t *dbtypes.TableDescription, row modules.Row) (err error) {
	kinds := map[string]string{}
	for _, a := range t.AttributeDefinitions {
		kinds[awssdk.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	var k key
	for _, e := range t.KeySchema { // the hash key comes first (page KeySchemaElement)
		name := awssdk.ToString(e.AttributeName)
		k = append(k, struct{ name, kind string }{name, kinds[name]})
	}
	if len(k) == 0 {
		// What DeleteTable answers with does not tell it (page DeleteTable, Response Syntax).
		for _, column := range []string{"primary_key", "attribute_definitions", "global_secondary_indexes",
			"local_secondary_indexes"} {
			delete(row, column)
		}
	} else if row["primary_key"], err = k.value(); err != nil {
		return err
	} else if err := indexes(t, k, kinds, row); err != nil {
		return err
	}
	if s := t.StreamSpecification; s == nil || !awssdk.ToBool(s.StreamEnabled) {
		row["stream_view_type"], row["stream_arn"] = modules.Null, modules.Null
	}
	row["throughput"] = modules.Text(onDemand)
	// Tables that always were provisioned may have no summary (page
	// BillingModeSummary).
	p := t.ProvisionedThroughput
	if p == nil && t.BillingModeSummary == nil && t.TableStatus == dbtypes.TableStatusCreating {
		delete(row, "throughput") // it has not been told yet
		return nil
	}
	if p != nil && (t.BillingModeSummary == nil ||
		t.BillingModeSummary.BillingMode != dbtypes.BillingModePayPerRequest) {
		row["throughput"], err = modules.JSON(capacity{awssdk.ToInt64(p.ReadCapacityUnits),
			awssdk.ToInt64(p.WriteCapacityUnits)})
		row["on_demand_throughput"] = modules.Null // it is no limit of such a table
	}
	return err
}

// capacity is what the column throughput holds for provisioned tables.
type capacity struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// billing reads the column throughput.
func billing(v modules.Value) (dbtypes.BillingMode, *dbtypes.ProvisionedThroughput, error) {
	if v.IsNull() || v.String() == onDemand {
		return dbtypes.BillingModePayPerRequest, nil, nil
	}
	var c capacity
	if err := json.Unmarshal([]byte(v.String()), &c); err != nil {
		return "", nil, invalid("throughput", err)
	}
	return dbtypes.BillingModeProvisioned,
		&dbtypes.ProvisionedThroughput{ReadCapacityUnits: &c.ReadCapacityUnits,
			WriteCapacityUnits: &c.WriteCapacityUnits}, nil
}

func invalid(column string, err error) error {
	return &modules.Error{Class: modules.Invalid, Err: err, Message: fmt.Sprintf("%s: %v", column, err)}
}

// create fills in what of a new table is in several members. Its time to live,
// which CreateTable does not take, is left to the update.
func create(_ context.Context, s *declare.Step, in *dynamodb.CreateTableInput) error {
	k, err := keyOf(s.Want["primary_key"].String())
	if err != nil {
		return invalid("primary_key", err)
	}
	for i := range k {
		in.KeySchema = append(in.KeySchema, dbtypes.KeySchemaElement{
			AttributeName: &k[i].name, KeyType: []dbtypes.KeyType{dbtypes.KeyTypeHash, dbtypes.KeyTypeRange}[i],
		})
	}
	kinds, err := kindsOf(s.Want)
	if err != nil {
		return err
	}
	if in.AttributeDefinitions, err = definitions(kinds, keysOf(k, in.GlobalSecondaryIndexes,
		in.LocalSecondaryIndexes), true); err != nil {
		return err
	}
	if in.StreamSpecification != nil {
		in.StreamSpecification.StreamEnabled = awssdk.Bool(true)
	}
	if in.BillingMode, in.ProvisionedThroughput, err = billing(s.Want["throughput"]); err != nil {
		return err
	}
	for i := range in.GlobalSecondaryIndexes {
		provide(&in.GlobalSecondaryIndexes[i], in.ProvisionedThroughput)
	}
	return nil
}

// createError tells a name that is taken from one that is not free yet: both
// have the code ResourceInUseException (page CreateTable).
func createError(ctx context.Context, s *declare.Step, err error) error {
	var e *modules.Error
	if !errors.As(err, &e) || e.Code != "ResourceInUseException" {
		return waits(ctx, s, err)
	}
	out, failed := declare.ClientOf[*dynamodb.Client](s).DescribeTable(ctx,
		&dynamodb.DescribeTableInput{TableName: s.Want["table_name"].Ptr()})
	if failed != nil || out.Table.TableStatus == dbtypes.TableStatusDeleting {
		return err
	}
	return &modules.Error{Class: modules.Exists, Code: e.Code, Message: e.Message, Err: err}
}

var waiting = declare.Failed(waits)

// waits returns a limit on what DynamoDB does at the same time as what heals: it
// has the code of a quota (page CreateTable, LimitExceededException).
func waits(_ context.Context, _ *declare.Step, err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "LimitExceededException" {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}

// setStream ends a stream, or makes one: its view cannot be changed, and the next
// pass makes another.
func setStream(_ context.Context, s *declare.Step, in *dynamodb.UpdateTableInput) error {
	if next := s.Want["stream_view_type"]; !next.IsNull() && s.Have["stream_view_type"].IsNull() {
		in.StreamSpecification = &dbtypes.StreamSpecification{StreamEnabled: awssdk.Bool(true),
			StreamViewType: dbtypes.StreamViewType(next.String())}
		return nil
	}
	in.StreamSpecification = &dbtypes.StreamSpecification{StreamEnabled: awssdk.Bool(false)}
	return nil
}

// ttlPause is when a change of the time to live is tried again that came too early:
// a change takes up to an hour, in which any other of the same table is refused
// (page UpdateTimeToLive).
const ttlPause = 10 * time.Minute

// setTimeToLive disables what is there, or enables what is wanted. From one
// attribute to another takes two passes, an hour apart.
func setTimeToLive(ctx context.Context, s *declare.Step) error {
	have, want := s.Have["time_to_live_attribute"], s.Want["time_to_live_attribute"]
	spec := &dbtypes.TimeToLiveSpecification{AttributeName: want.Ptr(), Enabled: awssdk.Bool(true)}
	if !have.IsNull() {
		spec = &dbtypes.TimeToLiveSpecification{AttributeName: have.Ptr(), Enabled: awssdk.Bool(false)}
	}
	_, err := declare.ClientOf[*dynamodb.Client](s).UpdateTimeToLive(ctx,
		&dynamodb.UpdateTimeToLiveInput{TableName: s.Have["table_name"].Ptr(), TimeToLiveSpecification: spec})
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "ValidationException" &&
		strings.Contains(e.Message, "modified multiple times within a fixed interval") {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message,
			RetryAfter: max(e.RetryAfter, ttlPause), Err: err}
	}
	return waits(ctx, s, err)
}
