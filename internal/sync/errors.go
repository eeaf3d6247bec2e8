package sync

import "errors"

var (
	// ErrLeaseLost is returned by writes of a cycle whose account another
	// engine has taken over. The cycle ends; nothing is lost.
	ErrLeaseLost = errors.New("another engine has taken the account over")
	// ErrRefused is returned by Begin when the operation must not be made now:
	// the record became TRACK, or a batch was opened.
	ErrRefused = errors.New("the operation is not permitted now")
)
