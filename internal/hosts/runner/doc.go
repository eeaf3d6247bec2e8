// Package runner is what the engine has on a host: it reads requests, one JSON object a line, and answers each by one
// or more of them. It looks at files below a root directory, and at things of other kinds there, makes them what a
// request says, and decides nothing: it keeps no target, and does nothing when it is not asked.
//
// No path leads out of the root, nor through a symbolic link: each directory on the way is opened in the one before it.
// Nothing but regular files, directories and symbolic links is opened. A file is replaced as a whole: the new one is
// written beside it, made durable and validated, and takes its name only if what is there is still what the request
// has seen.
//
// A change that touches the way into the host is armed ([Guard]): what was there is kept, and a process of its own puts
// it back unless somebody who has come in anew confirms it in time. What is kept is in a directory that survives a
// reboot, and a runner that finds there what nobody watches any more undoes it before it answers anything.
//
// A second runner of the same login says what may have changed ([Watch]), for as long as its input is open.
package runner

import (
	"encoding/json"
	"time"
)

// Version is of the protocol: an engine talks to a runner of its own version alone.
const Version = 5

// The verbs of requests.
const (
	List   = "list"   // what there is that the patterns name
	Check  = "check"  // what there is of the paths and names; of one that is missing there is nothing
	Apply  = "apply"  // make, change or delete one file or thing
	Upload = "upload" // take a chunk of a content that is too large for one request
	Assert = "assert" // whether it is as it is wanted
	Hello  = "hello"  // who the host is
	Reboot = "reboot" // begin a reboot, once in an hour at most
	Look   = "look"   // what the machine has: by which rights the runner works there, and which of the paths there are
	// Confirm says that a change which was armed is a good one, unless it is undone by now, and asks for what became of
	// it.
	Confirm = "confirm"
	// Watching says of what the parts name, as patterns of the kinds of scopes, what may have changed, for as long as
	// there is a connection: see [Watch]. It is the only request of its connection.
	Watching = "watch"
)

// Bounds of what is read and answered.
const (
	MaxContent = 256 << 10 // of a file whose content is sent, if it is a text
	MaxBytes   = 64 << 10  // if it is none: most of those that are longer are programs
	maxHashed  = 64 << 20  // of a file that is read at all
	maxFiles   = 200_000   // of a listing
	maxSent    = 64 << 20  // the contents of a listing together
	chunk      = 256       // files, or things of a kind, of one answer
	maxItems   = 50_000    // of a kind, of a listing
)

// beatEvery is how often the runner says that it still works on a request.
const beatEvery = 10 * time.Second

// The kinds of files.
const (
	File      = "file"
	Directory = "directory"
	Link      = "link" // a symbolic one
)

// Request asks for something.
type Request struct {
	ID       int64    `json:"id"`
	Verb     string   `json:"verb"`
	Patterns []string `json:"patterns,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	// Secrets are patterns of files whose contents are not answered when they are listed or checked.
	Secrets []string `json:"secrets,omitempty"`
	// Secret says that the content of the file that is applied is secret: what programs say that have read it is not
	// answered.
	Secret bool `json:"secret,omitempty"`
	// Want is the file as it is to be, nil if it is to go; what it does not say stays as it is. Have is the file as it
	// was seen last, nil if there was none: what is there has to be that still.
	Want *Entry `json:"want,omitempty"`
	Have *Entry `json:"have,omitempty"`
	// Upload is the name of an upload, of letters and digits: the one that Chunk belongs to, which begins at Offset; or
	// the one whose content Want is to have, of Want's size and SHA-256.
	Upload string `json:"upload,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Chunk  []byte `json:"chunk,omitempty"`
	// Validate is a command that has to accept the new content before it replaces the old: %s stands for its file.
	Validate string `json:"validate,omitempty"`
	// Parts are what is listed or checked of other kinds than files, several in one request.
	Parts []Part `json:"parts,omitempty"`
	// Change is what is applied or asserted of a thing of another kind than files; nil: of a file.
	Change *Change `json:"change,omitempty"`
	// Guard arms what is applied; nil: it does not touch the way in.
	Guard *Guard `json:"guard,omitempty"`
	// Trial is the id of the guard whose change is confirmed.
	Trial string `json:"trial,omitempty"`
}

// Part asks for things of one kind.
type Part struct {
	Kind     string   `json:"kind"`
	Patterns []string `json:"patterns,omitempty"` // as [MatchesName] has them
	Names    []string `json:"names,omitempty"`
}

