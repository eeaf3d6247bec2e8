package modes_test

import (
	"fmt"

	"iasql/internal/modes"
)

// The more specific rule wins, as iasql_mode_of has it in SQL.
func ExampleRules_Of() {
	rules := modes.New([]modes.Rule{
		{Mode: modes.Track},                                 // look, and touch nothing
		{Table: "queue", Mode: modes.Normal},                // but for queues,
		{Table: "queue", RecordID: 7, Mode: modes.Enforce},  // one of which is as it is here,
		{Table: "queue", Column: "tags", Mode: modes.Track}, // and whose tags others set
		{Table: "queue", RecordID: 7, Column: "delay_seconds", Mode: modes.Normal},
	})
	fmt.Println(rules.Of("vpc", 1, "cidr_block"))
	fmt.Println(rules.Of("queue", 1, "delay_seconds"))
	fmt.Println(rules.Of("queue", 1, "tags"))
	fmt.Println(rules.Of("queue", 7, "tags"))
	fmt.Println(rules.Of("queue", 7, "delay_seconds"))
	// Output:
	// TRACK
	// NORMAL
	// TRACK
	// ENFORCE
	// NORMAL
}
