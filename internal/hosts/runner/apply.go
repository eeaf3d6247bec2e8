package runner

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// validateWithin is how long a validation may take.
const validateWithin = 30 * time.Second

// apply makes, changes or deletes one file.
func (t *tree) apply(r *Request) error { return t.place(r, nil) }

// place makes, changes or deletes one file. accept, unless it is nil, has to accept the new content before it takes the
// file's name: it is called with the name of a file that has it.
func (t *tree) place(r *Request, accept func(file string) error) error {
	of := r.Want
	if of == nil {
		of = r.Have
	}
	if of == nil || r.Want != nil && r.Have != nil && (r.Want.Path != r.Have.Path || r.Want.Kind != r.Have.Kind) {
		return &Failure{Refused, "a request to apply says what there is to be or to go, of one path and kind"}
	}
	dir, last, err := t.parent(of.Path)
	if err != nil {
		if r.Want == nil && codeOf(err) == NoParent {
			return nil // gone with its directory
		}
		return err
	}
	defer unix.Close(dir)
	a := &applier{reader: t.reader(), dir: dir, last: last, path: of.Path, validate: r.Validate, secret: r.Secret,
		accept: accept}
	if a.nameless != nil {
		return a.nameless
	}
	if r.Upload != "" && r.Want != nil && r.Want.Kind == File && validID(r.Upload) {
		a.upload = r.Upload
		defer func() { _ = a.unlink(a.temporary()) }()
	}
	switch {
	case r.Have == nil:
		return a.create(r.Want)
	case r.Want == nil:
		return a.remove(r.Have)
	}
	return a.change(r.Want, r.Have)
}

type applier struct {
	*reader
	dir        int
	last, path string
	validate   string
	secret     bool   // the content is
	upload     string // which has the new content; "": the entry has it
	accept     func(file string) error
}

func (a *applier) failed(what string, err error) error { return failure(what, a.path, err) }

func (a *applier) create(want *Entry) error {
	if _, err := statAt(a.dir, a.last); err == nil {
		return a.failed("create", unix.EEXIST)
	}
	switch want.Kind {
	case File:
		if _, given := want.contents(); !given && a.upload == "" {
			want.Content = new(string)
		}
		return a.write(want, nil, 0o644, func(temporary string) error {
			// Unlike a rename this fails if there is something meanwhile.
			err := again(func() error { return unix.Linkat(a.dir, temporary, a.dir, a.last, 0) })
			return errors.Join(err, a.unlink(temporary))
		})
	case Directory:
		mode, uid, gid, err := a.attributes(want, nil, 0o755)
		if err != nil {
			return err
		}
		if err := again(func() error { return unix.Mkdirat(a.dir, a.last, 0o700) }); err != nil {
			return a.failed("create", err)
		}
		fd, err := openat(a.dir, a.last, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return a.failed("open", err)
		}
		defer unix.Close(fd)
		if err := a.set(fd, mode, uid, gid); err != nil {
			// Half made it would be taken for somebody's own.
			return errors.Join(err, unix.Unlinkat(a.dir, a.last, unix.AT_REMOVEDIR))
		}
		return a.sync()
	case Link:
		return a.link(want, func(temporary string) error {
			err := again(func() error { return unix.Linkat(a.dir, temporary, a.dir, a.last, 0) })
			return errors.Join(err, a.unlink(temporary))
		})
	}
	return &Failure{Refused, fmt.Sprintf("%q is no kind of file", want.Kind)}
}

