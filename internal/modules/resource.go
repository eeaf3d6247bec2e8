package modules

import (
	"context"
	"time"
)

// Resource is one table's counterpart in the cloud: how to find and read its
// objects. What else it can do it says by also implementing [Creator],
// [Updater], [Deleter] and [Finder]; a table whose resource cannot create or
// delete refuses the INSERT or DELETE when it is written.
//
// All rows are in cloud terms. Methods must be safe for concurrent use and must
// not keep or change the rows they are given. Errors should be or wrap [*Error];
// any other error counts as [Transient].
type Resource interface {
	// Table returns the description; always the same pointer.
	Table() *Table

	// List gives every object of the scope to page, page by page, and returns
	// nil only if the listing was complete, and [*Unread] if it was but for objects
	// that may not be read. It returns page's error as it is.
	List(ctx context.Context, r ListRequest, page func([]Observation) error) error

	// Get reads the objects with the request's identities. An object missing from
	// the result is proven not to exist; if that cannot be said of even one, Get
	// returns an error. With [*Unread] it returns what could be read. It asks the
	// cloud in as few calls as the API allows.
	Get(ctx context.Context, r GetRequest) ([]Observation, error)
}

// Creator creates objects.
type Creator interface {
	// Create creates the object that want describes and returns it, or at
	// least its identity. It need not set every column: the engine compares
	// and calls Update for what is left. Where the table's Creation is ByToken
	// the call carries token, and repeating it with an equal token must not
	// create again; where it is ByTag the object carries token from its first
	// instant, for [Finder].
	Create(ctx context.Context, scope Scope, want Row, token string) (Row, error)
}

// Updater changes objects in place.
type Updater interface {
	// Update makes the named columns of the object have what they hold in
	// want; have is the object as it was last read. Columns are neither
	// Assigned nor CreateOnly nor Local.
	Update(ctx context.Context, scope Scope, have, want Row, columns []string) error
}

// Deleter deletes objects.
type Deleter interface {
	// Delete removes the object, have being what is known of it: at least its
	// identity. An object that is already gone is no error. The Local columns of the
	// record are in have as the record had them last, if there was one: they may say
	// how the object is to be deleted.
	Delete(ctx context.Context, scope Scope, have Row) error
}

// Finder finds objects by the token they were created with; resources whose
// Creation is ByTag have it.
type Finder interface {
	// FindCreated returns, by token, the objects that carry one of the tokens.
	FindCreated(ctx context.Context, scope Scope, tokens []string) (map[string]Row, error)
}

// Phaser is a [Resource] whose rows say where in its life an object is.
type Phaser interface {
	Resource
	// Phase returns that, of an object's row or its record's, and as [Observation.Reason]
	// why it failed.
	Phase(row Row) (phase Phase, reason string)
}

// Validator tells what is wrong with how a resource was made, such as a member of
// the API that there is not. [NewRegistry] asks every resource that is one.
type Validator interface{ Validate() error }

// Abilities are what can be done with a table's objects besides reading them.
type Abilities struct{ Create, Update, Delete bool }

// Can returns what can be done with a resource's objects: what its own method
// Can says, or else which of [Creator], [Updater] and [Deleter] it is.
func Can(r Resource) Abilities {
	if able, ok := r.(interface{ Can() Abilities }); ok {
		return able.Can()
	}
	_, creates := r.(Creator)
	_, updates := r.(Updater)
	_, deletes := r.(Deleter)
	return Abilities{creates, updates, deletes}
}

// Call names one mutating API call: Service "EC2", Action "CreateVpc".
type Call struct {
	Service string
	Action  string
}

// Journal records mutating calls before they are made.
type Journal interface {
	// Begin commits to the journal that the call is about to be made. The call
	// must not be made if it returns an error. The function it returns is told
	// how the call ended.
	Begin(ctx context.Context, call Call) (end func(error), err error)
}

// Noter is a [Journal] that remembers what the cloud calls a request that goes on after
// the call that made it was answered.
type Noter interface {
	// Note commits to the journal that the last call began the request.
	Note(ctx context.Context, request string) error
}

