package awsdynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// parseIndexes reads a column of indexes, by name. Local ones are global ones without a throughput.
func parseIndexes(column string, v modules.Value) ([]dbtypes.GlobalSecondaryIndex, error) {
	var all []dbtypes.GlobalSecondaryIndex
	if err := aws.ParseDocument(column, v, &all); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b dbtypes.GlobalSecondaryIndex) int {
		return strings.Compare(awssdk.ToString(a.IndexName), awssdk.ToString(b.IndexName))
	})
	for i := range all {
		if p := all[i].Projection; p != nil {
			slices.Sort(p.NonKeyAttributes)
		}
		all[i].OnDemandThroughput = limits(all[i].OnDemandThroughput)
	}
	return all, nil
}

// sameIndexes tells whether two values of a column of indexes mean the same: the order means nothing, and a capacity
// that one leaves out is as DynamoDB has it.
var sameIndexes = declare.Equal(func(text string) ([]dbtypes.GlobalSecondaryIndex, error) {
	return parseIndexes("", modules.Text(text))
}, func(x, y []dbtypes.GlobalSecondaryIndex) bool {
	return slices.EqualFunc(x, y, func(a, b dbtypes.GlobalSecondaryIndex) bool {
		return sameIndex(a, b) && sameThroughput(a, b)
	})
})

// sameIndex tells whether two indexes are the same but for what can be changed of one: its throughput.
func sameIndex(a, b dbtypes.GlobalSecondaryIndex) bool {
	fixed := func(i dbtypes.GlobalSecondaryIndex) dbtypes.GlobalSecondaryIndex {
		return dbtypes.GlobalSecondaryIndex{IndexName: i.IndexName, KeySchema: i.KeySchema, Projection: i.Projection}
	}
	return declare.SameDocument(fixed(a), fixed(b))
}

func sameThroughput(a, b dbtypes.GlobalSecondaryIndex) bool {
	return declare.SameDocument(a.OnDemandThroughput, b.OnDemandThroughput) &&
		(a.ProvisionedThroughput == nil || b.ProvisionedThroughput == nil ||
			declare.SameDocument(a.ProvisionedThroughput, b.ProvisionedThroughput)) &&
		(a.WarmThroughput == nil || b.WarmThroughput == nil || declare.SameDocument(a.WarmThroughput, b.WarmThroughput))
}

// kindsOf returns the types of the attributes that a row tells.
func kindsOf(row modules.Row) (map[string]string, error) {
	kinds := map[string]string{}
	if v := row["attribute_definitions"]; !v.IsNull() {
		if err := json.Unmarshal([]byte(v.String()), &kinds); err != nil {
			return nil, invalid("attribute_definitions", err)
		}
	}
	k, err := keyOf(row["primary_key"].String())
	if err != nil {
		return nil, invalid("primary_key", err)
	}
	for _, a := range k {
		if kind, told := kinds[a.name]; told && kind != a.kind {
			return nil, invalid("attribute_definitions", fmt.Errorf("primary_key has the type of %s", a.name))
		}
		kinds[a.name] = a.kind
	}
	return kinds, nil
}

// keysOf returns the attributes of keys, each once.
func keysOf(k key, global []dbtypes.GlobalSecondaryIndex, local []dbtypes.LocalSecondaryIndex) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, a := range k {
		add(a.name)
	}
	for _, index := range global {
		for _, e := range index.KeySchema {
			add(awssdk.ToString(e.AttributeName))
		}
	}
	for _, index := range local {
		for _, e := range index.KeySchema {
			add(awssdk.ToString(e.AttributeName))
		}
	}
	return names
}

// definitions returns what a call says of the attributes of keys. DynamoDB takes no others (page CreateTable,
// AttributeDefinitions): all says that there must be none.
func definitions(kinds map[string]string, keys []string, all bool) ([]dbtypes.AttributeDefinition, error) {
	var list []dbtypes.AttributeDefinition
	for _, name := range keys {
		kind, told := kinds[name]
		if !told {
			return nil, invalid("attribute_definitions", fmt.Errorf("an index has the key %s, whose type is missing",
				name))
		}
		list = append(list, dbtypes.AttributeDefinition{AttributeName: &name,
			AttributeType: dbtypes.ScalarAttributeType(kind)})
	}
	for name := range kinds {
		if all && !slices.Contains(keys, name) {
			return nil, invalid("attribute_definitions", fmt.Errorf("%s is the key of no index", name))
		}
	}
	return list, nil
}

