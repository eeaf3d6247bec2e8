package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// MaxUpload bounds a content that comes in chunks, of up to [MaxContent] bytes each.
const MaxUpload = maxHashed

// A content that is too large for one request comes in chunks, which gather in a temporary file beside the file that is
// to have it. The request to apply that names the upload then does with it what it does with any other new content. An
// upload that nobody applies is removed as any other file is that was being written ([applier.tidy]).

// upload adds a chunk to an upload, which the first chunk begins.
func (t *tree) upload(r *Request) error {
	switch {
	case !validID(r.Upload) || r.Want == nil || len(r.Chunk) == 0 || len(r.Chunk) > MaxContent || r.Offset < 0:
		return &Failure{Refused, "a chunk has an upload of letters and digits, a file, and up to 256 KiB"}
	case r.Offset+int64(len(r.Chunk)) > MaxUpload:
		return &Failure{TooLarge, fmt.Sprintf("the content of %q is larger than %d MiB", r.Want.Path, MaxUpload>>20)}
	}
	dir, last, err := t.parent(r.Want.Path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	a := &applier{reader: t.reader(), dir: dir, last: last, path: r.Want.Path, upload: r.Upload}
	flags := unix.O_WRONLY | unix.O_APPEND
	if r.Offset == 0 {
		a.tidy()
		flags |= unix.O_CREAT | unix.O_EXCL
	}
	fd, err := a.openUpload(flags, r.Offset)
	if err != nil {
		return err
	}
	_, err = descriptor(fd).Write(r.Chunk)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return errors.Join(a.failed("write", err), a.unlink(a.temporary()))
	}
	return nil
}

// temporary is the name of the upload's file.
func (a *applier) temporary() string { return ours + a.upload }

// openUpload opens the upload's file, which is to be ours and to have so many bytes.
func (a *applier) openUpload(flags int, size int64) (int, error) {
	// A pipe that somebody has put in its place is not waited for.
	fd, err := openat(a.dir, a.temporary(), flags|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ELOOP) {
		return -1, a.lost()
	}
	if err != nil {
		return -1, a.failed("write", err)
	}
	var st unix.Stat_t
	err = again(func() error { return unix.Fstat(fd, &st) })
	if err != nil || kindOf(&st) != File || int(st.Uid) != os.Geteuid() || st.Nlink != 1 || st.Size != size {
		_ = unix.Close(fd)
		return -1, errors.Join(a.lost(), err)
	}
	return fd, nil
}

func (a *applier) lost() error {
	return &Failure{Changing, fmt.Sprintf("what has come so far of the new content of %q is not what was sent: "+
		"it is sent anew", a.path)}
}

// uploaded opens what has been uploaded, once it is sure to be the content that is wanted.
func (a *applier) uploaded(want *Entry) (int, error) {
	fd, err := a.openUpload(unix.O_RDONLY, want.Size)
	if err != nil {
		return -1, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, descriptor(fd)); err != nil {
		_ = unix.Close(fd)
		return -1, a.failed("read", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		_ = unix.Close(fd)
		return -1, &Failure{Changing, fmt.Sprintf("the new content of %q has arrived with the SHA-256 %s, and is to "+
			"have %s: nothing is changed", a.path, got, want.SHA256)}
	}
	return fd, nil
}
