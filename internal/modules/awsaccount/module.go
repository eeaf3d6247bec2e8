// Package awsaccount is the module aws_account, which all AWS modules depend
// on: the accounts with their credentials (table aws_account), and the regions
// of each (table aws_regions).
//
// It promises that secrets can be written and not read: whatever is written to
// secret_access_key and session_token is moved to a table of the engine's own
// before it is stored, and [LoadCredentials] is the one way to it.
//
// It is long because two of its three tables are settings, which are not counted as tables, and it loads the
// credentials of all others.
package awsaccount

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_account, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:      "aws_account",
		Version:   8,
		Doc:       "AWS accounts, their credentials, and their regions.",
		Resources: []modules.Resource{newRegions(c)},
		Settings:  []*modules.Table{describeAccount(), describeEventSource()},
		Migrations: map[int]string{0: before, 1: functions + first, 2: functions, 3: before, 4: functions, 5: before,
			7: functions, 8: secrets},
		Drop: drop,
	}
}

var (
	// before makes what the tables' defaults call.
	//
	//go:embed sql/before.sql
	before string
	// functions makes the triggers, and is run again when they change.
	//
	//go:embed sql/functions.sql
	functions string
	// secrets moves those of a database of an earlier version.
	//
	//go:embed sql/secrets.sql
	secrets string
	// first makes the first row.
	//
	//go:embed sql/first.sql
	first string
	//go:embed sql/drop.sql
	drop string
)
