package decide

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"iasql/internal/modules"
)

// OpKind is what an operation does to its object.
type OpKind string

// The kinds of operations.
const (
	OpCreate OpKind = "create"
	OpUpdate OpKind = "update"
	OpDelete OpKind = "delete"
)

// Result is how a call ended, as far as is known.
type Result string

// The results an entry of the intent log can have; "" until the call ends.
const (
	ResultOK        Result = "ok"
	ResultFailed    Result = "failed"
	ResultUnknown   Result = "unknown"   // the answer was lost: the call is in doubt
	ResultAbandoned Result = "abandoned" // recovery proved that it had no effect
)

// Intent is a mutating call in the intent log, where it is committed before it is
// made (R6). All calls of one operation have the same intent.
type Intent struct {
	IDs    []int64 // entries of the log: one for each call
	Record RecordRef
	Scope  modules.Scope
	Kind   OpKind
	// Call is what is asked of the cloud's API. It is written, never read.
	Call modules.Call
	// Key is the cloud's name for the object; "" for a creation that was not
	// answered.
	Key string
	// Token is the idempotency token of a creation: made again with it, a creation
	// makes nothing new.
	Token string
	// Request is what the cloud calls what the call has begun; "" where it is not known.
	Request string
	Columns map[string]ValueChange // without the values of secrets (R16)
	UpTo    int64                  // the newest audit row of the record when the intent was written
	// Replaces: see [Op.Replaces].
	Replaces bool
	Result   Result
	// Expired: twice the consistency window has passed since the last sign of life
	// of an intent in doubt (it began, or its answer was lost), once for the call to
	// take effect and once for that to be seen, so that not finding its effect means
	// that it had none.
	Expired bool
}

// ValueChange is a column's value before and after.
type ValueChange struct {
	From, To modules.Value
	// Named is the cloud's name for what a reference led to before. From does not
	// always say it: that may have had no record, and may have another by now.
	Named modules.Value
}

// ID returns the newest entry of the log, 0 for none.
func (i *Intent) ID() int64 {
	if len(i.IDs) == 0 {
		return 0
	}
	return slices.Max(i.IDs)
}

// Unsure reports whether the answer was lost, so that the call may not have been
// made.
func (i *Intent) Unsure() bool { return i.Result == ResultUnknown || i.Result == ResultAbandoned }

// AsksFor reports whether a row has the identity that a creation was to give its
// object.
func (i *Intent) AsksFor(t *modules.Table, row modules.Row) bool {
	for _, name := range t.Identity() {
		if row[name] != i.Columns[name].To {
			return false
		}
	}
	return true
}

// SettledSince reports whether what the record was asked for when the intent was
// written has been settled.
func (s *Subject) SettledSince(i *Intent) bool {
	return s.State == nil && (s.Change == nil || !slices.ContainsFunc(s.Change.AuditIDs, func(id int64) bool {
		return id <= i.UpTo
	}))
}

// Intent returns what is to be put into the intent log before the operation's
// calls.
func (op *Op) Intent() Intent {
	s := op.Subject
	i := Intent{Record: s.Ref(), Kind: op.Kind, Scope: s.Scope, Columns: op.changes(), UpTo: s.Change.Latest(),
		Replaces: op.Replaces}
	if op.Kind == OpCreate { // what it makes has no name yet
		i.Scope = s.Table.Scope(s.Record.Row)
	} else {
		identity, _ := s.Identity()
		i.Key, _ = s.Table.Key(identity)
	}
	return i
}

// changes returns the columns the operation writes, without the values of
// secrets (R16).
func (op *Op) changes() map[string]ValueChange {
	changes := map[string]ValueChange{}
	s := op.Subject
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		var v ValueChange
		switch op.Kind {
		case OpUpdate:
			if !slices.Contains(op.Columns, col.Name) {
				continue
			}
			v = ValueChange{From: s.Object[col.Name], To: s.Record.Row[col.Name]}
			if col.References != nil && !col.References.ByKey {
				v.Named = s.Cloud[col.Name]
			}
		case OpCreate:
			if col.Computed || col.Local || slices.Contains(op.Omit, col.Name) || s.Record.Row[col.Name].IsNull() {
				continue
			}
			v = ValueChange{To: s.Record.Row[col.Name]}
		default:
			// An object of a chosen name may be followed by another of that name:
			// how this one looked tells them apart (see showsPredecessor).
			if op.Kind != OpDelete || s.Table.ComputedIdentity() || col.Computed || col.WriteOnly ||
				s.NamesOutgoing(col.Name) || col.Name == modules.ColumnAccount {
				continue
			}
			v = ValueChange{From: s.Object[col.Name]}
		}
		if col.WriteOnly {
			v = ValueChange{}
		}
		changes[col.Name] = v
	}
	return changes
}

