package modules

import "context"

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
	// Create creates the object that m.Want describes and returns it, or at
	// least its identity. It need not set every column: the engine compares
	// and calls Update for what is left. Where the table's Creation is ByToken
	// the call carries m.Token, and repeating it with an equal token must not
	// create again; where it is ByTag the object carries the token from its first
	// instant, for [Finder].
	Create(ctx context.Context, m Mutation) (Row, error)
}

// Updater changes objects in place.
type Updater interface {
	// Update makes m.Columns of the object have what they hold in m.Want; m.Have
	// is the object as it was last read. Columns are neither Computed nor
	// CreateOnly nor Local.
	Update(ctx context.Context, m Mutation) error
}

// Deleter deletes objects.
type Deleter interface {
	// Delete removes the object, m.Have being what is known of it: at least its
	// identity. An object that is already gone is no error. The Local columns of the
	// record are in m.Have as the record had them last, if there was one: they may
	// say how the object is to be deleted.
	Delete(ctx context.Context, m Mutation) error
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

// Follower is a [Resource] whose calls are answered before what they ask for is done, and
// whose objects do not tell so meanwhile: one that is being deleted looks like any other.
type Follower interface {
	Resource
	// Ended reports whether a request that was noted has ended, well or not.
	Ended(ctx context.Context, scope Scope, request string) (bool, error)
}
