package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	gosync "sync"
	"time"

	"github.com/google/uuid"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// journal writes the calls of one operation into the intent log.
type journal struct {
	c      *cycle
	intent decide.Intent
	lock   gosync.Mutex
	ids    []int64
	asked  []string // what the cloud calls the requests
	err    error    // a refusal or a failure of the log itself
}

// Begin implements [modules.Journal].
func (j *journal) Begin(ctx context.Context, call modules.Call) (func(error), error) {
	j.c.progress()
	intent := j.intent
	intent.Call = call
	id, err := j.c.Store.Begin(ctx, j.c.lease, intent)
	j.lock.Lock()
	defer j.lock.Unlock()
	if err != nil {
		j.err = err
		return nil, err
	}
	j.ids = append(j.ids, id)
	j.c.report.count(func(r *store.Report) { r.Calls++ })
	return func(error) {}, nil
}

// requested notes what the cloud calls a request.
func (j *journal) requested(request string) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.asked = append(j.asked, request)
}

// leastToSend is how long a call may always wait for its turn. A window that is
// shorter than twice that is for clouds that are not loaded.
const leastToSend = 5 * time.Second

// Note implements [modules.Noter], where the store does.
func (j *journal) Note(ctx context.Context, request string) error {
	noter, ok := j.c.Store.(store.Noter)
	j.lock.Lock()
	defer j.lock.Unlock()
	if !ok || len(j.ids) == 0 {
		return nil
	}
	return noter.Note(ctx, j.c.lease, j.ids[len(j.ids)-1], request)
}

// call makes the calls of one operation and notes how it ended.
func (c *cycle) call(ctx context.Context, r *running, ops map[*decide.Op]*running) {
	for _, before := range r.After {
		b := ops[before]
		on := b.Subject.Ref()
		if b.ending == postponed || b.succeeded() && b.Partial() {
			r.ending, r.waiting = postponed,
				decide.Waiting{Subject: r.Subject, On: on,
					Reason: fmt.Sprintf("waits for %s %d, which is not complete yet", on.Table, on.ID)}
			return
		}
		if !b.succeeded() {
			r.ending, r.waiting = blocked,
				decide.Waiting{Subject: r.Subject, On: on,
					Reason: fmt.Sprintf("waits for %s %d, which failed", on.Table, on.ID)}
			return
		}
		if key := r.unknown(b); key != "" {
			r.ending, r.waiting = postponed,
				decide.Waiting{Subject: r.Subject, On: on,
					Reason: fmt.Sprintf("waits for %s %d, of which the cloud has not said %s yet", on.Table, on.ID,
						key)}
			return
		}
	}
	r.resolve(ops)
	j := &journal{c: c, intent: r.Intent()}
	if r.Kind == decide.OpCreate {
		if j.intent.Token = r.token; r.token == "" {
			j.intent.Token = c.newToken(r)
		}
	}
	object, err := c.traced(ctx, j, func(ctx context.Context) (modules.Row, error) { return c.send(ctx, r, ops, j) })
	if err != nil && j.err != nil && len(j.ids) == 0 &&
		(errors.Is(j.err, store.ErrRefused) || errors.Is(j.err, store.ErrLeaseLost)) {
		r.ending = refused
		return
	}
	r.ending, r.outcome = called, store.Outcome{Intent: j.intent, Subject: r.Subject}
	r.outcome.IDs, r.outcome.Requests = j.ids, j.asked
	if err == nil {
		c.succeed(r, object)
		return
	}
	r.unlogged = j.err != nil
	c.fail(r, err)
}

// newToken returns the token of a creation. What users ask for has one that follows from what they asked and from how
// many creations for the record have ended, so that a database that has gone back to before the creation finds
// the object again when it asks for it once more (R30). After one that the cloud refused it is another: the
// cloud would refuse it again (AWS Cloud Control API User Guide, "Managing resource operation requests": a
// token is remembered for 36 hours).
func (c *cycle) newToken(r *running) string {
	change := r.Subject.Change
	if change.Latest() == 0 {
		return uuid.NewString()
	}
	audit, at := change.Latest(), change.At
	// as it was asked for in the time that is not there any more, whatever was written since
	if replays, _ := r.Subject.Replays(); replays {
		audit, at = change.Newest(c.settings.WentBack.Audit)
	}
	return c.token(r.Subject, r.Replaces, audit, at, r.made)
}

// token returns the token of a creation for a record whose newest audit row was that, written then, and for which so
// many have ended. One that replaces an object has another for each object that it replaces.
func (c *cycle) token(s *decide.Subject, replaces bool, audit, at, made int64) string {
	installation, _ := uuid.Parse(c.settings.Installation)
	text := fmt.Appendf(nil, "%s %d %d %d %d", s.Table.Name, s.RecordID, audit, at, made)
	if identity, named := s.Identity(); replaces && named {
		key, _ := s.Table.Key(identity)
		text = fmt.Appendf(text, " %s", key)
	}
	return uuid.NewSHA1(installation, text).String()
}

// readCreations reads how many creations have ended for the records for which a plan creates an object.
func (c *cycle) readCreations(ctx context.Context, ops map[*decide.Op]*running) error {
	byTable := map[string][]int64{}
	for op := range ops {
		if op.Kind == decide.OpCreate {
			byTable[op.Subject.Table.Name] = append(byTable[op.Subject.Table.Name], op.Subject.RecordID)
		}
	}
	for _, t := range tablesWith(&c.catalog, byTable) {
		made, err := c.Store.Creations(ctx, t.Name, byTable[t.Name])
		if err != nil {
			return fmt.Errorf("read what was created for records of %s: %w", t.Name, err)
		}
		for op, r := range ops {
			if op.Kind == decide.OpCreate && op.Subject.Table == t {
				r.made = made[op.Subject.RecordID]
			}
		}
	}
	return nil
}

