package engine

import (
	"iasql/internal/decide"
)

// heldRows lists what a step leaves as it is although the two sides differ: since it
// is paused, or since a person is to decide about drift.
func heldRows(step decide.Step) []previewRow {
	s, held := step.Subject, step.Decision.Held
	if held == nil {
		return nil
	}
	action := "update"
	switch held.Action {
	case decide.InsertRecord:
		action = "create"
	case decide.DeleteRecord:
		action = "delete"
	}
	r := newRow(step, action, held.Why)
	for name, v := range held.Row {
		c := s.Table.Column(name)
		switch {
		case s.Record == nil && v.IsNull():
		case s.Record == nil:
			r.Changes[name] = change("null", show(c, v))
		default:
			r.Changes[name] = change(show(c, s.Record.Row[name]), show(c, v))
		}
	}
	return []previewRow{r}
}
