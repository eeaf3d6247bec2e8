package hosts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Sources are directories of the engine's machine from which contents of files come, by the names that rows call them.
// Whoever may write rows chooses among what is in them, and among nothing else: no path and no symbolic link leads out.
type Sources map[string]string

// Add adds what the command line says of a source, NAME=DIRECTORY. A name has letters, digits, dots, underscores and
// hyphens.
func (s Sources) Add(text string) error {
	name, dir, _ := strings.Cut(text, "=")
	bad := func(why string) error {
		return fmt.Errorf("%q %s: it is NAME=DIRECTORY, such as artifacts=/srv/artifacts", text, why)
	}
	if strings.Trim(name, sourceLetters) != "" || strings.Trim(name, ".") == "" {
		return bad("has no name of letters, digits, dots, underscores and hyphens")
	}
	if s[name] != "" {
		return bad("has the name of another file source")
	}
	absolute, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return bad("names no directory")
	}
	s[name] = absolute
	return nil
}

// sourceLetters are what the name of a source is made of.
const sourceLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// CodeSource is the code of the error of a content that its source does not have.
const CodeSource = "Source"

// Source says which content a file is to have, without having it.
type Source struct {
	// Name is NAME/PATH of a file in [Sources].
	Name string
	// SHA256 is that of the content, in hexadecimal digits: what the source has is used only if it has this one.
	SHA256 string
}

// failed is the error of a source for a file of a host. It is not tried again by itself: the checksum says what is
// wanted, so that nobody looks again and again whether the source has it by now.
func (s *Source) failed(host, path, format string, args ...any) error {
	return Failure(modules.Invalid, CodeSource, host, "%s is not written: %s", path, fmt.Sprintf(format, args...))
}

// open opens the source's file, which has the content that is wanted, and returns its size.
func (s *Source) open(sources Sources, host, path string) (_ *os.File, size int64, err error) {
	failed := func(format string, args ...any) error { return s.failed(host, path, format, args...) }
	if s.Name == "" {
		return nil, 0, failed("it is to have the content with the SHA-256 %s, which the row does not have: set source "+
			"to where it is, or content; with sha256 = NULL a file that is there stays as it is", s.SHA256)
	}
	name, within, _ := strings.Cut(s.Name, "/")
	dir, known := sources[name]
	if !known {
		return nil, 0, failed("this engine has no file source %q, but [%s]: start it with --file-source %s=DIRECTORY",
			name, strings.Join(slices.Sorted(maps.Keys(sources)), ", "), name)
	}
	f, err := openRegular(dir, within)
	if err != nil {
		return nil, 0, failed("source %s cannot be read (%v): put the file there, and SELECT iasql_retry(…)", s.Name,
			withoutPath(err))
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	sum := sha256.New()
	size, err = io.Copy(sum, io.LimitReader(f, runner.MaxUpload+1))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return nil, 0, failed("source %s cannot be read: %v", s.Name, withoutPath(err))
	case size > runner.MaxUpload:
		return nil, 0, failed("source %s is too large: %d MiB are the most", s.Name, runner.MaxUpload>>20)
	case got != s.SHA256:
		return nil, 0, failed("source %s has the SHA-256 %s, and the row asks for %s: set sha256 to the one, or put "+
			"the file of the other there and SELECT iasql_retry(…)", s.Name, got, s.SHA256)
	}
	return f, size, nil
}

// openRegular opens a regular file below a directory, out of which no symbolic link leads.
func openRegular(dir, path string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// A pipe that nobody writes to is not waited for.
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// withoutPath is an error of the file system without the path, which is the engine's own.
func withoutPath(err error) error {
	var known *fs.PathError
	if errors.As(err, &known) {
		return known.Err
	}
	return err
}

// maxChunk is how much of a content goes by one request. A slow line takes it well within [idleWithin].
const maxChunk = 128 << 10

// Upload sends the content of a change's source to the host, where it waits beside the file for [Hosts.ApplyFile]. That
// is a step of its own, because it may take longer than a call may that has been written into the journal (R6).
func (h *Hosts) Upload(ctx context.Context, name string, c *FileChange) error {
	settings, err := h.writable(ctx, name)
	if err != nil {
		return err
	}
	path, scopes := c.path(), settings.Of(KindFile)
	switch {
	case Named(scopes, path) == nil:
		return OutOfScope(name, path)
	case isSecret(scopes, path):
		return errSecret(name, path)
	}
	f, size, err := c.Source.open(h.options.Sources, name, path)
	if err != nil {
		return err
	}
	defer f.Close()
	want := *c.Want
	want.SHA256, want.Size = c.Source.SHA256, size
	c.Want = &want
	if size == 0 { // there is nothing to send
		want.Content = new(string)
		return nil
	}
	c.uploaded, err = h.send(ctx, name, c, f, size)
	return err
}

// send sends the content of a source in chunks, and returns what the host calls it.
func (h *Hosts) send(ctx context.Context, name string, c *FileChange, content io.Reader, size int64) (string, error) {
	k := h.host(name)
	select { // one at a time, so that the runner stays small
	case k.upload <- struct{}{}:
		defer func() { <-k.upload }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	request := runner.Request{Verb: runner.Upload, Upload: rand.Text(), Want: &runner.Entry{Path: c.path()}}
	chunk := make([]byte, maxChunk)
	for request.Offset < size {
		request.Chunk = chunk[:min(maxChunk, size-request.Offset)]
		if _, err := io.ReadFull(content, request.Chunk); err != nil {
			return "", c.Source.failed(name, c.path(), "source %s cannot be read: %v", c.Source.Name, withoutPath(err))
		}
		if err := h.ask(ctx, name, &request, func(runner.Answer) error { return nil }); err != nil {
			return "", err
		}
		request.Offset += int64(len(request.Chunk))
	}
	return request.Upload, nil
}
