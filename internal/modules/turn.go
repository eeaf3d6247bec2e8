package modules

// Turner tells resources that read objects in turn from others: their listings cost little
// besides, and are made more often for it.
type Turner interface {
	// InTurn reports whether the listing asks [ListRequest.Due] before it makes calls for one
	// object, or [ListRequest.Postponed] before it makes them for one parent.
	InTurn() bool
}
