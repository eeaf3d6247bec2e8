package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// knownAfterApply stands for a value that only the cloud can tell.
const knownAfterApply = `"(known after apply)"`

// preview is what a commit would do.
type preview struct {
	Rows []previewRow `json:"rows"`
	Hash string       `json:"hash"`
}

// previewRow is a row of iasql_preview().
type previewRow struct {
	Action      string                     `json:"action"`
	Direction   string                     `json:"direction"`
	Table       string                     `json:"table_name"`
	ID          *int64                     `json:"id"`
	Description string                     `json:"description"`
	Changes     map[string]json.RawMessage `json:"changes"`
	Reason      string                     `json:"reason"`
	// Who has changed it in the cloud, as events tell. The hash does not depend on it:
	// an event that comes late makes it no other plan.
	Who json.RawMessage `json:"who,omitempty"`

	step decide.Step
}

// preview runs the cycles of a batch or, for batch 0, every account's full cycle,
// without carrying anything out, and lists what they would have done (R9, R10). own
// are edits in the batch, or outside of any, that the asking transaction has not
// committed.
func (e *Engine) preview(ctx context.Context, own *postgres.OwnEdits, batch int64) (*preview, error) {
	kind := store.Full
	if batch != 0 {
		kind = store.Push
	}
	accounts, err := e.accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := &preview{Rows: []previewRow{}}
	var secrets []string
	var held []error
	for _, account := range accounts {
		report, failure := e.previewOf(ctx, account, own, batch, kind)
		switch {
		case failure != nil:
			return nil, failure
		case report.Held: // nothing would be done about it; which is said where there is nothing else
			held = append(held, heldError(account, report.Stopped))
		}
		for _, step := range report.Steps {
			if s := step.Subject; step.Decision.Action.Pushes() && s.State != nil && !s.State.Due {
				continue // it backs off, or waits for a person: a commit leaves it alone too
			}
			out.Rows = append(out.Rows, rowsOf(step)...)
			secrets = append(secrets, secretsOf(step)...)
		}
	}
	if len(held) > 0 && len(held) == len(accounts) {
		return nil, held[0]
	}
	slices.SortFunc(out.Rows, func(a, b previewRow) int {
		return cmp.Or(cmp.Compare(a.Direction, b.Direction)*-1, cmp.Compare(a.Table, b.Table),
			cmp.Compare(value(a.ID), value(b.ID)),
			cmp.Compare(a.Description, b.Description), cmp.Compare(a.Action, b.Action))
	})
	text, err := json.Marshal(out.Rows)
	if err != nil {
		return nil, err
	}
	slices.Sort(secrets)
	sum := sha256.Sum256([]byte(string(text) + strings.Join(secrets, " ")))
	out.Hash = hex.EncodeToString(sum[:])
	return out, e.nameAuthors(ctx, out.Rows)
}

// previewOf runs the cycle of a preview of one account: between two pages of a full cycle that
// is listing here, or under a lease of its own.
func (e *Engine) previewOf(ctx context.Context, account string, own *postgres.OwnEdits, batch int64,
	kind store.Kind) (store.Report, error) {
	cycle := &sync.Reconciler{Registry: e.registry, Concurrency: e.options.Concurrency, Tracer: e.options.Tracer,
		ReadOnly: true, Worlds: e.worlds}
	cycle.Store = &postgres.Overlay{Database: e.database, Own: own, Batch: batch}
	errand := &sync.Errand{Kind: kind, Batch: batch, Prepare: func(ctx context.Context) (*sync.Reconciler, error) {
		return cycle, e.learnTypes(ctx)
	}}
	if ran, err := e.coalescer.errand(ctx, account, errand); ran || err != nil {
		return errand.Report, errors.Join(err, errand.Err)
	}
	lease, err := e.database.Acquire(ctx, account, e.id, postgres.CycleOptions{Kind: "preview", Batch: batch})
	if err != nil {
		return store.Report{}, err
	}
	below, end := e.cycleSpan(ctx, lease.Lease, "preview")
	report, failure := e.underLease(below, lease, cycle, kind, nil)
	end(failure)
	return report, failure
}

