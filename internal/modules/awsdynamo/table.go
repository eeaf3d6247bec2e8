package awsdynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// onDemand is what the column throughput holds for tables that are paid by the
// request.
const onDemand = `"PAY_PER_REQUEST"`

var tableTags = aws.TagType[dbtypes.Tag]{
	Split: func(t dbtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) dbtypes.Tag { return dbtypes.Tag{Key: key, Value: value} },
}

// table is the table dynamo_table.
type table struct {
	clients     *aws.Clients
	description *modules.Table
}

func newTable(c *aws.Clients) *table { return &table{clients: c, description: describeTable()} }

func describeTable() *modules.Table {
	return &modules.Table{
		Name: "dynamo_table",
		Doc: "DynamoDB tables. Secondary indexes are neither shown nor changed, and neither are items. " +
			"DynamoDB takes one change of a table at a time: of several, the later ones wait for the earlier.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "table_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `table_name ~ '^[A-Za-z0-9_.-]{3,255}$'`,
				Doc:   "The table's name: 3 to 255 letters, digits and _.-"},
			modules.Column{Name: "primary_key", Type: modules.TypeJSON, Required: true, CreateOnly: true, Equal: sameKey,
				Check: `jsonb_typeof(primary_key) = 'object'`,
				Doc:   `Its key: attributes with the types S (string), N (number) or B (binary), and which of two is the range key: {"id": "S"}, or {"user": "S", "at": "N", "range": "at"}; without "range" the last by name is. An attribute cannot be named range.`},
			modules.Column{Name: "throughput", Type: modules.TypeJSON, Required: true, Default: `'"PAY_PER_REQUEST"'`,
				Check: `throughput = '"PAY_PER_REQUEST"' OR jsonb_typeof(throughput) = 'object' AND throughput ?& ARRAY['ReadCapacityUnits', 'WriteCapacityUnits']`,
				Doc:   `How it is paid: "PAY_PER_REQUEST", the default, or a capacity such as {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}.`},
			modules.Column{Name: "table_class", Type: modules.TypeText, Required: true, Default: "'STANDARD'",
				Enum: []string{string(dbtypes.TableClassStandard), string(dbtypes.TableClassStandardInfrequentAccess)},
				Doc:  "STANDARD, the default, or STANDARD_INFREQUENT_ACCESS: storage costs less and access more."},
			modules.Column{Name: "stream_view_type", Type: modules.TypeText,
				Enum: []string{"NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"},
				Doc:  "What its stream tells of a changed item. NULL: it has none. Of one that exists it changes by way of NULL."},
			modules.Column{Name: "time_to_live_attribute", Type: modules.TypeText, Check: "length(time_to_live_attribute) BETWEEN 1 AND 255",
				Doc: "The attribute with the time after which an item is deleted. NULL: none is. Changes take up to an hour, in which there can be no other."},
			modules.Column{Name: "deletion_protection_enabled", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether the table cannot be deleted."},
			modules.Column{Name: "table_id", Type: modules.TypeText, Assigned: true, Doc: "Its unique id, which a later table of the same name does not get."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "stream_arn", Type: modules.TypeText, Assigned: true, Doc: "The ARN of its stream, if it has one."},
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true, Doc: "CREATING, ACTIVE, UPDATING, DELETING and so on."},
			modules.Column{Name: "created_at", Type: modules.TypeTime, Assigned: true, Doc: "When it was created."},
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
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

func sameKey(a, b string) bool {
	x, errX := keyOf(a)
	y, errY := keyOf(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

func (r *table) client(ctx context.Context, scope modules.Scope) (*dynamodb.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *dynamodb.Client { return dynamodb.NewFromConfig(cfg) })
}

// Table returns the description.
func (r *table) Table() *modules.Table { return r.description }

// List gives every table of the scope to page.
func (r *table) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{}), func(out *dynamodb.ListTablesOutput) error {
		rows, err := aws.Read(ctx, out.TableNames, func(ctx context.Context, name string) (modules.Row, error) { return read(ctx, client, name) })
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the tables with these names.
func (r *table) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		return read(ctx, client, identity["table_name"].String())
	})
}