func (a *applier) change(want, have *Entry) error {
	now, st, err := a.expect(have)
	if err != nil {
		return err
	}
	if now == nil {
		return &Failure{Gone, fmt.Sprintf("there is no %s %q any more", have.Kind, a.path)}
	}
	replace := func(temporary string) error {
		if _, still, err := a.expect(have); err != nil || still.Ino != st.Ino {
			return errors.Join(a.unlink(temporary), conflict(a.path), err)
		}
		return again(func() error { return unix.Renameat(a.dir, temporary, a.dir, a.last) })
	}
	if _, given := want.contents(); given && want.Kind != File {
		return &Failure{Refused, fmt.Sprintf("%q is a %s, and has no content", a.path, want.Kind)}
	}
	switch {
	case want.Kind == Link && (want.Target != now.Target && want.Target != ""):
		if want.Owner == "" {
			want.Owner = now.Owner
		}
		if want.Group == "" {
			want.Group = now.Group
		}
		return a.link(want, replace)
	case want.Kind == Link:
		_, uid, gid, err := a.attributes(want, &st, 0)
		if err != nil {
			return err
		}
		return a.ended(again(func() error {
			return unix.Fchownat(a.dir, a.last, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
		}))
	case want.Kind == File && (otherContent(want, now) || a.upload != "" && want.SHA256 != now.SHA256):
		if st.Nlink > 1 {
			return &Failure{Refused, fmt.Sprintf("file %q has %d names (hard links), and replacing it would part them",
				a.path, st.Nlink)}
		}
		return a.write(want, &st, 0, replace)
	}
	mode, uid, gid, err := a.attributes(want, &st, 0)
	if err != nil {
		return err
	}
	fd, err := openat(a.dir, a.last, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return a.failed("open", err)
	}
	defer unix.Close(fd)
	var opened unix.Stat_t
	if err := unix.Fstat(fd, &opened); err != nil || opened.Ino != st.Ino {
		return errors.Join(conflict(a.path), err)
	}
	return a.set(fd, mode, uid, gid)
}

// otherContent reports whether an entry says another content of a file than that has now.
func otherContent(said, now *Entry) bool {
	text, given := said.contents()
	return given && sumOf(text) != now.SHA256
}

func (a *applier) remove(have *Entry) error {
	now, _, err := a.expect(have)
	if err != nil || now == nil {
		return err
	}
	flags := 0
	if now.Kind == Directory {
		flags = unix.AT_REMOVEDIR
	}
	if err := again(func() error { return unix.Unlinkat(a.dir, a.last, flags) }); err != nil {
		return a.failed("delete", err)
	}
	return a.sync()
}

// expect reads what is there, nil if that is nothing, and fails if it is not what was seen last.
func (a *applier) expect(have *Entry) (*Entry, unix.Stat_t, error) {
	now, st, err := a.read(a.dir, a.last, a.path)
	if err != nil {
		return nil, st, err
	}
	if now == nil {
		if _, err := statAt(a.dir, a.last); err == nil {
			return nil, st, conflict(a.path) // a device, a pipe or a socket
		}
		return nil, st, nil
	}
	if difference(now, have) != "" {
		return nil, st, conflict(a.path)
	}
	return now, st, nil
}

func conflict(path string) error { return NotAsRead(path) }

// NotAsRead is the failure of a change of a file that is not what it was when it was read last.
func NotAsRead(path string) *Failure {
	return &Failure{Conflict, fmt.Sprintf(
		"%q is not what it was when it was last read: nothing is done to it before it "+
			"has been read again", path)}
}

// difference returns in what a file is not as another says it is; what that does not say does not count.
func difference(now, said *Entry) string {
	switch {
	case said.Kind != "" && now.Kind != said.Kind:
		return "kind"
	case said.SHA256 != "" && now.SHA256 != said.SHA256, otherContent(said, now):
		return "content"
	case said.Target != "" && now.Target != said.Target:
		return "target"
	case said.Mode != "" && now.Mode != "" && !sameMode(now.Mode, said.Mode):
		return "mode"
	case said.Owner != "" && now.Owner != said.Owner:
		return "owner"
	case said.Group != "" && now.Group != said.Group:
		return "group"
	}
	return ""
}

func sameMode(a, b string) bool {
	x, err := strconv.ParseUint(a, 8, 32)
	y, err2 := strconv.ParseUint(b, 8, 32)
	return err == nil && err2 == nil && x == y
}

func sumOf[T string | []byte](content T) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// attributes returns the mode, the owner and the group that a file is to have: those wanted, else those it has, else
// the mode given and those of the process (-1).
func (a *applier) attributes(want *Entry, has *unix.Stat_t, mode uint32) (_ uint32, uid, gid int, err error) {
	uid, gid = -1, -1
	if has != nil {
		mode, uid, gid = uint32(has.Mode)&0o7777, int(has.Uid), int(has.Gid)
	}
	if want.Mode != "" {
		wanted, err := strconv.ParseUint(want.Mode, 8, 32)
		if err != nil || wanted > 0o7777 {
			return 0, 0, 0, &Failure{Refused, fmt.Sprintf("%q is no mode: four octal digits, such as 0644", want.Mode)}
		}
		mode = uint32(wanted)
	}
	if want.Owner != "" {
		if uid, err = idOf(a.users, want.Owner, "user"); err != nil {
			return 0, 0, 0, err
		}
	}
	if want.Group != "" {
		if gid, err = idOf(a.groups, want.Group, "group"); err != nil {
			return 0, 0, 0, err
		}
	}
	return mode, uid, gid, nil
}

// set gives an open file its owner, group and mode, durably. The owner comes first: changing it clears bits of the
// mode.
func (a *applier) set(fd int, mode uint32, uid, gid int) error {
	if err := a.own(fd, uid, gid); err != nil {
		return err
	}
	return a.permit(fd, mode)
}

// own gives an open file its owner and group.
func (a *applier) own(fd, uid, gid int) error {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return a.failed("look at", err)
	}
	if uid >= 0 && uid != int(st.Uid) || gid >= 0 && gid != int(st.Gid) {
		if err := again(func() error { return unix.Fchown(fd, uid, gid) }); err != nil {
			return a.failed("change the owner of", err)
		}
	}
	return nil
}