// provide gives an index the capacity that its table has, where nothing else is wanted: a table that is not paid by the
// request has to be told one of each, and one that is has none (page CreateTable, ProvisionedThroughput).
func provide(index *dbtypes.GlobalSecondaryIndex, table *dbtypes.ProvisionedThroughput) {
	if table == nil || index.ProvisionedThroughput == nil {
		index.ProvisionedThroughput = table
	}
}

// indexes adds to a row what a table tells of its indexes. One that is being deleted is none any more, although
// DynamoDB may still tell the types of its attributes.
func indexes(t *dbtypes.TableDescription, k key, kinds map[string]string, row modules.Row) (err error) {
	var global []dbtypes.GlobalSecondaryIndex
	var local []dbtypes.LocalSecondaryIndex
	perRequest := t.BillingModeSummary != nil &&
		t.BillingModeSummary.BillingMode == dbtypes.BillingModePayPerRequest
	for _, d := range t.GlobalSecondaryIndexes {
		if d.IndexStatus == dbtypes.IndexStatusDeleting {
			continue
		}
		index := dbtypes.GlobalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema, Projection: d.Projection,
			OnDemandThroughput: limits(d.OnDemandThroughput)}
		if p := d.ProvisionedThroughput; p != nil && !perRequest && awssdk.ToInt64(p.ReadCapacityUnits) > 0 {
			index.ProvisionedThroughput = &dbtypes.ProvisionedThroughput{ReadCapacityUnits: p.ReadCapacityUnits,
				WriteCapacityUnits: p.WriteCapacityUnits}
		}
		if w := d.WarmThroughput; w != nil && (w.ReadUnitsPerSecond != nil || w.WriteUnitsPerSecond != nil) {
			index.WarmThroughput = &dbtypes.WarmThroughput{ReadUnitsPerSecond: w.ReadUnitsPerSecond,
				WriteUnitsPerSecond: w.WriteUnitsPerSecond}
		}
		global = append(global, index)
	}
	for _, d := range t.LocalSecondaryIndexes {
		local = append(local, dbtypes.LocalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema,
			Projection: d.Projection})
	}
	types := map[string]string{}
	for _, name := range keysOf(nil, global, local) {
		if kind := kinds[name]; kind != "" && !slices.ContainsFunc(k, func(a struct{ name, kind string }) bool {
			return a.name == name
		}) {
			types[name] = kind
		}
	}
	row["attribute_definitions"] = modules.StringMap(types)
	for column, list := range map[string]any{"global_secondary_indexes": global, "local_secondary_indexes": local} {
		row[column] = modules.Null
		if reflect.ValueOf(list).Len() > 0 && err == nil {
			row[column], err = aws.Document(list)
		}
	}
	return err
}

// provisionIndexes gives the table's indexes the capacity that they are to have, or that the table gets: a table that
// is no longer paid by the request has to be told one of each (page UpdateTable, BillingMode and
// GlobalSecondaryIndexUpdates).
func provisionIndexes(ctx context.Context, s *declare.Step, in *dynamodb.UpdateTableInput) error {
	out, err := declare.ClientOf[*dynamodb.Client](s).DescribeTable(ctx,
		&dynamodb.DescribeTableInput{TableName: in.TableName})
	if err != nil {
		return err
	}
	wanted, err := parseIndexes("global_secondary_indexes", s.Want["global_secondary_indexes"])
	if err != nil {
		return err
	}
	for _, d := range out.Table.GlobalSecondaryIndexes {
		index := dbtypes.GlobalSecondaryIndex{IndexName: d.IndexName}
		if want := named(wanted, d.IndexName); want != nil {
			index.ProvisionedThroughput = want.ProvisionedThroughput
		}
		provide(&index, in.ProvisionedThroughput)
		in.GlobalSecondaryIndexUpdates = append(in.GlobalSecondaryIndexUpdates, dbtypes.GlobalSecondaryIndexUpdate{
			Update: &dbtypes.UpdateGlobalSecondaryIndexAction{IndexName: index.IndexName,
				ProvisionedThroughput: index.ProvisionedThroughput},
		})
	}
	return nil
}

func named(all []dbtypes.GlobalSecondaryIndex, name *string) *dbtypes.GlobalSecondaryIndex {
	for i := range all {
		if awssdk.ToString(all[i].IndexName) == awssdk.ToString(name) {
			return &all[i]
		}
	}
	return nil
}

