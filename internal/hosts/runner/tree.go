package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// tree is what lies below a root directory.
type tree struct {
	fd   int
	root string // as it was given, made absolute
}

func openTree(root string) (*tree, error) {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, failure("root directory", root, err)
	}
	return &tree{fd, root}, nil
}

func (t *tree) close() { _ = unix.Close(t.fd) }

// ours begins the names of files that are being written.
const ours = ".iasql-new-"

// failure says in words why a call failed.
func failure(what, name string, err error) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	code := Unspecified
	message := fmt.Sprintf("%s %q: %v", what, name, err)
	switch {
	case errors.Is(err, unix.ENOENT):
		code = Gone
	case errors.Is(err, unix.EEXIST):
		code, message = Exists, fmt.Sprintf("there is something already at %q", name)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		code = Denied
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		code = Full
	case errors.Is(err, unix.ENOTEMPTY):
		code, message = NotEmpty, fmt.Sprintf("directory %q has something in it", name)
	case errors.Is(err, unix.ENAMETOOLONG):
		code = Refused
	}
	return &Failure{code, message}
}

// again makes a call until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openat(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

func statAt(dir int, name string) (st unix.Stat_t, err error) {
	err = again(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// parent opens the directory that a path's last name is in. No component of it may be a symbolic link, and what is to
// be mounted on the way has to be: while the directory is open, it stays so.
func (t *tree) parent(name string) (fd int, last string, err error) {
	fd, last, err = t.descend(name)
	if missing := t.unmounted(name); missing != nil && codeOf(err) != Refused {
		if err == nil {
			_ = unix.Close(fd)
		}
		return -1, "", missing
	}
	return fd, last, err
}

// descend opens the directory that a path's last name is in, whatever is mounted there.
func (t *tree) descend(name string) (fd int, last string, err error) {
	if err := CheckPath(name); err != nil {
		return -1, "", err
	}
	dir, last := path.Split(name)
	at := ""
	if fd, err = openat(t.fd, ".", search|unix.O_DIRECTORY, 0); err != nil {
		return -1, "", failure("root directory", t.root, err)
	}
	for segment := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if segment == "" {
			continue
		}
		at += "/" + segment
		next, err := openat(fd, segment, search|unix.O_DIRECTORY, 0)
		if err != nil {
			err = t.noParent(fd, segment, at, err)
			_ = unix.Close(fd)
			return -1, "", err
		}
		_ = unix.Close(fd)
		fd = next
	}
	return fd, last, nil
}

// noParent says why something on the way cannot be opened as a directory.
func (t *tree) noParent(dir int, segment, at string, err error) error {
	st, seen := statAt(dir, segment)
	switch {
	case errors.Is(err, unix.ENOENT):
		return &Failure{NoParent, fmt.Sprintf("there is no directory %q", at)}
	case seen == nil && kindOf(&st) == Link:
		return &Failure{Refused, fmt.Sprintf("%q is a symbolic link, and none is followed: name where it leads to", at)}
	case seen == nil && kindOf(&st) != Directory:
		return &Failure{NoParent, fmt.Sprintf("%q is no directory", at)}
	}
	return failure("directory", at, err)
}

// kindOf returns the kind of what was looked at; "" of devices, pipes and sockets.
func kindOf(st *unix.Stat_t) string {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Directory
	case unix.S_IFLNK:
		return Link
	}
	return ""
}

// reader reads files, for one request.
type reader struct {
	*tree
	users, groups map[uint32]string
	nameless      error // why the names of users and groups are not known; nil: they are
	sent          int   // bytes of contents
	secrets       []string
}

// isSecret reports whether the content of a file is.
func (r *reader) isSecret(path string) bool {
	return slices.ContainsFunc(r.secrets, func(pattern string) bool { return Matches(pattern, path) })
}

func (t *tree) reader() *reader {
	users, err := t.names(passwdFile)
	groups, err2 := t.names(groupFile)
	return &reader{tree: t, users: users, groups: groups, nameless: errors.Join(err, err2)}
}

// names reads the names of users or groups, passwd(5) and group(5); none if there is no such file, as below a root that
// is no machine's. It fails if the file is empty or changes all the time: all files would seem to change their owners.
func (t *tree) names(file string) (map[uint32]string, error) {
	names := map[uint32]string{}
	if _, err := t.stat(file); codeOf(err) == Unmounted {
		return names, err
	} else if err != nil {
		return names, nil
	}
	text, err := t.text(file, maxAccounts)
	if codeOf(err) == Refused || codeOf(err) == TooLarge {
		return names, nil
	}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 3 || fields[0] == "" {
			continue
		}
		if id, err := strconv.ParseUint(fields[2], 10, 32); err == nil && names[uint32(id)] == "" {
			names[uint32(id)] = fields[0]
		}
	}
	if err == nil && len(names) == 0 {
		_, err = t.accounts(file)
	}
	return names, err
}

func named(names map[uint32]string, id uint32) string {
	if name := names[id]; name != "" {
		return name
	}
	return strconv.FormatUint(uint64(id), 10)
}

// idOf returns the number of a user or a group.
func idOf(names map[uint32]string, name, what string) (int, error) {
	for id, known := range names {
		if known == name {
			return int(id), nil
		}
	}
	if id, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(id), nil
	}
	return 0, &Failure{Refused, fmt.Sprintf("the host has no %s %q", what, name)}
}

// tries is how often a file is read that changes meanwhile.
const tries = 3

// read returns what a name in an open directory is; nil if there is nothing that could be a record.
func (r *reader) read(dir int, last, name string) (*Entry, unix.Stat_t, error) {
	var err error
	for range tries {
		var e *Entry
		var st unix.Stat_t
		if e, st, err = r.readOnce(dir, last, name); err == nil || codeOf(err) != Changing {
			return e, st, err
		}
	}
	return nil, unix.Stat_t{}, err
}

