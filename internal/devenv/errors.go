package devenv

import (
	"errors"
	"fmt"
)

// What can go wrong at a start. Every one of them is wrapped in an [*Error]
// whose text says more.
var (
	// ErrPortTaken: something else listens on the port asked for.
	ErrPortTaken = errors.New("port taken")
	// ErrNoBinaries: a program that is needed is not installed.
	ErrNoBinaries = errors.New("program not found")
	// ErrTooOld: PostgreSQL is installed, but only versions below 15.
	ErrTooOld = errors.New("version too old")
	// ErrDataDirAccess: the data directory cannot be created, or the user
	// that PostgreSQL runs as cannot reach it.
	ErrDataDirAccess = errors.New("data directory inaccessible")
	// ErrDataDirVersion: the data directory belongs to a major version of
	// PostgreSQL that is not installed.
	ErrDataDirVersion = errors.New("data directory of another version")
	// ErrDataDirInUse: another running program holds the data directory.
	ErrDataDirInUse = errors.New("data directory in use")
	// ErrNotStarted: the server was started and did not become ready.
	ErrNotStarted = errors.New("server did not start")
)

// Error is a failure that the person at the keyboard can do something about.
type Error struct {
	// Kind is one of the package's sentinels.
	Kind error
	// Message is one line: what is the matter with what, and what to do.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel, for [errors.Is].
func (e *Error) Unwrap() error { return e.Kind }

func failure(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