// setIndexes makes, changes or deletes indexes. DynamoDB makes or deletes one a call, and the table is UPDATING
// meanwhile (page UpdateTable, GlobalSecondaryIndexUpdates): the next pass does what is left. What is to go goes
// first, so that an index that becomes another, or an attribute of another type, has no other in its way.
func setIndexes(ctx context.Context, s *declare.Step) error {
	have, err := parseIndexes("global_secondary_indexes", s.Have["global_secondary_indexes"])
	if err != nil {
		return err
	}
	want, err := parseIndexes("global_secondary_indexes", s.Want["global_secondary_indexes"])
	if err != nil {
		return err
	}
	var local []dbtypes.LocalSecondaryIndex
	if err := aws.ParseDocument("local_secondary_indexes", s.Have["local_secondary_indexes"], &local); err != nil {
		return err
	}
	k, err := keyOf(s.Have["primary_key"].String())
	if err != nil {
		return invalid("primary_key", err)
	}
	before, err := kindsOf(s.Have)
	if err != nil {
		return err
	}
	kinds, err := kindsOf(s.Want)
	if err != nil {
		return err
	}
	if _, err := definitions(kinds, keysOf(k, want, local), true); err != nil {
		return err
	}
	for _, name := range keysOf(nil, nil, local) {
		if before[name] != kinds[name] {
			return invalid("attribute_definitions",
				fmt.Errorf("%s is of a local secondary index, which cannot be changed",
					name))
		}
	}
	in := &dynamodb.UpdateTableInput{TableName: s.Have["table_name"].Ptr()}
	update := func(changes ...dbtypes.GlobalSecondaryIndexUpdate) error {
		in.GlobalSecondaryIndexUpdates = changes
		_, err := declare.ClientOf[*dynamodb.Client](s).UpdateTable(ctx, in)
		return waits(ctx, s, err)
	}
	for _, index := range have {
		stays := named(want, index.IndexName)
		if stays != nil && sameIndex(index, *stays) && !slices.ContainsFunc(index.KeySchema,
			func(e dbtypes.KeySchemaElement) bool {
				return before[awssdk.ToString(e.AttributeName)] != kinds[awssdk.ToString(e.AttributeName)]
			}) {
			continue
		}
		return update(dbtypes.GlobalSecondaryIndexUpdate{
			Delete: &dbtypes.DeleteGlobalSecondaryIndexAction{IndexName: index.IndexName}})
	}
	_, table, err := billing(s.Want["throughput"])
	if err != nil {
		return err
	}
	var changes []dbtypes.GlobalSecondaryIndexUpdate
	for _, index := range want {
		had := named(have, index.IndexName)
		if had == nil {
			continue
		}
		if table == nil {
			index.ProvisionedThroughput = nil
		}
		if sameThroughput(*had, index) {
			continue
		}
		change := &dbtypes.UpdateGlobalSecondaryIndexAction{IndexName: index.IndexName}
		if index.ProvisionedThroughput != nil &&
			!declare.SameDocument(index.ProvisionedThroughput, had.ProvisionedThroughput) {
			change.ProvisionedThroughput = index.ProvisionedThroughput
		}
		if index.WarmThroughput != nil && !declare.SameDocument(index.WarmThroughput, had.WarmThroughput) {
			change.WarmThroughput = index.WarmThroughput
		}
		if !declare.SameDocument(index.OnDemandThroughput, had.OnDemandThroughput) {
			change.OnDemandThroughput = unlimited(index.OnDemandThroughput)
		}
		changes = append(changes, dbtypes.GlobalSecondaryIndexUpdate{Update: change})
	}
	if len(changes) > 0 {
		return update(changes...)
	}
	for _, index := range want {
		if named(have, index.IndexName) != nil {
			continue
		}
		provide(&index, table)
		if in.AttributeDefinitions, err = definitions(kinds, keysOf(k, append(have, index), local), false); err != nil {
			return err
		}
		return update(dbtypes.GlobalSecondaryIndexUpdate{Create: &dbtypes.CreateGlobalSecondaryIndexAction{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
			OnDemandThroughput: index.OnDemandThroughput, ProvisionedThroughput: index.ProvisionedThroughput,
			WarmThroughput: index.WarmThroughput}})
	}
	return nil
}
