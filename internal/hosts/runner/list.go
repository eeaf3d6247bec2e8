package runner

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// lister walks through what patterns name.
type lister struct {
	*reader
	seen  map[string]bool // what has been told, by path
	count int
	// missing are the mount points at which nothing is mounted, although something is to be.
	missing map[string]bool
	tell    func(Entry) error
}

// list tells of all that the patterns name, without the contents of what the patterns of secrets name. It fails if that
// is more than the bounds allow.
func (t *tree) list(patterns, secrets []string, tell func(Entry) error) error {
	l := &lister{reader: t.reader(), seen: map[string]bool{}, tell: tell}
	l.secrets = secrets
	unknown := l.nameless
	if unknown == nil {
		unknown = t.unmounted("/") // the root itself
	}
	if unknown == nil {
		l.missing, unknown = t.unmountedBelow()
	}
	for _, pattern := range patterns {
		if err := CheckPath(pattern); err != nil {
			return err
		}
		if unknown != nil {
			if err := l.unread(pattern, unknown); err != nil {
				return err
			}
			continue
		}
		fd, err := openat(t.fd, ".", search|unix.O_DIRECTORY, 0)
		if err != nil {
			return failure("root directory", t.root, err)
		}
		if err := l.walk(fd, "", strings.Split(pattern, "/")[1:]); err != nil {
			return err
		}
	}
	return nil
}

// walk tells of what the rest of a pattern names in an open directory, and closes that.
func (l *lister) walk(dir int, at string, pattern []string) error {
	defer unix.Close(dir)
	first, rest := pattern[0], pattern[1:]
	if !isWild(first) {
		return l.visit(dir, first, at, rest, len(rest) == 0)
	}
	names, err := children(dir, at)
	if err != nil {
		return l.unread(at+"/"+strings.Join(pattern, "/"), err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, ours) {
			continue
		}
		switch {
		case first == "**" && len(rest) == 0:
			err = l.visit(dir, name, at, pattern, true)
		case first == "**":
			// It stands for no directory, or for this one and maybe others.
			if !isWild(rest[0]) && rest[0] == name || isWild(rest[0]) && rest[0] != "**" &&
				matchSegment(rest[0], name) {
				err = l.visit(dir, name, at, rest[1:], len(rest) == 1)
			}
			if err == nil {
				err = l.visit(dir, name, at, pattern, false)
			}
		case matchSegment(first, name):
			err = l.visit(dir, name, at, rest, len(rest) == 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visit tells of a name in an open directory, if that is named, and goes on below with what is left of the pattern.
func (l *lister) visit(dir int, name, at string, rest []string, tell bool) error {
	path := at + "/" + name
	if l.count++; l.count > 4*maxFiles {
		return &Failure{TooLarge, fmt.Sprintf("the patterns have more than %d files looked at: narrow them",
			4*maxFiles)}
	}
	if l.missing[path] {
		return l.unread(strings.Join(append([]string{path}, rest...), "/"), l.unmounted(path))
	}
	if tell && !l.seen[path] {
		l.seen[path] = true
		if err := l.one(dir, name, path); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	st, err := statAt(dir, name)
	if errors.Is(err, unix.ENOENT) || err == nil && kindOf(&st) != Directory {
		return nil // a symbolic link is not followed
	}
	if err != nil {
		return l.unread(path+"/"+strings.Join(rest, "/"), failure("look at", path, err))
	}
	next, err := openat(dir, name, search|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return l.unread(path+"/"+strings.Join(rest, "/"), failure("directory", path, err))
	}
	return l.walk(next, path, rest)
}

func (l *lister) one(dir int, name, path string) error {
	if !utf8.ValidString(name) {
		return l.unread(path, &Failure{Refused, fmt.Sprintf("the name %q is not UTF-8", path)})
	}
	e, _, err := l.read(dir, name, path)
	switch {
	case err != nil:
		return l.unread(path, err)
	case e == nil:
		return nil
	case len(l.seen) > maxFiles:
		return &Failure{TooLarge, fmt.Sprintf("the patterns name more than %d files: narrow them", maxFiles)}
	case l.sent > maxSent:
		return &Failure{TooLarge, fmt.Sprintf("the patterns name files of more than %d MiB together: narrow them",
			maxSent>>20)}
	}
	return l.tell(*e)
}

// unread tells of what could not be read: a file, or what is below a directory as a pattern.
func (l *lister) unread(path string, err error) error {
	return l.tell(Entry{Path: strings.ToValidUTF8(path, "\uFFFD"), Error: failure("read", path, err)})
}
