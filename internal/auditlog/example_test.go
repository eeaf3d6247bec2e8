package auditlog_test

import (
	"fmt"

	"iasql/internal/auditlog"
	"iasql/internal/modules"
)

// Two updates of a record are one pending change. Its base is what both sides
// agreed on before the first: against it the engine tells what was changed here
// from what was changed in the cloud.
func ExampleChange_Fold() {
	queue := &modules.Table{Name: "queue", Columns: []modules.Column{
		{Name: "name", Type: modules.TypeText}, {Name: "delay_seconds", Type: modules.TypeInteger},
	}}
	var change *auditlog.Change
	change = change.Fold(queue, auditlog.Entry{ID: 41, RecordID: 7, Type: "UPDATE",
		Original: modules.Row{"delay_seconds": modules.Int(0)}})
	change = change.Fold(queue, auditlog.Entry{ID: 42, RecordID: 7, Type: "UPDATE",
		Original: modules.Row{"delay_seconds": modules.Int(5)}})
	fmt.Println("delay_seconds was", change.Base["delay_seconds"], "when both sides agreed")
	fmt.Println("audit rows", change.AuditIDs)

	change = change.Fold(queue, auditlog.Entry{ID: 43, RecordID: 7, Type: "DELETE",
		Original: modules.Row{"name": modules.Text("jobs")}})
	fmt.Println("deleted:", change.Delete, change.Last["name"])
	// Output:
	// delay_seconds was 0 when both sides agreed
	// audit rows [41 42]
	// deleted: true jobs
}
