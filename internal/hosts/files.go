package hosts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The kinds of scopes.
const (
	KindFile    = "file"
	KindPackage = "package"
	KindUser    = "user" // and the keys that let it in
	KindGroup   = "group"
	KindUnit    = "unit"
	KindFacts   = "facts" // what is read of the machine alone: process:nginx*
	// What Docker or Podman has.
	KindContainer = "container"
	KindImage     = "image"
	KindVolume    = "volume"
	KindContained = "container_network" // the networks of containers
)

// ScopeKinds are all kinds of scopes.
var ScopeKinds = []string{KindFile, KindPackage, KindUser, KindGroup, KindUnit, KindFacts,
	runner.KindInterface, runner.KindRoute, runner.KindFirewall, KindContainer, KindImage, KindVolume, KindContained,
	runner.KindSysctl, runner.KindSudoer, runner.KindCron, runner.KindMount,
	runner.KindRepository, runner.KindBlock}

// Others look after what there is in a scope that is not pruned: only users delete it.
const Others = "others on the host"

// maxListed bounds the files of one host.
const maxListed = 200_000

// refused says that a host has answered what it was not asked.
func refused(name, what string, of string) error {
	return &modules.Error{Class: modules.Transient, Code: "BadAnswer",
		Message: fmt.Sprintf("host %s has answered %s that nobody has asked for: %s", name, what, clean(of))}
}

// entries makes a request by ask, and returns what it is answered. asked reports whether a path was asked for.
func entries(name string, ask func(each func(runner.Answer) error) error,
	asked func(path string) bool) ([]runner.Entry, error) {
	var all []runner.Entry
	seen := map[string]bool{}
	err := ask(func(a runner.Answer) error {
		for i := range a.Files {
			e := &a.Files[i]
			switch {
			case e.Error == nil && (runner.CheckPath(e.Path) != nil || !asked(e.Path) || seen[e.Path]):
				return refused(name, "the path", fmt.Sprintf("%.200q", e.Path))
			case e.Error == nil && e.Kind != runner.File && e.Kind != runner.Directory && e.Kind != runner.Link:
				return refused(name, "the kind", fmt.Sprintf("%.200q", e.Kind))
			case e.Content != nil && (len(*e.Content) > runner.MaxContent || e.Bytes != nil),
				len(e.Bytes) > runner.MaxBytes, !isSum(e.SHA256):
				return refused(name, "the content", fmt.Sprintf("of %.200q", e.Path))
			case xattrsSize(e) > runner.MaxXattrs*maxXattrName+runner.MaxXattrBytes || len(e.Xattrs) > runner.MaxXattrs:
				return refused(name, "the extended attributes", fmt.Sprintf("of %.200q", e.Path))
			case len(all) >= maxListed:
				return refused(name, "the files", fmt.Sprintf("more than %d", maxListed))
			}
			seen[e.Path] = true
			all = append(all, *e)
		}
		return nil
	})
	return all, err
}