// Intents are this engine's and others' recent calls, by record and by object. There may
// be thousands, and most cycles ask about few records: they are looked through then, and
// indexed for those who ask more. They may be asked by several at once.
type Intents struct{ *intents }

type intents struct {
	lock     sync.Mutex
	list     []*Intent // as long as they are not indexed
	asked    int
	byRecord map[RecordRef][]*Intent
	byObject map[objectRef][]*Intent
	planned  map[string]bool // the names of what is to be created
}

// fewQuestions is how many questions cost less than an index.
const fewQuestions = 32

// NewIntents returns what intents are found by, which it keeps; they are in the order of
// their entries.
func NewIntents(list []*Intent) Intents { return Intents{&intents{list: list}} }

// Add adds an intent.
func (log *intents) Add(i *Intent) {
	log.lock.Lock()
	defer log.lock.Unlock()
	if log.byRecord == nil {
		log.list = append(log.list, i)
		return
	}
	log.enter(i)
}

// enter puts an intent into the index.
func (log *intents) enter(i *Intent) {
	if i.Record.ID != 0 {
		log.byRecord[i.Record] = append(log.byRecord[i.Record], i)
	}
	if ref, named := i.object(); named {
		log.byObject[ref] = append(log.byObject[ref], i)
	}
}

// object returns what the intent is about.
func (i *Intent) object() (ref objectRef, named bool) {
	return objectRef{i.Record.Table, i.Scope, i.Key}, i.Key != ""
}

// index makes the index, unless there is one.
func (log *intents) index() {
	if log.byRecord != nil {
		return
	}
	log.byRecord, log.byObject = make(map[RecordRef][]*Intent, len(log.list)),
		make(map[objectRef][]*Intent, len(log.list))
	for _, i := range log.list {
		log.enter(i)
	}
	log.list = nil
}

// find returns the intents of a record and those about an object, oldest first; either
// may be none.
func (log *intents) find(record RecordRef, object objectRef) (ofRecord, ofObject []*Intent) {
	if log == nil {
		return nil, nil
	}
	log.lock.Lock()
	defer log.lock.Unlock()
	if log.asked++; log.asked > fewQuestions {
		log.index()
	}
	if log.byRecord != nil {
		return log.byRecord[record], log.byObject[object]
	}
	for _, i := range log.list {
		if record.ID != 0 && i.Record == record {
			ofRecord = append(ofRecord, i)
		}
		if object.key != "" && i.Key == object.key && i.Record.Table == object.table && i.Scope == object.scope {
			ofObject = append(ofObject, i)
		}
	}
	return ofRecord, ofObject
}

// Expect notes the names of what a plan is about to create, and of what waits to be created: until that has
// been done, what names it may be told that there is no such thing.
func (log *intents) Expect(plan Plan) {
	log.lock.Lock()
	defer log.lock.Unlock()
	if log.planned == nil {
		log.planned = map[string]bool{}
	}
	expect := func(s *Subject) {
		if s.Record == nil {
			return
		}
		for i := range s.Table.Columns {
			c := &s.Table.Columns[i]
			if v := s.Record.Row[c.Name]; c.Type == modules.TypeText && c.Identity && !c.Computed && !v.IsNull() {
				log.planned[v.String()] = true
			}
		}
	}
	for _, op := range plan.Ops {
		if op.Kind == OpCreate {
			expect(op.Subject)
		}
	}
	for _, w := range plan.Waiting {
		if w.Subject.Object == nil {
			expect(w.Subject)
		}
	}
}