// traced sends within a span of the operation.
func (c *cycle) traced(ctx context.Context, j *journal,
	send func(context.Context) (modules.Row, error)) (object modules.Row, err error) {
	in := &j.intent
	ctx, end := c.span(ctx, string(in.Kind)+" "+in.Record.Table, &err,
		append(ofPlace(in.Record.Table, in.Scope), attrRecord.Int64(in.Record.ID))...)
	defer end()
	object, err = send(ctx)
	c.annotate(ctx, attrOperation.Int64Slice(j.ids))
	return object, err
}

// send makes the operation's calls, and returns what a creation has made.
func (c *cycle) send(ctx context.Context, r *running, ops map[*decide.Op]*running, j *journal) (modules.Row, error) {
	s, res := r.Subject, c.Registry.Resource(r.Subject.Table.Name)
	m := modules.Mutation{Scope: j.intent.Scope, Token: j.intent.Token, Pending: r.request, Permit: &modules.Permit{
		Journal: j,
		// Half of the window in which it is to have its effect (see
		// [decide.Intent.Expired]) is for sending it.
		SendWithin:  max(c.settings.ConsistencyWindow/2, leastToSend),
		OnRequest:   j.requested,
		Accompanied: r.accompanied,
	}}
	switch r.Kind {
	case decide.OpCreate:
		m.Want = r.want(ops)
		return res.(modules.Creator).Create(ctx, m)
	case decide.OpUpdate:
		m.Have, m.Want, m.Columns = s.Cloud, r.want(ops), r.Columns
		return nil, res.(modules.Updater).Update(ctx, m)
	}
	m.Have = r.have()
	return nil, res.(modules.Deleter).Delete(ctx, m)
}

// have returns what a deletion is told of the object: what the cloud says of it,
// and what the record says, or said when it was deleted, that only the database
// knows.
func (r *running) have() modules.Row {
	s := r.Subject
	var last modules.Row
	switch {
	case s.Record != nil:
		last = s.Record.Row
	case s.Change != nil:
		last = s.Change.Last
	}
	have := s.Cloud.Clone()
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		if v, told := last[col.Name]; col.Local && told {
			have[col.Name] = v
		}
	}
	return have
}

// want returns what the record asks for, in cloud terms: parents created by
// this very plan included.
func (r *running) want(ops map[*decide.Op]*running) modules.Row {
	s := r.Subject
	want := s.Record.Row.Clone()
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		ref := col.References
		if ref == nil || ref.ByKey || want[col.Name].IsNull() {
			continue
		}
		if slices.Contains(r.Omit, col.Name) {
			want[col.Name] = modules.Null
			continue
		}
		key := s.RefKeys[col.Name]
		if key.IsNull() && r.Kind == decide.OpUpdate && ref.Table == s.Table.Name &&
			want[col.Name].Int() == s.RecordID {
			key = s.Cloud[ref.Key] // itself: its row may not say yet what it is called
		}
		for _, before := range r.After {
			if b := ops[before]; r.namesCreated(col, b) {
				key = b.created[ref.Key]
			}
		}
		want[col.Name] = key
	}
	return want
}

// namesCreated reports whether a column of the record refers to what another operation of the plan has created.
func (r *running) namesCreated(c *modules.Column, b *running) bool {
	return b.Kind == decide.OpCreate && b.Subject.Table.Name == c.References.Table &&
		r.Subject.Record.Row[c.Name].Int() == b.Subject.RecordID
}

// unknown returns the column by which the record has to name what the operation b has created, and of which the answer
// to that said nothing; "" if there is none. Without it the reference would be sent as none.
func (r *running) unknown(b *running) string {
	if r.Kind == decide.OpDelete || r.Subject.Record == nil {
		return ""
	}
	for i := range r.Subject.Table.Columns {
		c := &r.Subject.Table.Columns[i]
		if ref := c.References; ref == nil || ref.ByKey || r.Subject.Record.Row[c.Name].IsNull() ||
			slices.Contains(r.Omit, c.Name) {
			continue
		}
		if r.namesCreated(c, b) && b.created[c.References.Key].IsNull() {
			return c.References.Key
		}
	}
	return ""
}

// resolve puts in place of the names that lists of records stand for those that the records have now, what this very
// plan has made included.
func (r *running) resolve(ops map[*decide.Op]*running) {
	s := r.Subject
	lists := s.Table.Lists()
	if len(lists) == 0 || s.Record == nil || r.Kind == decide.OpDelete {
		return
	}
	record := *s.Record
	record.Row = s.Record.Row.Clone()
	for _, list := range lists {
		c := s.Table.Column(list.Records.NameColumn)
		names, _ := s.Names(c)
		elements, ids := names.Elements(), s.Record.Row[list.Name].IDs()
		for _, before := range r.After {
			b := ops[before]
			if b.Kind != decide.OpCreate || b.Subject.Table.Name != list.Records.Table {
				continue
			}
			if i := slices.Index(ids, b.Subject.RecordID); i >= 0 && i < len(elements) {
				elements[i] = b.created[list.Records.Key]
			}
		}
		if elements != nil {
			record.Row[c.Name] = modules.Elements(elements)
		}
	}
	s.Record = &record
}