// isSum reports whether a text is an SHA-256 in hexadecimal digits, or none.
func isSum(text string) bool {
	return text == "" || len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// maxXattrName is how long the name of an extended attribute may be, xattr(7), if each byte of it has to be replaced.
const maxXattrName = 3 * 255

// xattrsSize is how many bytes a file's extended attributes have.
func xattrsSize(e *runner.Entry) (n int) {
	for name, value := range e.Xattrs {
		if n += len(name); value != nil {
			n += len(*value)
		}
	}
	return n
}

// Attributes are the extended attributes of a file by name, nil where the value is not told. What is not printable in a
// name is spelled out.
func (f *File) Attributes() map[string]*string {
	all := map[string]*string{}
	for _, name := range slices.Sorted(maps.Keys(f.Xattrs)) {
		if _, taken := all[clean(name)]; !taken {
			all[clean(name)] = f.Xattrs[name]
		}
	}
	return all
}

// ListFiles returns all that the host's scopes name, and those scopes.
func (h *Hosts) ListFiles(ctx context.Context, name string) ([]File, []Scope, error) {
	// Anew: the cycle knows by now whether scopes have changed, and a listing by earlier ones would pass for one by
	// these.
	settings, err := h.settings(ctx, name, true)
	if err != nil {
		return nil, nil, err
	}
	scopes := settings.Of(KindFile)
	if len(scopes) == 0 {
		return nil, nil, nil
	}
	all, err := entries(name, func(each func(runner.Answer) error) error {
		return h.list(ctx, name, KindFile, func(q *runner.Request) {
			q.Patterns, q.Secrets = patterns(scopes), secretPatterns(scopes)
		}, each)
	}, func(path string) bool { return Named(scopes, path) != nil })
	if err != nil {
		return nil, scopes, err
	}
	files, err := h.veiled(ctx, name, scopes, all)
	return files, scopes, err
}

// GetFiles returns what there is of paths, and the host's scopes. What those do not name is not read, and says so.
func (h *Hosts) GetFiles(ctx context.Context, name string, paths []string) ([]File, []Scope, error) {
	settings, err := h.settings(ctx, name, false)
	if err != nil {
		return nil, nil, err
	}
	scopes := settings.Of(KindFile)
	asked := make(map[string]bool, len(paths))
	var named []string
	var beyond []File
	for _, path := range paths {
		if asked[path] {
			continue
		}
		if Named(scopes, path) == nil {
			beyond = append(beyond, File{Entry: runner.Entry{Path: path,
				Error: &runner.Failure{Code: runner.Refused, Message: OutOfScope(name, path).Error()}}})
			continue
		}
		asked[path], named = true, append(named, path)
	}
	if len(named) == 0 {
		return beyond, scopes, nil
	}
	all, err := entries(name, func(each func(runner.Answer) error) error {
		return h.ask(ctx, name, &runner.Request{Verb: runner.Check, Paths: named,
			Secrets: secretPatterns(scopes)}, each)
	}, func(path string) bool { return asked[path] })
	if err != nil {
		return nil, scopes, err
	}
	files, err := h.veiled(ctx, name, scopes, all)
	return append(files, beyond...), scopes, err
}

// writable returns what the tables say of a host that may be changed. That is read anew: an edit that was made once the
// host was locked is not made.
func (h *Hosts) writable(ctx context.Context, name string) (Settings, error) {
	settings, err := h.settings(ctx, name, true)
	if err == nil && settings.LockedBy != "" {
		err = &modules.Error{Class: modules.Dependency, Code: "Locked",
			Message: fmt.Sprintf("host %s is locked by %s: nothing is changed there until "+
				"UPDATE host SET locked_by = NULL WHERE name = '%s'", name, clean(settings.LockedBy),
				strings.ReplaceAll(name, "'", "''"))}
	}
	k := h.host(name)
	k.lock.Lock()
	defer k.lock.Unlock()
	settings.Keys = k.keys
	return settings, err
}

// errLate is the error of a call that was not made because it was too late for it.
var errLate = &modules.Error{Class: modules.Transient, Code: "Late",
	Message: "it was too late to send the call, and nothing was changed"}

// FileChange is how a file is made, changed or deleted.
type FileChange struct {
	// Want is the file as it is to be, nil if it is to go; Have is the file as it was read last, nil if there was none.
	Want, Have *runner.Entry
	// Source says which content it is to have that Want does not have, and that [Hosts.Upload] sends before; nil leaves
	// the content as Want says.
	Source *Source
	// Version is that of the secret content that it is to have; "" leaves the content as it is.
	Version string
	// Seen is the version that was read last.
	Seen string

	uploaded string // what the host calls the content that has been sent before; "": none has
}

func (c *FileChange) path() string {
	if c.Want != nil {
		return c.Want.Path
	}
	return c.Have.Path
}

// ApplyFile makes, changes or deletes a file.
func (h *Hosts) ApplyFile(ctx context.Context, name string, entry modules.Entry, c *FileChange) error {
	settings, err := h.writable(ctx, name)
	if err != nil {
		return err
	}
	request := &runner.Request{Verb: runner.Apply, Want: c.Want, Have: c.Have, Upload: c.uploaded}
	path, scopes := c.path(), settings.Of(KindFile)
	scope := Named(scopes, path)
	if scope == nil {
		return OutOfScope(name, path)
	}
	switch {
	case isSecret(scopes, path):
		if err := h.secretChange(ctx, name, c, request); err != nil {
			return err
		}
	case c.Seen != "": // it was secret when it was read, and nobody knows here what it had
		return Failed(name, runner.NotAsRead(path))
	case c.Version != "":
		return errNoVersion(name, path)
	}
	if c.Want != nil && c.Want.Kind == runner.File {
		request.Validate = scope.Validate
	}
	if entry.Late() {
		return errLate
	}
	return h.change(ctx, name, &settings, request, wayOf(path, h.home(name)))
}

func patterns(scopes []Scope) []string {
	list := make([]string, len(scopes))
	for i, s := range scopes {
		list[i] = s.Pattern
	}
	return list
}

// Named returns the scope that names a path, one that validates before others and one that prunes before those; nil if
// there is none.
func Named(scopes []Scope, path string) *Scope {
	var best *Scope
	worth := func(s *Scope) int {
		n := 0
		if s.Validate != "" {
			n += 2
		}
		if s.Prune {
			n++
		}
		return n
	}
	for i := range scopes {
		if s := &scopes[i]; runner.Matches(s.Pattern, path) && (best == nil || worth(s) > worth(best)) {
			best = s
		}
	}
	return best
}

// Pruned reports whether what has no record may be deleted at a path.
func Pruned(scopes []Scope, path string) bool {
	for _, s := range scopes {
		if s.Prune && runner.Matches(s.Pattern, path) {
			return true
		}
	}
	return false
}

// OutOfScope is the error of a path that no scope of the host names.
func OutOfScope(name, path string) error {
	return &modules.Error{Class: modules.Invalid, Code: "OutOfScope",
		Message: fmt.Sprintf("%q is in no host_scope of %s: INSERT INTO host_scope (account, pattern) VALUES "+
			"('%s', '%s')",
			path, name, strings.ReplaceAll(name, "'", "''"), strings.ReplaceAll(clean(path), "'", "''"))}
}
