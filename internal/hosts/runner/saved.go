package runner

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sys/unix"
)

// saved is all of a file, a directory without what is in it, or a link: what it takes to put it back.
type saved struct {
	Path       string            `json:"path"`
	Kind       string            `json:"kind,omitempty"` // "": there was nothing
	Content    []byte            `json:"content,omitempty"`
	Target     string            `json:"target,omitempty"`
	Mode       uint32            `json:"mode,omitempty"`
	UID        int               `json:"uid,omitempty"`
	GID        int               `json:"gid,omitempty"`
	Attributes map[string][]byte `json:"attributes,omitempty"`
}

// save reads what is at a path.
func (t *tree) save(path string) (*saved, error) {
	dir, last, err := t.parent(path)
	if codeOf(err) == NoParent {
		return &saved{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return saveAt(dir, last, path)
}

func saveAt(dir int, last, path string) (*saved, error) {
	st, err := statAt(dir, last)
	if errors.Is(err, unix.ENOENT) {
		return &saved{Path: path}, nil
	}
	if err != nil {
		return nil, failure("look at", path, err)
	}
	s := &saved{Path: path, Kind: kindOf(&st), Mode: uint32(st.Mode) & 0o7777, UID: int(st.Uid), GID: int(st.Gid)}
	switch s.Kind {
	case Link:
		buffer := make([]byte, 8<<10)
		n, err := unix.Readlinkat(dir, last, buffer)
		if err != nil {
			return nil, failure("read", path, err)
		}
		s.Target = string(buffer[:n])
		return s, nil
	case File:
		if s.Content, _, err = readFile(dir, last, maxHashed); err != nil {
			return nil, failure("read", path, err)
		}
	case Directory:
	default:
		return nil, conflict(path)
	}
	fd, err := openat(dir, last, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, failure("read", path, err)
	}
	defer unix.Close(fd)
	if s.Attributes, err = attributesOf(fd); err != nil {
		return nil, failure("read", path, err)
	}
	return s, nil
}

// attributesOf reads the extended attributes of an open file, access control lists among them.
func attributesOf(fd int) (map[string][]byte, error) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(fd, list)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value := make([]byte, 64<<10)
	all := map[string][]byte{}
	for name := range bytes.SplitSeq(list[:n], []byte{0}) {
		if len(name) == 0 {
			continue
		}
		n, err := unix.Fgetxattr(fd, string(name), value)
		if err != nil {
			return nil, fmt.Errorf("its attribute %s: %w", name, err)
		}
		all[string(name)] = bytes.Clone(value[:n])
	}
	return all, nil
}

// restore makes what is at a path what it was, whatever is there now. What is right already is not touched.
func (t *tree) restore(was *saved) error {
	dir, last, err := t.parent(was.Path)
	if err != nil {
		if was.Kind == "" && codeOf(err) == NoParent {
			return nil
		}
		return err
	}
	defer unix.Close(dir)
	now, err := saveAt(dir, last, was.Path)
	if err != nil && codeOf(err) != Conflict {
		return err
	}
	if now != nil && now.same(was) {
		return nil
	}
	a := &applier{reader: t.reader(), dir: dir, last: last, path: was.Path}
	if now != nil && now.Kind != "" && now.Kind != was.Kind {
		flags := 0
		if now.Kind == Directory {
			flags = unix.AT_REMOVEDIR
		}
		if err := unix.Unlinkat(dir, last, flags); err != nil {
			return a.failed("delete", err)
		}
	}
	switch was.Kind {
	case "":
		return a.sync()
	case Directory:
		if err := unix.Mkdirat(dir, last, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return a.failed("create", err)
		}
		return errors.Join(was.dress(a, last), a.sync())
	case Link:
		temporary := ours + rand.Text()
		err := unix.Symlinkat(was.Target, dir, temporary)
		if err == nil {
			err = unix.Fchownat(dir, temporary, was.UID, was.GID, unix.AT_SYMLINK_NOFOLLOW)
		}
		return a.placed(temporary, err)
	}
	temporary := ours + rand.Text()
	fd, err := openat(dir, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return a.failed("write", err)
	}
	_, err = descriptor(fd).Write(was.Content)
	err = errors.Join(err, unix.Close(fd))
	if err == nil {
		err = was.dress(a, temporary)
	}
	return a.placed(temporary, err)
}

// dress gives a file or a directory what it had besides its content, and makes it durable.
func (s *saved) dress(a *applier, name string) error {
	fd, err := openat(a.dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return a.failed("open", err)
	}
	defer unix.Close(fd)
	// A change of the owner takes capabilities away.
	if err := a.own(fd, s.UID, s.GID); err != nil {
		return err
	}
	for attribute, value := range s.Attributes {
		if err := unix.Fsetxattr(fd, attribute, value, 0); err != nil {
			return a.failed("change", err)
		}
	}
	return a.permit(fd, s.Mode)
}

// placed gives a file that was written beside its name.
func (a *applier) placed(temporary string, err error) error {
	if err == nil {
		err = unix.Renameat(a.dir, temporary, a.dir, a.last)
	}
	if err != nil {
		_ = a.unlink(temporary)
		return a.failed("write", err)
	}
	return a.sync()
}

func (s *saved) same(as *saved) bool {
	return s.Kind == as.Kind && bytes.Equal(s.Content, as.Content) && s.Target == as.Target &&
		(s.Kind == Link || s.Mode == as.Mode) && s.UID == as.UID && s.GID == as.GID &&
		maps.EqualFunc(s.Attributes, as.Attributes, bytes.Equal)
}