// Change is that of one thing, which its kind says the type of.
type Change struct {
	Kind string `json:"kind"`
	// Want is the thing as it is to be, nil if it is to go; what it does not say stays as it is. Have is the thing as
	// it was seen last, nil if there was none: what is there has to be that still.
	Want json.RawMessage `json:"want,omitempty"`
	Have json.RawMessage `json:"have,omitempty"`
}

// Answer is one of the answers to a request: the last, unless More. One that says nothing says that the runner is
// still at it.
type Answer struct {
	ID    int64   `json:"id"`
	Files []Entry `json:"files,omitempty"`
	// Kind is that of Items and Unread.
	Kind   string            `json:"kind,omitempty"`
	Items  []json.RawMessage `json:"items,omitempty"`
	Unread []Unread          `json:"unread,omitempty"`
	Same   bool              `json:"same,omitempty"`
	Host   *Host             `json:"host,omitempty"`
	// Machine answers [Look].
	Machine *Machine `json:"machine,omitempty"`
	Trial   *Outcome `json:"trial,omitempty"`
	// Changed and Unwatched answer [Watching].
	Changed   []Changed   `json:"changed,omitempty"`
	Unwatched []Unwatched `json:"unwatched,omitempty"`
	More      bool        `json:"more,omitempty"`
	Error     *Failure    `json:"error,omitempty"`
}

// Changed is a thing that may have changed, come or gone; without a name, any of its kind.
type Changed struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// Unwatched says of a kind that not all of its changes are noticed, and why: they show when they are read next. Without
// a reason they are noticed again.
type Unwatched struct {
	Kind string   `json:"kind"`
	Why  *Failure `json:"why,omitempty"`
}

// Unread is what could not be read of a kind: one thing, or, without a name, the kind.
type Unread struct {
	Name  string   `json:"name,omitempty"`
	Error *Failure `json:"error"`
}

// Host is what a host says of itself.
type Host struct {
	Version int    `json:"version"`
	Machine string `json:"machine,omitempty"` // its machine id, machine-id(5)
	// Home is the home of whoever has logged in, without symbolic links; "" if there is none.
	Home string `json:"home,omitempty"`
	// Armed are the trials that are under way.
	Armed []string `json:"armed,omitempty"`
}

// Entry is a file, a directory or a symbolic link.
type Entry struct {
	Path string `json:"path"`
	Kind string `json:"kind,omitempty"`
	// Content is that of a file whose text is no longer than MaxContent, without NUL and of UTF-8; nil of any other,
	// and of one that is secret.
	Content *string `json:"content,omitempty"`
	// Bytes is the content of a file that is no such text, and no longer than MaxBytes; nil of one that is secret.
	Bytes  []byte `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of its content; "" of one that is longer than 64 MiB
	Size   int64  `json:"size,omitempty"`
	Target string `json:"target,omitempty"` // of a link
	Mode   string `json:"mode,omitempty"`   // four octal digits; "" of a link
	Owner  string `json:"owner,omitempty"`  // a name of the host's /etc/passwd, else a number
	Group  string `json:"group,omitempty"`
	// Xattrs are its extended attributes, as far as they are told: see [toldXattr]. A value that is beyond the bounds
	// is nil.
	Xattrs map[string]*string `json:"xattrs,omitempty"`
	// Error says why it could not be read; nothing else is known of it then.
	Error *Failure `json:"error,omitempty"`
}

// contents returns the content that the entry has; false if it has none.
func (e *Entry) contents() ([]byte, bool) {
	if e.Content != nil {
		return []byte(*e.Content), true
	}
	return e.Bytes, e.Bytes != nil
}

// Code says what kind of failure it is.
type Code string

// The codes of failures.
const (
	Exists      Code = "Exists"      // there is something already
	Gone        Code = "Gone"        // there is nothing any more
	Conflict    Code = "Conflict"    // what is there is not what was seen last
	NoParent    Code = "NoParent"    // there is no directory to be in
	NotEmpty    Code = "NotEmpty"    // the directory has something in it
	Denied      Code = "Denied"      // the login may not do it
	Refused     Code = "Refused"     // the runner does not do such things
	Invalid     Code = "Invalid"     // the validation does not accept it
	TooLarge    Code = "TooLarge"    // beyond a bound
	Changing    Code = "Changing"    // it changes while it is read
	Full        Code = "Full"        // there is no space left
	Busy        Code = "Busy"        // another program is at it
	InUse       Code = "InUse"       // something else would have to go with it
	Unmounted   Code = "Unmounted"   // what is to be mounted there is not
	Unspecified Code = "Unspecified" // anything else
)

// Failure says why something was not done.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
