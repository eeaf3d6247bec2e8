package runner

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxSystem bounds files of which rows have the whole text, or each row some of it: an answer about one thing is
// bounded too, and its text may be spelt six times as long.
const maxSystem = 32 << 10

// edit gives a file of text another content: that which change makes of what is there, "" if there is no such file;
// nil has the file go. fresh is the mode, the owner and the group of a file that is new. accept is as [tree.place] has
// it. A directory that is missing is made, of a file that is to be.
func (t *tree) edit(file string, fresh Entry, change func(text string) (*string, error),
	accept func(file string) error) error {
	now, err := t.reader().at(file)
	missing := codeOf(err) == NoParent
	if err != nil && !missing {
		return err
	}
	text := ""
	if now != nil {
		if now.Kind != File || now.Content == nil {
			return &Failure{Refused, fmt.Sprintf("%s is no file of text of at most %d KiB", file, MaxContent>>10)}
		}
		text = *now.Content
	}
	content, err := change(text)
	switch {
	case err != nil:
		return err
	case now == nil && content == nil, now != nil && content != nil && *content == text:
		return nil
	case missing:
		err := t.apply(&Request{Want: &Entry{Path: path.Dir(file), Kind: Directory, Mode: "0755"}})
		if err != nil && codeOf(err) != Exists {
			return err
		}
	}
	r := &Request{}
	if content != nil {
		r.Want = &Entry{Path: file, Kind: File, Content: content}
	}
	if now != nil {
		r.Have = &Entry{Path: file, Kind: File, SHA256: now.SHA256}
	} else {
		r.Want.Mode, r.Want.Owner, r.Want.Group = fresh.Mode, fresh.Owner, fresh.Group
	}
	return t.place(r, accept)
}

// filesOf returns the names of the files in a directory, links among them, in order; none if there is no such
// directory.
func (t *tree) filesOf(dir string) ([]string, error) {
	fd, last, err := t.parent(dir)
	if codeOf(err) == NoParent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	at, err := openat(fd, last, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("directory", dir, err)
	}
	defer unix.Close(at)
	all, err := children(at, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		st, err := statAt(at, name)
		if kind := kindOf(&st); err == nil && (kind == File || kind == Link) && !strings.HasPrefix(name, ours) {
			names = append(names, name)
		}
	}
	return names, nil
}

// linked returns what a file is a symbolic link to, as a path; "" if it is none.
func (t *tree) linked(file string) (string, error) {
	e, err := t.reader().link(file)
	if err != nil || e == "" || path.IsAbs(e) {
		return e, err
	}
	return path.Join(path.Dir(file), e), nil
}

// link returns the target of a symbolic link, "" of anything else.
func (r *reader) link(file string) (string, error) {
	dir, last, err := r.parent(file)
	if codeOf(err) == NoParent {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	buffer := make([]byte, 8<<10)
	n, err := unix.Readlinkat(dir, last, buffer)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", failure("read", file, err)
	}
	return string(buffer[:n]), nil
}

// lined is a text that ends with a line's end, unless it is empty.
func lined(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