func codeOf(err error) Code {
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func (r *reader) readOnce(dir int, last, name string) (*Entry, unix.Stat_t, error) {
	st, err := statAt(dir, last)
	if errors.Is(err, unix.ENOENT) {
		return nil, st, nil
	}
	if err != nil {
		return nil, st, failure("look at", name, err)
	}
	e := &Entry{Path: name, Kind: kindOf(&st), Owner: named(r.users, st.Uid), Group: named(r.groups, st.Gid)}
	if e.Kind != Link {
		e.Mode = fmt.Sprintf("%04o", uint32(st.Mode)&0o7777)
	}
	if e.Kind == "" {
		return nil, st, nil
	}
	e.Xattrs = xattrs(dir, last)
	for name, value := range e.Xattrs {
		if r.sent += len(name); value != nil {
			r.sent += len(*value)
		}
	}
	switch e.Kind {
	case Link:
		buffer := make([]byte, 8<<10)
		n := 0
		if err := again(func() (err error) { n, err = unix.Readlinkat(dir, last, buffer); return err }); err != nil {
			return nil, st, changed(name, err)
		}
		if e.Target = string(buffer[:n]); !utf8.ValidString(e.Target) {
			return nil, st, &Failure{Refused, fmt.Sprintf("the target of link %q is not UTF-8", name)}
		}
	case File:
		return r.content(dir, last, e, st)
	}
	return e, st, nil
}

// changed says of a file that was another a moment ago that it changes.
func changed(name string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL) {
		return &Failure{Changing, fmt.Sprintf("%q changes while it is read", name)}
	}
	return failure("read", name, err)
}

// content reads a file's content.
func (r *reader) content(dir int, last string, e *Entry, seen unix.Stat_t) (*Entry, unix.Stat_t, error) {
	e.Size = seen.Size
	if seen.Size > maxHashed {
		return e, seen, nil
	}
	sum, begin := sha256.New(), &bounded{most: MaxContent}
	st, err := copyFile(dir, last, maxHashed, func(size int64) io.Writer {
		begin.text.Grow(int(min(size, MaxContent)))
		return io.MultiWriter(sum, begin)
	})
	switch {
	case err != nil:
		return nil, st, changed(e.Path, err)
	case st.Ino != seen.Ino:
		return nil, st, changed(e.Path, nil)
	}
	e.Size = st.Size
	e.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if st.Size > MaxContent || r.isSecret(e.Path) {
		return e, st, nil
	}
	switch text := begin.text.Bytes(); {
	case utf8.Valid(text) && bytes.IndexByte(text, 0) < 0:
		content := string(text)
		e.Content = &content
		r.sent += len(text)
	case len(text) <= MaxBytes:
		e.Bytes = text
		r.sent += len(text)
	}
	return e, st, nil
}

// readFile reads a regular file of at most so many bytes. It fails if the file changes meanwhile.
func readFile(dir int, last string, most int64) ([]byte, unix.Stat_t, error) {
	var text *bytes.Buffer
	st, err := copyFile(dir, last, most, func(size int64) io.Writer {
		text = bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
		return text
	})
	if err != nil {
		return nil, st, err
	}
	return text.Bytes(), st, nil
}

// copyFile copies a regular file of at most so many bytes to what to returns for its size. It fails if the file changes
// meanwhile.
func copyFile(dir int, last string, most int64, to func(size int64) io.Writer) (unix.Stat_t, error) {
	var before, after unix.Stat_t
	// A pipe that has taken its place is not waited for.
	fd, err := openat(dir, last, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return before, err
	}
	defer unix.Close(fd)
	if err := again(func() error { return unix.Fstat(fd, &before) }); err != nil {
		return before, err
	}
	if kindOf(&before) != File {
		return before, unix.EINVAL
	}
	if before.Size > most {
		return before, &Failure{TooLarge, fmt.Sprintf("%q is larger than %d bytes", last, most)}
	}
	buffer := make([]byte, min(before.Size+1, 32<<10))
	n, err := io.CopyBuffer(to(before.Size), io.LimitReader(descriptor(fd), most+1), buffer)
	if err != nil {
		return before, err
	}
	if err := again(func() error { return unix.Fstat(fd, &after) }); err != nil {
		return before, err
	}
	if before.Size != after.Size || before.Mtim != after.Mtim || before.Ctim != after.Ctim ||
		after.Size != n {
		return before, &Failure{Changing, fmt.Sprintf("%q changes while it is read", last)}
	}
	return after, nil
}

// descriptor reads from an open file and writes to it.
type descriptor int

// Read implements [io.Reader].
func (d descriptor) Read(p []byte) (n int, err error) {
	err = again(func() (err error) { n, err = unix.Read(int(d), p); return err })
	if n <= 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// Write implements [io.Writer].
func (d descriptor) Write(p []byte) (n int, err error) {
	for n < len(p) {
		wrote := 0
		if err := again(func() (err error) { wrote, err = unix.Write(int(d), p[n:]); return err }); err != nil {
			return n, err
		}
		n += wrote
	}
	return n, nil
}

// children returns the names in an open directory, in order.
func children(dir int, at string) ([]string, error) {
	fd, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, failure("directory", at, err)
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	names, err := f.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, failure("directory", at, err)
	}
	if len(names) > maxFiles {
		return nil, &Failure{TooLarge, fmt.Sprintf("directory %q has more than %d names", at, maxFiles)}
	}
	slices.Sort(names)
	return names, nil
}