// permit gives an open file its mode, and makes it durable.
func (a *applier) permit(fd int, mode uint32) error {
	if err := again(func() error { return unix.Fchmod(fd, mode) }); err != nil {
		return a.failed("change the mode of", err)
	}
	return a.ended(again(func() error { return unix.Fsync(fd) }))
}

func (a *applier) ended(err error) error {
	if err != nil {
		return a.failed("change", err)
	}
	return nil
}

// write writes the content beside the file, and has it take the file's name. has is what is there, nil if nothing is.
func (a *applier) write(want *Entry, has *unix.Stat_t, mode uint32, take func(temporary string) error) error {
	mode, uid, gid, err := a.attributes(want, has, mode)
	if err != nil {
		return err
	}
	temporary, fd, err := a.fill(want)
	if err != nil {
		return err
	}
	// A change of the owner takes capabilities away, and an access control list has a mode of its own.
	err = a.own(fd, uid, gid)
	if err == nil && has != nil {
		err = a.keep(fd)
	}
	if err == nil {
		err = a.permit(fd, mode)
	}
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	if err == nil {
		err = a.accepted(temporary)
	}
	if err == nil && a.accept != nil {
		err = a.accept(filepath.Join(filepath.Dir(a.path), temporary))
	}
	if err != nil {
		_ = a.unlink(temporary)
		return a.failed("write", err)
	}
	if err := take(temporary); err != nil {
		_ = a.unlink(temporary)
		return a.failed("write", err)
	}
	return a.sync()
}

// fill returns a file beside, open, that has the content.
func (a *applier) fill(want *Entry) (temporary string, fd int, err error) {
	if a.upload != "" {
		fd, err = a.uploaded(want)
		return a.temporary(), fd, err
	}
	text, _ := want.contents()
	if len(text) > maxHashed {
		return "", -1, &Failure{TooLarge, fmt.Sprintf("the content of %q is larger than %d MiB", a.path, maxHashed>>20)}
	}
	a.tidy()
	temporary = ours + rand.Text()
	fd, err = openat(a.dir, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return "", -1, a.failed("write", err)
	}
	if _, err = descriptor(fd).Write(text); err != nil {
		_ = unix.Close(fd)
		return "", -1, errors.Join(a.failed("write", err), a.unlink(temporary))
	}
	return temporary, fd, nil
}

