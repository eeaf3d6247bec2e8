// Package awsdynamo is the module aws_dynamo: DynamoDB tables.
//
// It promises what the contract in package modules asks of its table
// dynamo_table. A table's name is its identity and unique in the account and
// region, so that creations are found again by name.
//
// It is long because UpdateTable makes or deletes one index a call and refuses a second while one is being made, an
// index repeats what the table says of its keys, and backups, insights, streams, time to live and imports are calls of
// their own.
package awsdynamo

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_dynamo, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_dynamo",
		Version:      2,
		Doc:          "Tables of DynamoDB.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newTable(c)},
	}
}
