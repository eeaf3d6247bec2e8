package modules

// ListRequest is what a listing is asked. The zero value of all but the scope asks for
// everything there is.
type ListRequest struct {
	Scope Scope
	// Waited: somebody waits for it, so that its calls may use a larger share of the rates
	// that the cloud allows.
	Waited bool
	// Memo has the answers that other listings of the cycle were given; nil: none are kept.
	Memo *Memo
	// Recorded reports whether there is a record of an object, which has its identity at
	// least. What is read of it from a late source is read directly before it changes the
	// record. nil: there is none of any.
	Recorded func(object Row) bool
	// Due reports whether what takes calls of its own is to be read of an object: each
	// object is due once in the time within which everything is to be looked at (the
	// settings max_staleness and watched_staleness). Of one that is not, the listing shows
	// what the listing call itself tells, and the rest is unknown. nil: all are.
	Due func(object Row) bool
	// RarelyDue reports whether what seldom changes, and takes calls of its own, is to be read of
	// an object: as Due, in a time that is many times as long. nil: of all.
	RarelyDue func(object Row) bool
	// Postponed reports whether a listing that makes a call for each parent leaves what is
	// within this one, by the parent's key, to a later listing: parents are due as objects
	// are. What is within one that is left is unknown (R5). nil: none is left.
	Postponed func(parent string) bool
	// Selected reports whether the listing is to look for objects within a parent, by the
	// parent's key: of tables that have [Reference.ListedIf] it asks for each that there is.
	// What is within one that it does not look into is unknown (R5). nil: none is selected.
	Selected func(parent string) bool
}

// IsRecorded asks Recorded.
func (r *ListRequest) IsRecorded(object Row) bool { return r.Recorded != nil && r.Recorded(object) }

// IsDue asks Due.
func (r *ListRequest) IsDue(object Row) bool { return r.Due == nil || r.Due(object) }

// IsRarelyDue asks RarelyDue.
func (r *ListRequest) IsRarelyDue(object Row) bool { return r.RarelyDue == nil || r.RarelyDue(object) }

// IsPostponed asks Postponed.
func (r *ListRequest) IsPostponed(parent string) bool {
	return r.Postponed != nil && r.Postponed(parent)
}

// IsSelected asks Selected.
func (r *ListRequest) IsSelected(parent string) bool { return r.Selected != nil && r.Selected(parent) }

// GetRequest is what a direct read is asked.
type GetRequest struct {
	Scope Scope
	// Identities are of the objects to be read: rows that hold at least the identity columns.
	Identities []Row
	// Waited is as in [ListRequest].
	Waited bool
	// Extent is what of the objects has to be read. What takes calls of its own and is no
	// part of it can be left out of their rows, where it is unknown.
	Extent Extent
	// Created returns what an object was created with a moment ago, and what the cloud has
	// answered; false for all other objects. What that settles takes no call to read.
	// References are in database terms. nil: none was.
	Created func(identity Row) (sent Row, ok bool)
	// Progress is told how far the reading is, by many at once and in halves of objects. A
	// resource that reads all of them by a few calls need not tell. nil: nobody asks.
	Progress func(halves int)
}

// WasCreated asks Created.
func (r *GetRequest) WasCreated(identity Row) (sent Row, ok bool) {
	if r.Created == nil {
		return nil, false
	}
	return r.Created(identity)
}

// Read tells that one more object has been read, or is proven not to be there.
func (r *GetRequest) Read() { r.tell(2) }

// HalfRead tells that half of an object has been read: further calls are about the rest.
func (r *GetRequest) HalfRead() { r.tell(1) }

func (r *GetRequest) tell(halves int) {
	if r.Progress != nil {
		r.Progress(halves)
	}
}

// Extent is what of objects a call has changed, or a read has to show.
type Extent string

// The extents.
const (
	Everything Extent = ""
	JustTags   Extent = "tags" // and what comes with them
	ButTags    Extent = "rest" // everything but them
)

// Has reports whether tags (or else the rest) are part of it.
func (p Extent) Has(tags bool) bool {
	return p == Everything || tags == (p == JustTags)
}

// Observation is an object as a read has shown it.
type Observation struct {
	// Row holds every described column except Local and WriteOnly ones, and except those
	// that could not be read: what is missing is unknown and left alone. Account and region
	// may be left out, the engine fills them in from the scope.
	Row Row
	// Phase is where in its life the object is.
	Phase Phase
	// Reason says why an object is Failed, for people; "" if the cloud does not say.
	Reason string
	// Protected says why the object must not be deleted by the engine on its own account
	// (ENFORCE): the cloud made it by itself, or it must not be lost by accident, such as a
	// default VPC. "" if it may.
	Protected string
	// Manager is whose machinery looks after the object: a stack, a group, a service of the
	// cloud, or the cloud itself; "" if nobody's. The engine neither deletes nor replaces it on
	// its own account (ENFORCE). Unlike what is Protected, a user may.
	Manager string
}

// Phase is where in its life an object is.
type Phase int

// The phases.
const (
	// There: the object is made.
	There Phase = iota
	// Forming: the cloud is still making it. What it does not say yet is unknown, and left
	// out of its row.
	Forming
	// Failed: the cloud began to make it and could not (a NAT gateway in a network that has
	// no internet gateway). It is of no use, and vanishes after a while or does not.
	Failed
	// Going: the cloud is deleting it, which takes minutes with many services. Until that has
	// ended the object can be read and its name is taken.
	Going
)

// Observe returns rows as observations of objects that are simply there.
func Observe(rows ...Row) []Observation {
	all := make([]Observation, len(rows))
	for i, row := range rows {
		all[i].Row = row
	}
	return all
}

// Rows returns the rows of observations.
func Rows(all []Observation) []Row {
	rows := make([]Row, len(all))
	for i := range all {
		rows[i] = all[i].Row
	}
	return rows
}