// link makes a symbolic link beside, and has it take the name.
func (a *applier) link(want *Entry, take func(temporary string) error) error {
	if want.Target == "" {
		return &Failure{Refused, fmt.Sprintf("link %q has no target", a.path)}
	}
	_, uid, gid, err := a.attributes(want, nil, 0)
	if err != nil {
		return err
	}
	a.tidy()
	temporary := ours + rand.Text()
	if err := again(func() error { return unix.Symlinkat(want.Target, a.dir, temporary) }); err != nil {
		return a.failed("write", err)
	}
	if uid >= 0 || gid >= 0 {
		err = again(func() error { return unix.Fchownat(a.dir, temporary, uid, gid, unix.AT_SYMLINK_NOFOLLOW) })
	}
	if err == nil {
		err = take(temporary)
	}
	if err != nil {
		_ = a.unlink(temporary)
		return a.failed("write", err)
	}
	return a.sync()
}

func (a *applier) unlink(name string) error {
	err := again(func() error { return unix.Unlinkat(a.dir, name, 0) })
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// staleAfter is after what time a file that was being written is nobody's any more.
const staleAfter = 10 * time.Minute

// tidy removes what a runner has left here that was ended while it wrote.
func (a *applier) tidy() {
	names, err := children(a.dir, a.path)
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, ours) {
			continue
		}
		st, err := statAt(a.dir, name)
		if err == nil && time.Since(time.Unix(st.Ctim.Unix())) > staleAfter {
			_ = a.unlink(name)
		}
	}
}

// keep gives the new file the extended attributes of the old, access control lists among them.
func (a *applier) keep(to int) error {
	from, err := openat(a.dir, a.last, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	all, err := attributesOf(from)
	if err != nil {
		return err
	}
	for attribute, value := range all {
		if err := unix.Fsetxattr(to, attribute, value, 0); err != nil {
			return fmt.Errorf("its attribute %s cannot be kept: %w", attribute, err)
		}
	}
	return nil
}

// sync makes a change of names in the directory durable.
func (a *applier) sync() error {
	fd, err := openat(a.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		err = again(func() error { return unix.Fsync(fd) })
		_ = unix.Close(fd)
	}
	// A directory that may be written and not read cannot be made durable by us; the file in it is.
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return a.ended(err)
}

// accepted runs the validation, if there is one, on the new content.
func (a *applier) accepted(temporary string) error {
	if a.validate == "" {
		return nil
	}
	if a.root != "/" {
		return &Failure{Refused, fmt.Sprintf(
			"%q is below the root %s of a host of this machine, where no command is run: "+
				"set validate of its host_scope to NULL", a.path, a.root)}
	}
	fields := strings.Fields(a.validate)
	found := false
	file := filepath.Join(filepath.Dir(a.path), temporary)
	for i, field := range fields {
		if strings.Contains(field, "%s") {
			fields[i], found = strings.ReplaceAll(field, "%s", file), true
		}
	}
	if !found || strings.Contains(fields[0], file) {
		return &Failure{Refused, fmt.Sprintf("validate %q has no %%s for the file", a.validate)}
	}
	if said, err := run(fields); err != nil {
		text := strings.ReplaceAll(said, file, a.path)
		if a.secret {
			text = unsaid
		}
		return &Failure{Invalid, fmt.Sprintf("%s does not accept the new content of %q (%v): %s", fields[0], a.path,
			err, text)}
	}
	return nil
}

// unsaid stands for what a program has said that has read a secret.
const unsaid = "what it says is left out, as it may have the secret"

// bounded keeps the beginning of what is written.
type bounded struct {
	text bytes.Buffer
	most int
}

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	b.text.Write(p[:min(len(p), max(0, b.most-b.text.Len()))])
	return len(p), nil
}
