package awsdynamo

import (
	"encoding/json"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

func table(pairs map[string]string) modules.Row {
	row := modules.Row{"table_name": modules.Text("t"), "arn": modules.Text("arn:aws:dynamodb:us-east-1:123456789012:table/t"),
		"primary_key": modules.Text(`{"id":"S"}`), "throughput": modules.Text(onDemand),
		"attribute_definitions": modules.Null, "global_secondary_indexes": modules.Null,
		"local_secondary_indexes": modules.Null}
	for column, text := range pairs {
		row[column] = modules.Text(text)
	}
	return row
}

func said(t *testing.T, in awstest.Input) string {
	t.Helper()
	delete(in, "TableName")
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	mail      = `{"IndexName":"by_mail","KeySchema":[{"AttributeName":"mail","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}`
	mailKeys  = `{"IndexName":"by_mail","KeySchema":[{"AttributeName":"mail","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}`
	age       = `{"IndexName":"by_age","KeySchema":[{"AttributeName":"age","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["b","a"]}}`
	ageOther  = `{"IndexName":"by_age","KeySchema":[{"AttributeName":"age","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["a","b"]}}`
	ageAtMost = `{"IndexName":"by_age","KeySchema":[{"AttributeName":"age","KeyType":"HASH"}],"OnDemandThroughput":{"MaxReadRequestUnits":9},"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["a","b"]}}`
)

// DynamoDB makes or deletes one index a call, and of one that there is nothing but the throughput can be changed (page
// UpdateTable, GlobalSecondaryIndexUpdates).
func TestIndexesChange(t *testing.T) {
	t.Parallel()
	both := map[string]string{"attribute_definitions": `{"mail":"S","age":"N"}`, "global_secondary_indexes": "[" + mail + "," + age + "]"}
	for name, c := range map[string]struct {
		have, want map[string]string
		call       string
	}{
		"made": {nil, both, `{"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"age","AttributeType":"N"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by_age","KeySchema":[{"AttributeName":"age","KeyType":"HASH"}],"Projection":{"NonKeyAttributes":["a","b"],"ProjectionType":"INCLUDE"}}}]}`},
		"another made": {map[string]string{"attribute_definitions": `{"age":"N"}`, "global_secondary_indexes": "[" + ageOther + "]"}, both,
			`{"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"age","AttributeType":"N"},{"AttributeName":"mail","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by_mail","KeySchema":[{"AttributeName":"mail","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}`},
		"deleted": {both, map[string]string{"attribute_definitions": `{"age":"N"}`, "global_secondary_indexes": "[" + age + "]"},
			`{"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_mail"}}]}`},
		"the last one deleted": {map[string]string{"attribute_definitions": `{"age":"N"}`, "global_secondary_indexes": "[" + age + "]"}, nil,
			`{"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_age"}}]}`},
		"another projection": {both, map[string]string{"attribute_definitions": `{"mail":"S","age":"N"}`, "global_secondary_indexes": "[" + mailKeys + "," + age + "]"},
			`{"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_mail"}}]}`},
		"another type": {both, map[string]string{"attribute_definitions": `{"mail":"S","age":"S"}`, "global_secondary_indexes": "[" + mail + "," + age + "]"},
			`{"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_age"}}]}`},
		"a limit": {both, map[string]string{"attribute_definitions": `{"mail":"S","age":"N"}`, "global_secondary_indexes": "[" + mail + "," + ageAtMost + "]"},
			`{"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by_age","OnDemandThroughput":{"MaxReadRequestUnits":9,"MaxWriteRequestUnits":-1}}}]}`},
		"a limit taken away": {map[string]string{"attribute_definitions": `{"mail":"S","age":"N"}`, "global_secondary_indexes": "[" + mail + "," + ageAtMost + "]"}, both,
			`{"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by_age","OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":-1}}}]}`},
		"an attribute without an index": {nil, map[string]string{"attribute_definitions": `{"mail":"S"}`}, ""},
		"an index without its type":     {nil, map[string]string{"global_secondary_indexes": "[" + mail + "]"}, ""},
	} {
		var calls []string
		r := newTable(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
			"UpdateTable": func(in awstest.Input) (any, error) {
				calls = append(calls, said(t, in))
				return struct{}{}, nil
			},
		}))
		err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), table(c.have), table(c.want),
			[]string{"global_secondary_indexes", "attribute_definitions"})
		if c.call == "" {
			if modules.ClassOf(err) != modules.Invalid || len(calls) > 0 {
				t.Errorf("%s: got %v of class %s, and the calls %v", name, err, modules.ClassOf(err), calls)
			}
		} else if err != nil || len(calls) != 1 || calls[0] != c.call {
			t.Errorf("%s: got %v, and the calls\n%v, want\n%s", name, err, calls, c.call)
		}
	}
	column := newTable(awstest.FakeJSON(t, nil)).Table().Column("global_secondary_indexes")
	if !column.Same(modules.Text("["+mail+","+age+"]"), modules.Text("["+ageOther+","+mail+"]")) ||
		column.Same(modules.Text("["+mail+"]"), modules.Text("["+mailKeys+"]")) {
		t.Error("takes indexes for others")
	}
}