// names reports whether one of the calls was a creation of something by which a text may
// have its name, or such a creation is to come: the text has the cloud's name for it in it, or a value that was
// asked for. Of a creation that has not been answered nobody knows the name that the cloud gives.
func (log *intents) names(text string) bool {
	if log == nil {
		return false
	}
	log.lock.Lock()
	defer log.lock.Unlock()
	if log.planned[text] {
		return true
	}
	log.index()
	for _, list := range log.byRecord {
		for _, i := range list {
			if i.Kind != OpCreate {
				continue
			}
			for _, part := range strings.Split(i.Key, "\x1f") {
				if part != "" && strings.Contains(text, part) {
					return true
				}
			}
			for _, c := range i.Columns {
				if !c.To.IsNull() && c.To.String() == text {
					return true
				}
			}
		}
	}
	return false
}

// Merge adds the intents of another log, which nobody else uses, that are not in this one.
func (log *intents) Merge(other Intents) {
	log.lock.Lock()
	defer log.lock.Unlock()
	log.index()
	other.index()
	for ref, list := range other.byRecord {
		log.byRecord[ref] = mergeIntents(log.byRecord[ref], list)
	}
	for ref, list := range other.byObject {
		log.byObject[ref] = mergeIntents(log.byObject[ref], list)
	}
}

func mergeIntents(have, more []*Intent) []*Intent {
	for _, i := range more {
		if !slices.ContainsFunc(have, func(h *Intent) bool { return h.ID() == i.ID() }) {
			have = append(have, i)
		}
	}
	return have
}

// Of returns the calls that changed the subject's object, oldest first; identity
// names the object. Calls that changed another object of the same record (the
// predecessor in a replacement) do not count.
func (log *intents) Of(s *Subject, identity modules.Row) []*Intent {
	key, named := s.Table.Key(identity)
	var object objectRef
	if named {
		object = objectRef{s.Table.Name, s.Scope, key}
	}
	ofRecord, ofObject := log.find(s.Ref(), object)
	found := slices.Clone(ofObject)
	if s.RecordID != 0 && !s.Deposed {
		for _, i := range ofRecord {
			if !named && i.Kind != OpDelete && i.Key == "" || named && i.Key == key && i.Scope != s.Scope {
				found = append(found, i)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Intent) int { return cmp.Compare(a.ID(), b.ID()) })
	return found
}

// deletedLast reports whether the newest thing these calls did to the object's
// existence was to delete it.
func deletedLast(own []*Intent) bool {
	for _, i := range slices.Backward(own) {
		switch {
		case i.Kind == OpDelete && i.Unsure(): // deleting again does no harm
		case i.Kind == OpDelete:
			return true
		case i.Kind == OpCreate:
			return false
		}
	}
	return false
}

// deletedLast reports whether the newest thing this engine did to the object's
// existence, within the consistency window, was to delete it.
func (s *Subject) deletedLast() bool { return deletedLast(s.Own) }

// CreatedLast reports whether the newest thing this engine did to the object's
// existence, within the consistency window, was to create it.
func (s *Subject) CreatedLast() bool {
	return slices.ContainsFunc(s.Own, func(i *Intent) bool { return i.Kind == OpCreate }) && !s.deletedLast()
}

// showsPredecessor reports whether the object was read as it was before this engine
// replaced it by another of the same name: it looks in every column like the one that was
// deleted, and not like what has been made in its place, or like the record (R13).
func (s *Subject) showsPredecessor() bool {
	var deleted *Intent
	var made map[string]modules.Value // what its successor was given; nil: there is none
	for _, i := range s.Own {
		switch {
		case i.Kind == OpDelete:
			if made != nil && s.looksLike(deleted.Columns, made) {
				return true
			}
			deleted, made = i, nil
		case i.Kind == OpCreate && deleted != nil:
			made = map[string]modules.Value{}
		}
		if made != nil {
			for name, v := range i.Columns {
				made[name] = v.To
			}
		}
	}
	return made != nil && s.looksLike(deleted.Columns, made)
}

// looksLike reports whether the object looks like the old one rather than like what was
// made in its place, or like the record, which may have moved back since: a column that is
// fixed at creation tells, and without one all columns together.
func (s *Subject) looksLike(old map[string]ValueChange, made map[string]modules.Value) bool {
	alike, differs := true, false
	for name, was := range old {
		c := s.Table.Column(name)
		if c == nil {
			continue
		}
		given, said := made[name]
		same, changed := c.Same(s.Object[name], was.From), !c.Same(s.Record.Row[name], was.From) || said &&
			!c.Same(given, was.From)
		if c.CreateOnly && same && changed {
			return true
		}
		alike, differs = alike && same, differs || changed
	}
	return alike && differs
}