// read reads a table, its time to live and its tags. The latter two are unknown
// until the table is made.
func read(ctx context.Context, client *dynamodb.Client, name string) (modules.Row, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return nil, err
	}
	row, err := tableRow(out.Table)
	if err != nil || out.Table.TableStatus == dbtypes.TableStatusCreating || out.Table.TableStatus == dbtypes.TableStatusDeleting {
		return row, err
	}
	var (
		tags []dbtypes.Tag
		ttl  *dynamodb.DescribeTimeToLiveOutput
	)
	err = aws.Together(ctx,
		func(ctx context.Context) (err error) {
			ttl, err = client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
			return err
		},
		func(ctx context.Context) error {
			in := &dynamodb.ListTagsOfResourceInput{ResourceArn: out.Table.TableArn}
			for { // the SDK has no paginator for it
				page, err := client.ListTagsOfResource(ctx, in)
				if err != nil {
					return err
				}
				tags = append(tags, page.Tags...)
				if in.NextToken = page.NextToken; awssdk.ToString(in.NextToken) == "" {
					return nil
				}
			}
		})
	if err != nil {
		return nil, err
	}
	row["tags"] = tableTags.Value(tags)
	row["time_to_live_attribute"] = modules.Null
	if d := ttl.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == dbtypes.TimeToLiveStatusEnabled || d.TimeToLiveStatus == dbtypes.TimeToLiveStatusEnabling) {
		row["time_to_live_attribute"] = modules.TextPtr(d.AttributeName)
	}
	return row, nil
}