// Note tells the journal that the call that has just been answered began a request of
// that name. Where the journal cannot remember it, repeating the call with its token has
// to do.
func Note(ctx context.Context, request string) error {
	if n, ok := ctx.Value(journalKey{}).(Noter); ok {
		return n.Note(ctx, request)
	}
	return nil
}

type notedKey struct{}

// Follower is a [Resource] whose calls are answered before what they ask for is done, and
// whose objects do not tell so meanwhile: one that is being deleted looks like any other.
type Follower interface {
	Resource
	// Ended reports whether a request that was noted has ended, well or not.
	Ended(ctx context.Context, scope Scope, request string) (bool, error)
}

// WithNoted says below ctx, where a creation is repeated whose end is not known, which
// request the first call began.
func WithNoted(ctx context.Context, request string) context.Context {
	return context.WithValue(ctx, notedKey{}, request)
}

// Noted returns the request whose end is to be found out; "" for none.
func Noted(ctx context.Context) string {
	request, _ := ctx.Value(notedKey{}).(string)
	return request
}

type requestsKey struct{}

// WithRequests has the function told below ctx what the cloud calls each request that changes
// something, by which it tells others of it. told is called by several at once.
func WithRequests(ctx context.Context, told func(request string)) context.Context {
	return context.WithValue(ctx, requestsKey{}, told)
}

// Requested tells what the cloud calls a request that was answered.
func Requested(ctx context.Context, request string) {
	if told, ok := ctx.Value(requestsKey{}).(func(string)); ok && request != "" {
		told(request)
	}
}

type journalKey struct{}

// WithMutations permits mutating calls below ctx, each journaled by j.
func WithMutations(ctx context.Context, j Journal) context.Context {
	return context.WithValue(ctx, journalKey{}, j)
}

type (
	sendKey  struct{}
	entryKey struct{}
)

// entry is when a call was about to be journaled, and within what time of that it
// has to be sent.
type entry struct {
	began  time.Time
	within time.Duration
}

// SendWithin sets a limit below ctx to how long after its journal entry a mutating
// call may still be sent: whoever looks for its effect later has to know when it
// can have had it (R6). What is too late says [Late].
func SendWithin(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, sendKey{}, d)
}

// Late reports whether it is too late to send the call that ctx belongs to,
// because it has waited for its turn, or the process for the CPU, for longer than
// [SendWithin] allows. Every transport asks it before it sends a mutating call.
func Late(ctx context.Context) bool {
	e, ok := ctx.Value(entryKey{}).(entry)
	if !ok {
		return false
	}
	// A machine that sleeps stops the monotonic clock, on Linux, and not the other.
	now := time.Now()
	return now.Sub(e.began) > e.within || now.Round(0).Sub(e.began.Round(0)) > e.within
}

type accompaniedKey struct{}

// WithOthers says of the operations below ctx that others are made at the same time.
func WithOthers(ctx context.Context) context.Context {
	return context.WithValue(ctx, accompaniedKey{}, true)
}

// Accompanied reports whether other operations are made at the same time: what several
// of them ask for may go by one call, and waits for that.
func Accompanied(ctx context.Context) bool {
	accompanied, _ := ctx.Value(accompaniedKey{}).(bool)
	return accompanied
}

// Mutate makes a mutating call: it journals the call first, and refuses it
// with an [Error] of class [ReadOnly] when ctx does not come from
// [WithMutations]. That is how previews, open batches and TRACK are kept from
// ever changing the cloud.
func Mutate(ctx context.Context, call Call, do func(context.Context) error) error {
	j, ok := ctx.Value(journalKey{}).(Journal)
	if !ok {
		return &Error{
			Class:   ReadOnly,
			Code:    call.Service + ":" + call.Action,
			Message: "refused: this part of the engine only reads, and " + call.Action + " is not known to be a read",
		}
	}
	began := time.Now()
	end, err := j.Begin(ctx, call)
	if err != nil {
		return err
	}
	if within, ok := ctx.Value(sendKey{}).(time.Duration); ok {
		ctx = context.WithValue(ctx, entryKey{}, entry{began, within})
	}
	err = do(ctx)
	end(err)
	return err
}