// The index that is made while another is wait.
func TestIndexWaits(t *testing.T) {
	t.Parallel()
	r := newTable(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"UpdateTable": func(awstest.Input) (any, error) {
			return nil, awstest.Fault{Code: "LimitExceededException", Message: "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"}
		},
	}))
	err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), table(nil),
		table(map[string]string{"attribute_definitions": `{"mail":"S"}`, "global_secondary_indexes": "[" + mail + "]"}),
		[]string{"global_secondary_indexes"})
	if modules.ClassOf(err) != modules.Dependency {
		t.Errorf("got %v of class %s", err, modules.ClassOf(err))
	}
}

// moto neither keeps nor tells what UpdateTable says of these.
func TestSettingsOfATable(t *testing.T) {
	t.Parallel()
	description := map[string]any{"TableName": "t", "TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/t", "TableStatus": "ACTIVE",
		"AttributeDefinitions": []any{map[string]any{"AttributeName": "id", "AttributeType": "S"},
			map[string]any{"AttributeName": "age", "AttributeType": "N"},
			map[string]any{"AttributeName": "mail", "AttributeType": "S"}},
		"KeySchema":          []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}},
		"BillingModeSummary": map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"OnDemandThroughput": map[string]any{"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": -1},
		"WarmThroughput":     map[string]any{"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
		"SSEDescription":     map[string]any{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k"},
		"GlobalSecondaryIndexes": []any{
			map[string]any{"IndexName": "by_age", "IndexStatus": "CREATING", "KeySchema": []any{map[string]any{"AttributeName": "age", "KeyType": "HASH"}},
				"Projection":            map[string]any{"ProjectionType": "ALL"},
				"ProvisionedThroughput": map[string]any{"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}},
			map[string]any{"IndexName": "by_mail", "IndexStatus": "DELETING", "KeySchema": []any{map[string]any{"AttributeName": "mail", "KeyType": "HASH"}},
				"Projection": map[string]any{"ProjectionType": "ALL"}}},
	}
	var calls []string
	denied, insightsAre, streamIs := false, "ENABLED", "ACTIVE"
	note := func(in awstest.Input) (any, error) {
		calls = append(calls, said(t, in))
		return struct{}{}, nil
	}
	r := newTable(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"DescribeTable": func(awstest.Input) (any, error) { return map[string]any{"Table": description}, nil },
		"DescribeTimeToLive": func(awstest.Input) (any, error) {
			return map[string]any{"TimeToLiveDescription": map[string]any{"TimeToLiveStatus": "DISABLED"}}, nil
		},
		"DescribeContinuousBackups": func(awstest.Input) (any, error) {
			if denied {
				return nil, awstest.Fault{Code: "AccessDeniedException", Message: "no"}
			}
			return map[string]any{"ContinuousBackupsDescription": map[string]any{"ContinuousBackupsStatus": "ENABLED",
				"PointInTimeRecoveryDescription": map[string]any{"PointInTimeRecoveryStatus": "ENABLED"}}}, nil
		},
		"GetResourcePolicy": func(awstest.Input) (any, error) {
			return nil, awstest.Fault{Code: "PolicyNotFoundException", Message: "none"}
		},
		"DescribeContributorInsights": func(awstest.Input) (any, error) {
			return map[string]any{"ContributorInsightsStatus": insightsAre}, nil
		},
		"DescribeKinesisStreamingDestination": func(awstest.Input) (any, error) {
			return map[string]any{"TableName": "t", "KinesisDataStreamDestinations": []any{
				map[string]any{"StreamArn": "a", "DestinationStatus": "DISABLED"},
				map[string]any{"StreamArn": "b", "DestinationStatus": streamIs}}}, nil
		},
		"UpdateContributorInsights": note, "EnableKinesisStreamingDestination": note,
		"DisableKinesisStreamingDestination": note, "UpdateKinesisStreamingDestination": note,
		"ListTagsOfResource": func(awstest.Input) (any, error) { return map[string]any{"Tags": []any{}}, nil },
		"UpdateTable":        note,
	}))
	read := func() modules.Row {
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{{"table_name": modules.Text("t")}})
		if (err != nil) != denied || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	row := read()
	for column, want := range map[string]string{
		"on_demand_throughput": `{"MaxReadRequestUnits":7}`, "warm_throughput": `{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4000}`,
		"sse_specification":           `{"Enabled":true,"KMSMasterKeyId":"arn:aws:kms:us-east-1:123456789012:key/k","SSEType":"KMS"}`,
		"point_in_time_recovery_days": "35", "policy": "", "attribute_definitions": `{"age":"N"}`,
		"global_secondary_indexes": `[{"IndexName":"by_age","KeySchema":[{"AttributeName":"age","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]`,
		"local_secondary_indexes":  "", "contributor_insights_mode": "ACCESSED_AND_THROTTLED_KEYS",
		"kinesis_stream_specification": `{"StreamArn":"b","ApproximateCreationDateTimePrecision":"MILLISECOND"}`,
	} {
		if v, told := row[column]; !told || !r.Table().Column(column).Same(v, value(want)) {
			t.Errorf("%s is %q, want %q", column, v, want)
		}
	}
	for _, c := range []struct{ column, want, call string }{
		{"on_demand_throughput", `{"MaxWriteRequestUnits":3}`, `{"OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":3}}`},
		{"on_demand_throughput", "", `{"OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":-1}}`},
		{"warm_throughput", `{"ReadUnitsPerSecond":13000}`, `{"WarmThroughput":{"ReadUnitsPerSecond":13000}}`},
		{"sse_specification", `{"Enabled":true,"KMSMasterKeyId":"other"}`, `{"SSESpecification":{"Enabled":true,"KMSMasterKeyId":"other"}}`},
		{"contributor_insights_mode", "THROTTLED_KEYS", `{"ContributorInsightsAction":"ENABLE","ContributorInsightsMode":"THROTTLED_KEYS"}`},
		{"contributor_insights_mode", "", `{"ContributorInsightsAction":"DISABLE"}`},
		{"kinesis_stream_specification", `{"StreamArn":"c"}`, `{"StreamArn":"b"}`}, // the next pass enables the other
		{"kinesis_stream_specification", "", `{"StreamArn":"b"}`},
		{"kinesis_stream_specification", `{"StreamArn":"b","ApproximateCreationDateTimePrecision":"MICROSECOND"}`,
			`{"StreamArn":"b","UpdateKinesisStreamingConfiguration":{"ApproximateCreationDateTimePrecision":"MICROSECOND"}}`},
		{"sse_specification", "", `{"SSESpecification":{"Enabled":false}}`},
	} {
		calls = nil
		want := row.Clone()
		want[c.column] = value(c.want)
		if r.Table().Column(c.column).Same(row[c.column], want[c.column]) {
			t.Errorf("%s: %s is the same as %s", c.column, want[c.column], row[c.column])
		}
		err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), row, want, []string{c.column})
		if err != nil || len(calls) != 1 || calls[0] != c.call {
			t.Errorf("%s: got %v, and the calls %v, want %s", c.column, err, calls, c.call)
		}
	}
	description["SSEDescription"] = map[string]any{"Status": "DISABLED"}
	denied, insightsAre, streamIs = true, "DISABLING", "DISABLING" // hides nothing else
	if row = read(); !row["sse_specification"].IsNull() {
		t.Errorf("it is encrypted by %s", row["sse_specification"])
	}
	if !row["contributor_insights_mode"].IsNull() || !row["kinesis_stream_specification"].IsNull() {
		t.Errorf("what is being disabled is %s, %s", row["contributor_insights_mode"], row["kinesis_stream_specification"])
	}
	calls = nil
	want := row.Clone()
	want["kinesis_stream_specification"] = modules.Text(`{"StreamArn":"c","ApproximateCreationDateTimePrecision":"MICROSECOND"}`)
	if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), row, want,
		[]string{"kinesis_stream_specification"}); err != nil || len(calls) != 1 || calls[0] !=
		`{"EnableKinesisStreamingConfiguration":{"ApproximateCreationDateTimePrecision":"MICROSECOND"},"StreamArn":"c"}` {
		t.Errorf("got %v, and the calls %v", err, calls)
	}
	if v, told := row["point_in_time_recovery_days"]; told {
		t.Errorf("it can be restored over %s", v)
	}
}