func tableRow(t *dbtypes.TableDescription) (modules.Row, error) {
	kinds := map[string]string{}
	for _, a := range t.AttributeDefinitions {
		kinds[awssdk.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	var k key
	for _, e := range t.KeySchema { // the hash key comes first (page KeySchemaElement)
		name := awssdk.ToString(e.AttributeName)
		k = append(k, struct{ name, kind string }{name, kinds[name]})
	}
	primary, err := k.value()
	if err != nil {
		return nil, err
	}
	row := modules.Row{
		"table_name":                  modules.TextPtr(t.TableName),
		"primary_key":                 primary,
		"throughput":                  modules.Text(onDemand),
		"table_class":                 modules.Text(string(dbtypes.TableClassStandard)),
		"stream_view_type":            modules.Null,
		"deletion_protection_enabled": modules.Bool(awssdk.ToBool(t.DeletionProtectionEnabled)),
		"table_id":                    modules.TextPtr(t.TableId),
		"arn":                         modules.TextPtr(t.TableArn),
		"stream_arn":                  modules.Null,
		"status":                      modules.NonEmpty(t.TableStatus),
		"created_at":                  modules.TimePtr(t.CreationDateTime),
	}
	// Tables that always were provisioned may have no summary (page
	// BillingModeSummary).
	if t.BillingModeSummary == nil || t.BillingModeSummary.BillingMode != dbtypes.BillingModePayPerRequest {
		if p := t.ProvisionedThroughput; p != nil {
			row["throughput"], err = modules.JSON(capacity{awssdk.ToInt64(p.ReadCapacityUnits), awssdk.ToInt64(p.WriteCapacityUnits)})
		}
	}
	if c := t.TableClassSummary; c != nil && c.TableClass != "" {
		row["table_class"] = modules.Text(string(c.TableClass))
	}
	if s := t.StreamSpecification; s != nil && awssdk.ToBool(s.StreamEnabled) {
		row["stream_view_type"], row["stream_arn"] = modules.NonEmpty(s.StreamViewType), modules.TextPtr(t.LatestStreamArn)
	}
	return row, err
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
	return dbtypes.BillingModeProvisioned, &dbtypes.ProvisionedThroughput{ReadCapacityUnits: &c.ReadCapacityUnits, WriteCapacityUnits: &c.WriteCapacityUnits}, nil
}

func invalid(column string, err error) error {
	return &modules.Error{Class: modules.Invalid, Err: err, Message: fmt.Sprintf("%s: %v", column, err)}
}

func stream(v modules.Value) *dbtypes.StreamSpecification {
	if v.IsNull() {
		return &dbtypes.StreamSpecification{StreamEnabled: awssdk.Bool(false)}
	}
	return &dbtypes.StreamSpecification{StreamEnabled: awssdk.Bool(true), StreamViewType: dbtypes.StreamViewType(v.String())}
}

// Create creates a table. Its time to live, which CreateTable does not take, is
// left to Update.
func (r *table) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	k, err := keyOf(want["primary_key"].String())
	if err != nil {
		return nil, invalid("primary_key", err)
	}
	in := &dynamodb.CreateTableInput{
		TableName:                 want["table_name"].Ptr(),
		TableClass:                dbtypes.TableClass(want["table_class"].String()),
		DeletionProtectionEnabled: awssdk.Bool(want["deletion_protection_enabled"].Bool()),
		Tags:                      tableTags.List(aws.TagsOf(want, "")),
	}
	if in.BillingMode, in.ProvisionedThroughput, err = billing(want["throughput"]); err != nil {
		return nil, err
	}
	if v := want["stream_view_type"]; !v.IsNull() {
		in.StreamSpecification = stream(v)
	}
	for i := range k {
		in.AttributeDefinitions = append(in.AttributeDefinitions, dbtypes.AttributeDefinition{
			AttributeName: &k[i].name, AttributeType: dbtypes.ScalarAttributeType(k[i].kind),
		})
		in.KeySchema = append(in.KeySchema, dbtypes.KeySchemaElement{
			AttributeName: &k[i].name, KeyType: []dbtypes.KeyType{dbtypes.KeyTypeHash, dbtypes.KeyTypeRange}[i],
		})
	}
	if _, err := client.CreateTable(ctx, in); err != nil {
		return nil, r.createError(ctx, client, in.TableName, err)
	}
	return modules.Row{"table_name": want["table_name"]}, nil
}

// createError tells a name that is taken from one that is not free yet: both
// have the code ResourceInUseException (page CreateTable).
func (r *table) createError(ctx context.Context, client *dynamodb.Client, name *string, err error) error {
	var e *modules.Error
	if !errors.As(err, &e) || e.Code != "ResourceInUseException" {
		return waits(err)
	}
	out, failed := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
	if failed != nil || out.Table.TableStatus == dbtypes.TableStatusDeleting {
		return err
	}
	return &modules.Error{Class: modules.Exists, Code: e.Code, Message: e.Message, Err: err}
}

// waits returns a limit on what DynamoDB does at the same time as what heals: it
// has the code of a quota (page CreateTable, LimitExceededException).
func waits(err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "LimitExceededException" {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}

// Update changes what differs. UpdateTable takes some changes together, and
// while a table is UPDATING others fail with ResourceInUseException, which
// heals.
func (r *table) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	name := have["table_name"].Ptr()
	has := func(column string) bool { return slices.Contains(columns, column) }
	// Tags and the time to live can be changed besides: they go first.
	if has(modules.ColumnTags) {
		arn := have["arn"].Ptr()
		err := aws.UpdateTags(ctx, have, want,
			func(ctx context.Context, tags map[string]string) error {
				_, err := client.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: tableTags.List(tags)})
				return err
			},
			func(ctx context.Context, keys []string) error {
				_, err := client.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
				return err
			})
		if err != nil {
			return waits(err)
		}
	}
	if has("time_to_live_attribute") {
		if err := setTimeToLive(ctx, client, name, have["time_to_live_attribute"], want["time_to_live_attribute"]); err != nil {
			return waits(err)
		}
	}
	if has("deletion_protection_enabled") {
		if err := update(ctx, client, &dynamodb.UpdateTableInput{TableName: name, DeletionProtectionEnabled: awssdk.Bool(want["deletion_protection_enabled"].Bool())}); err != nil {
			return err
		}
	}
	if has("table_class") {
		if err := update(ctx, client, &dynamodb.UpdateTableInput{TableName: name, TableClass: dbtypes.TableClass(want["table_class"].String())}); err != nil {
			return err
		}
	}
	if has("throughput") {
		in := &dynamodb.UpdateTableInput{TableName: name}
		if in.BillingMode, in.ProvisionedThroughput, err = billing(want["throughput"]); err != nil {
			return err
		}
		if err := update(ctx, client, in); err != nil {
			return err
		}
	}
	if has("stream_view_type") {
		// A stream's view cannot be changed: it ends, and the next pass makes another.
		next := want["stream_view_type"]
		if !have["stream_view_type"].IsNull() {
			next = modules.Null
		}
		return update(ctx, client, &dynamodb.UpdateTableInput{TableName: name, StreamSpecification: stream(next)})
	}
	return nil
}

func update(ctx context.Context, client *dynamodb.Client, in *dynamodb.UpdateTableInput) error {
	_, err := client.UpdateTable(ctx, in)
	return waits(err)
}

// setTimeToLive disables what is there, or enables what is wanted. From one
// attribute to another takes two passes.
func setTimeToLive(ctx context.Context, client *dynamodb.Client, table *string, have, want modules.Value) error {
	spec := &dbtypes.TimeToLiveSpecification{AttributeName: want.Ptr(), Enabled: awssdk.Bool(true)}
	if !have.IsNull() {
		spec = &dbtypes.TimeToLiveSpecification{AttributeName: have.Ptr(), Enabled: awssdk.Bool(false)}
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: table, TimeToLiveSpecification: spec})
	return err
}

// Delete deletes a table with its items. One that is being deleted is let be.
func (r *table) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	name := have["table_name"].Ptr()
	_, err = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: name})
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "ResourceInUseException" {
		out, failed := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
		if aws.IsNotFound(failed) || failed == nil && out.Table.TableStatus == dbtypes.TableStatusDeleting {
			return nil
		}
	}
	return aws.IfExists(waits(err))
}