// nameAuthors adds to lines that show what was changed in the cloud who has changed it,
// as far as events have told.
func (e *Engine) nameAuthors(ctx context.Context, rows []previewRow) error {
	var lines []postgres.Line
	for i := range rows {
		if r := &rows[i]; r.Direction != "push" || len(driftOfDeleted(r.step)) > 0 {
			lines = append(lines, postgres.Line{Number: i, Subject: r.step.Subject, Pull: r.Direction == "pull"})
		}
	}
	who, err := e.database.Reviewed(ctx, lines)
	for i, author := range who {
		rows[i].Who = author
	}
	return err
}

// secretsOf tells one secret that is to be pushed from another, which rows do
// not show: by the change that asks for it.
func secretsOf(step decide.Step) (list []string) {
	s := step.Subject
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if c.WriteOnly && s.Record != nil && !s.Record.Row[c.Name].IsNull() && step.Decision.Action.Pushes() {
			list = append(list, fmt.Sprintf("%s %d %s %d", s.Table.Name, s.RecordID, c.Name, s.Change.Latest()))
		}
	}
	return list
}

func value(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

// rowsOf lists what a step does: a push, a pull, and conflicts, each a row.
func rowsOf(step decide.Step) []previewRow {
	s, d := step.Subject, step.Decision
	rows := pushRows(step)
	switch d.Action {
	case decide.InsertRecord:
		r := newRow(step, "create", "pull")
		for name, v := range d.Pull {
			if c := s.Table.Column(name); c != nil && !v.IsNull() {
				r.Changes[name] = change("null", show(c, v))
			}
		}
		rows = append(rows, r)
	case decide.DeleteRecord:
		rows = append(rows, newRow(step, "delete", "pull"))
	}
	if len(d.Pull) > 0 && s.Record != nil && d.Action != decide.InsertRecord {
		r := newRow(step, "update", "pull")
		if d.Action.Pushes() { // of which the reason speaks
			r.Reason = "changed in the cloud"
		}
		for name, v := range d.Pull {
			c := s.Table.Column(name)
			r.Changes[name] = change(show(c, s.Record.Row[name]), show(c, v))
		}
		rows = append(rows, r)
	}
	if d.Refused { // whether or not a commit has met it before
		r := newRow(step, "delete", "refused")
		if s.Record != nil {
			r.Action, r.Description = "create", describeSubject("create", s)
		}
		return append(rows, r)
	}
	if held := heldRows(step); len(held) > 0 {
		return append(rows, held...)
	}
	for _, conflict := range d.Conflicts {
		r := newRow(step, "update", "conflict")
		r.Reason = "changed on both sides"
		if conflict.Column == "" {
			r.Action, r.Reason = "delete", d.Reason
		} else {
			c := s.Table.Column(conflict.Column)
			r.Changes[conflict.Column] = change(show(c, conflict.Cloud), show(c, conflict.Database))
		}
		rows = append(rows, r)
	}
	return rows
}

// newRow returns a row about a step that has no changes yet.
func newRow(step decide.Step, action, direction string) previewRow {
	s := step.Subject
	r := previewRow{Action: action, Direction: direction, Table: s.Table.Name, Reason: step.Decision.Reason,
		Changes: map[string]json.RawMessage{}, step: step}
	if s.RecordID != 0 {
		r.ID = &s.RecordID
	}
	r.Description = describeSubject(action, s)
	return r
}

// pushRows lists what a step does in the cloud.
func pushRows(step decide.Step) []previewRow {
	s, d := step.Subject, step.Decision
	switch d.Action {
	case decide.Create:
		r := newRow(step, "create", "push")
		for i := range s.Table.Columns {
			c := &s.Table.Columns[i]
			v := s.Record.Row[c.Name]
			switch {
			case c.Computed && v.IsNull():
				r.Changes[c.Name] = change("null", knownAfterApply)
			case (!c.Local || c.Records != nil) && !v.IsNull():
				r.Changes[c.Name] = change("null", show(c, v))
			}
		}
		return []previewRow{r}
	case decide.Update, decide.Replace:
		action := "update"
		if d.Action == decide.Replace {
			action = "replace"
		}
		r := newRow(step, action, "push")
		for _, name := range d.Push {
			c := s.Table.Column(name)
			from := show(c, s.Object[name])
			if s.NamesOutgoing(name) {
				from = show(c, s.Record.Row[name])
			}
			names, _ := s.Names(c)
			r.Changes[name] = change(from, show(c, names))
			if records := s.Table.RecordsOf(c); records != nil { // which has what has no name yet
				r.Changes[records.Name] = change(show(records, s.Object[records.Name]),
					show(records, s.Record.Row[records.Name]))
			}
		}
		for i := range s.Table.Columns {
			if c := &s.Table.Columns[i]; d.Action == decide.Replace && c.Identity && c.Computed {
				r.Changes[c.Name] = change(show(c, s.Object[c.Name]), knownAfterApply)
			}
		}
		return []previewRow{r}
	case decide.Delete:
		r := newRow(step, "delete", "push")
		identity, _ := s.Identity()
		for _, name := range s.Table.Identity() {
			r.Changes[name] = change(show(s.Table.Column(name), identity[name]), "null")
		}
		if drift := driftOfDeleted(step); len(drift) > 0 { // whoever deleted the record has not seen that
			for _, name := range drift {
				r.Changes[name] = change(show(s.Table.Column(name), s.Object[name]), "null")
			}
			r.Reason += "; changed in the cloud since: " + strings.Join(drift, ", ")
		}
		return []previewRow{r}
	}
	return nil
}

// driftOfDeleted returns the columns of an object that is to be deleted which the cloud has
// changed, and whose record never showed that.
func driftOfDeleted(step decide.Step) (drift []string) {
	s := step.Subject
	if step.Decision.Action != decide.Delete || s.Change == nil || s.Change.Last == nil {
		return nil
	}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		cloud, read := s.Object[c.Name]
		had, edited := s.Change.Base[c.Name]
		if !edited {
			had = s.Change.Last[c.Name]
		}
		switch {
		case !read, c.Computed, c.Local, c.WriteOnly, c.Name == modules.ColumnAccount, s.NamesOutgoing(c.Name),
			had.IsNull() && (c.OptionalComputed || c.References != nil), c.Same(had, cloud):
		default:
			drift = append(drift, c.Name)
		}
	}
	return drift
}

