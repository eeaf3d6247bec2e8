package sync

import (
	"strings"
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// What refers to an object of which its creation has not said by what it is named is not made without the reference: it
// waits for the pass that reads it.
func TestReferenceThatIsNotKnown(t *testing.T) {
	scope := []modules.Column{{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
		{Name: "region", Type: modules.TypeText, Doc: "r", Required: true, CreateOnly: true}}
	whole := &modules.Table{Name: "whole", Doc: "Wholes.", Reach: modules.PerRegion, Creation: modules.ByToken,
		Columns: append(scope, modules.Column{Name: "name", Type: modules.TypeText, Doc: "n", Identity: true},
			modules.Column{Name: "arn", Type: modules.TypeText, Doc: "a", Computed: true})}
	part := &modules.Table{Name: "part", Doc: "Parts.", Reach: modules.PerRegion, Creation: modules.ByToken,
		Columns: append(scope, modules.Column{Name: "name", Type: modules.TypeText, Doc: "n", Identity: true},
			modules.Column{Name: "whole_id", Type: modules.TypeBigint, Doc: "w",
				References: &modules.Reference{Table: "whole", Key: "arn"}})}
	row := func(name string) modules.Row {
		return modules.Row{"account": modules.Text("a"), "region": modules.Text("b"), "name": modules.Text(name)}
	}
	made := &running{Op: &decide.Op{Kind: decide.OpCreate, Subject: &decide.Subject{Table: whole, RecordID: 7,
		Record: &decide.Record{ID: 7, Row: row("w")}}}, ending: called}
	made.outcome = store.Outcome{Intent: made.Intent(), Subject: made.Subject}
	(&cycle{}).succeed(made, modules.Row{"name": modules.Text("w")})
	of := row("p")
	of["whole_id"] = modules.Int(7)
	waits := &running{Op: &decide.Op{Kind: decide.OpCreate, After: []*decide.Op{made.Op},
		Subject: &decide.Subject{Table: part, RecordID: 8, Record: &decide.Record{ID: 8, Row: of}}}}
	ops := map[*decide.Op]*running{made.Op: made, waits.Op: waits}
	(&cycle{}).call(t.Context(), waits, ops) // which could not make a call
	if waits.ending != postponed || !strings.Contains(waits.waiting.Reason, "whole 7, of which the cloud has not said arn yet") {
		t.Errorf("it ended with %d: %s", waits.ending, waits.waiting.Reason)
	}
	made.created["arn"] = modules.Text("arn:w")
	if column := waits.unknown(made); column != "" {
		t.Errorf("%s is known", column)
	}
	if want := waits.want(ops)["whole_id"]; want != modules.Text("arn:w") {
		t.Errorf("the reference is %q", want.String())
	}
	waits.Omit = []string{"whole_id"}
	delete(made.created, "arn")
	if column := waits.unknown(made); column != "" {
		t.Errorf("%s is left out of the call, and not needed", column)
	}
}