func value(text string) modules.Value {
	if text == "" {
		return modules.Null
	}
	return modules.Text(text)
}

// What a table is made with, in moto, is what is read of it then.
func TestTableWithIndexes(t *testing.T) {
	t.Parallel()
	r, scope := newTable(awstest.Clients(t)), awstest.Scope("us-east-2")
	const local = `[{"IndexName":"by_time","KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]`
	for throughput, capacity := range map[string]string{onDemand: "", `{"ReadCapacityUnits":3,"WriteCapacityUnits":4}`: `,"ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}`} {
		want := table(map[string]string{"throughput": throughput, "primary_key": `{"id":"S","n":"N","range":"n"}`,
			"attribute_definitions":    `{"at":"N","mail":"S"}`,
			"global_secondary_indexes": "[" + mail[:len(mail)-1] + capacity + "}]", "local_secondary_indexes": local,
			"sse_specification": `{"Enabled":true}`, "policy": `{"Version":"2012-10-17","Statement":[]}`})
		delete(want, "arn")
		sent := want.Clone()
		sent["global_secondary_indexes"] = modules.Text("[" + mail + "]") // as its table has it
		want["table_name"] = modules.Text("t" + map[bool]string{true: "0"}[capacity == ""] + "00")
		sent["table_name"] = want["table_name"]
		if _, err := awstest.Create(t.Context(), r, awstest.Permit(), scope, sent, ""); err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(t.Context(), r, scope, []modules.Row{{"table_name": want["table_name"]}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		for column, v := range want {
			if column != "policy" && !r.Table().Column(column).Same(rows[0][column], v) {
				t.Errorf("%s is %s, want %s", column, rows[0][column], v)
			}
		}
	}
}

// A table that begins with what is in S3 is made by ImportTable, which takes but a part of what CreateTable does.
func TestTableIsImported(t *testing.T) {
	t.Parallel()
	var call string
	r := newTable(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"ImportTable": func(in awstest.Input) (any, error) {
			delete(in, "ClientToken")
			call = said(t, in)
			return map[string]any{"ImportTableDescription": map[string]any{"ImportStatus": "IN_PROGRESS"}}, nil
		},
	}))
	row, err := awstest.Create(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), table(map[string]string{
		"import_source_specification": `{"S3BucketSource":{"S3Bucket":"b","S3KeyPrefix":"p"},"InputFormat":"CSV","InputCompressionType":"GZIP","InputFormatOptions":{"Csv":{"Delimiter":";"}}}`,
		"attribute_definitions":       `{"mail":"S"}`, "global_secondary_indexes": "[" + mail + "]",
		"sse_specification": `{"Enabled":true}`, "on_demand_throughput": `{"MaxReadRequestUnits":7}`}), "")
	const want = `{"InputCompressionType":"GZIP","InputFormat":"CSV","InputFormatOptions":{"Csv":{"Delimiter":";"}},"S3BucketSource":{"S3Bucket":"b","S3KeyPrefix":"p"},"TableCreationParameters":{` +
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"mail","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST","GlobalSecondaryIndexes":[` + mail +
		`],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"OnDemandThroughput":{"MaxReadRequestUnits":7},"SSESpecification":{"Enabled":true},"TableName":"t"}}`
	if err != nil || row["table_name"].String() != "t" || call != want {
		t.Errorf("got %v, %v, and the call\n%s, want\n%s", row, err, call, want)
	}
}
