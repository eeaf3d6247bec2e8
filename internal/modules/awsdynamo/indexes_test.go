package awsdynamo

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// A table that is no longer paid by the request gives its indexes a capacity, too, which DynamoDB asks for.
func TestIndexesAreProvisioned(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("eu-north-1")
	ctx, permit := t.Context(), awstest.Permit()
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, dynamodb.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	name := "indexed"
	attribute := func(of string) dbtypes.AttributeDefinition {
		return dbtypes.AttributeDefinition{AttributeName: &of, AttributeType: dbtypes.ScalarAttributeTypeS}
	}
	key := func(of string) []dbtypes.KeySchemaElement {
		return []dbtypes.KeySchemaElement{{AttributeName: &of, KeyType: dbtypes.KeyTypeHash}}
	}
	if _, err := client.CreateTable(ctx,
		&dynamodb.CreateTableInput{TableName: &name, BillingMode: dbtypes.BillingModePayPerRequest,
			AttributeDefinitions: []dbtypes.AttributeDefinition{attribute("id"), attribute("mail")},
			KeySchema:            key("id"),
			GlobalSecondaryIndexes: []dbtypes.GlobalSecondaryIndex{{IndexName: awssdk.String("by_mail"),
				KeySchema: key("mail"), Projection: &dbtypes.Projection{ProjectionType: dbtypes.ProjectionTypeAll}}}}); err != nil {
		t.Fatal(err)
	}
	have := modules.Row{"table_name": modules.Text(name), "throughput": modules.Text(onDemand)}
	want := have.Clone()
	want["throughput"] = modules.Text(`{"ReadCapacityUnits":3,"WriteCapacityUnits":4}`)
	if err := awstest.Update(ctx, newTable(clients), permit, scope, have, want, []string{"throughput"}); err != nil {
		t.Fatal(err)
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if p := out.Table.GlobalSecondaryIndexes[0].ProvisionedThroughput; p == nil ||
		awssdk.ToInt64(p.ReadCapacityUnits) != 3 || awssdk.ToInt64(p.WriteCapacityUnits) != 4 {
		t.Errorf("the index has %+v", p)
	}
}
