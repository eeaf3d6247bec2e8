package modules

// Paced is a resource that spreads the reading of its objects over its listings. Those cost few calls
// then, and are made more often.
type Paced interface {
	// IsPaced reports whether the listing asks [ListRequest.Due] before it makes calls for one
	// object, or [ListRequest.Postponed] before it makes them for one parent.
	IsPaced() bool
}