func show(c *modules.Column, v modules.Value) string {
	if c.WriteOnly && !v.IsNull() {
		return `"********"`
	}
	return string(auditlog.ToJSON(c, v))
}

func change(from, to string) json.RawMessage {
	return json.RawMessage(`{"from":` + from + `,"to":` + to + `}`)
}

// nameColumn returns the column that holds what people call a record of the table:
// name or, of a security_group, group_name.
func nameColumn(t *modules.Table) string {
	for i := range t.Columns {
		of, named := strings.CutSuffix(t.Columns[i].Name, "_name")
		if named && !t.Columns[i].Computed && t.Columns[i].References == nil && strings.HasSuffix(t.Name, of) {
			return t.Columns[i].Name
		}
	}
	if names := t.NameColumns(); t.Column("name") == nil && len(names) > 0 {
		return names[0]
	}
	return "name"
}

// describeSubject names a record as people know it: by its Name tag or its name
// and by the cloud's name, if it has one.
func describeSubject(action string, s *decide.Subject) string {
	row := s.Object
	if s.Record != nil {
		row = s.Record.Row
	} else if s.Change != nil && s.Change.Last != nil {
		row = s.Change.Last
	}
	label := ""
	if tags := row[modules.ColumnTags].StringMap(); tags["Name"] != "" {
		label = " " + tags["Name"]
	} else if v := row[nameColumn(s.Table)]; !v.IsNull() {
		label = " " + v.String()
	}
	if identity, ok := s.Identity(); ok {
		if key, _ := s.Table.Key(identity); key != "" && " "+key != label {
			label += " (" + modules.SpellKey(key) + ")"
		}
	}
	if s.Scope.Region != "" {
		label += " in " + s.Scope.Region
	}
	return fmt.Sprintf("%s %s%s", action, s.Table.Name, label)
}
