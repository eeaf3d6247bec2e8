package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// atOnce is how many requests are worked on at once.
const atOnce = 8

// maxRequest bounds a line of a request: its content is at most maxHashed bytes, each of which JSON may spell by six.
const maxRequest = 6*maxHashed + 1<<20

// Serve answers requests until there are no more, and ends what it has begun. First it says who the host is.
func Serve(in io.Reader, out io.Writer, root string) error {
	t, err := openTree(root)
	if err != nil {
		return err
	}
	defer t.close()
	t.recover()
	var lock sync.Mutex
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var broken error
	answer := func(a Answer) error {
		lock.Lock()
		defer lock.Unlock()
		if broken == nil {
			broken = encoder.Encode(a)
		}
		return broken
	}
	if err := answer(Answer{Host: t.host()}); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	slots := make(chan struct{}, atOnce)
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, maxRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			t.answer(&request, answer)
		})
	}
}

// Do answers one request below a root, calling answer with each answer.
func Do(root string, request *Request, answer func(Answer) error) error {
	t, err := openTree(root)
	if err != nil {
		return err
	}
	defer t.close()
	t.answer(request, answer)
	return nil
}

// readLine reads a line of at most so many bytes.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, fmt.Errorf("a line is longer than %d bytes", most)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (t *tree) answer(r *Request, answer func(Answer) error) {
	last := Answer{ID: r.ID}
	stop := beat(r.ID, answer)
	err := t.do(r, &last, answer)
	stop()
	if err != nil {
		last = Answer{ID: r.ID, Error: failure(r.Verb, "", err)}
	}
	_ = answer(last) // whoever does not listen any more has gone
}

func (t *tree) do(r *Request, last *Answer, answer func(Answer) error) error {
	tell := func(e Entry) error {
		last.Files = append(last.Files, e)
		size := 0
		for i := range last.Files {
			f := &last.Files[i]
			if size += len(f.Bytes); f.Content != nil {
				size += len(*f.Content)
			}
		}
		if len(last.Files) < chunk && size < 1<<20 {
			return nil
		}
		part := *last
		part.More, last.Files = true, nil
		return answer(part)
	}
	part := func(a Answer) error {
		a.ID = r.ID
		return answer(a)
	}
	switch r.Verb {
	case Hello:
		// Whoever it says it is without what is to be mounted there, it is not.
		if err := t.unmounted("/"); err != nil {
			return err
		}
		last.Host = t.host()
		return nil
	case Look:
		last.Machine = look(r.Paths)
		return nil
	case Reboot:
		return t.reboot(time.Now())
	case List:
		if err := t.list(r.Patterns, r.Secrets, tell); err != nil {
			return err
		}
		return t.parts(r.Parts, part)
	case Check:
		if err := t.check(r, tell); err != nil {
			return err
		}
		return t.parts(r.Parts, part)
	case Upload:
		return t.upload(r)
	case Confirm:
		s, err := openTrials()
		if err != nil {
			return err
		}
		last.Trial, err = s.confirm(r.Trial)
		return err
	case Apply, Assert:
		switch {
		case r.Change != nil && kinds[r.Change.Kind] == nil:
			return &Failure{Refused, fmt.Sprintf("there is no kind %q", r.Change.Kind)}
		case r.Verb == Apply && r.Guard != nil:
			return t.guarded(r)
		case r.Verb == Apply:
			return t.make(r)
		case r.Change == nil:
			return t.assert(r.Want, last)
		}
		now, same, err := kinds[r.Change.Kind].assert(t, r.Change)
		if now != nil {
			last.Kind, last.Items, last.Same = r.Change.Kind, []json.RawMessage{now}, same
		}
		return err
	}
	return &Failure{Refused, fmt.Sprintf("there is no verb %q", r.Verb)}
}

// make makes, changes or deletes a file or a thing.
func (t *tree) make(r *Request) error {
	if r.Change != nil {
		return kinds[r.Change.Kind].apply(t, r.Change)
	}
	return t.apply(r)
}

// check tells of what there is of a request's paths.
func (t *tree) check(r *Request, tell func(Entry) error) error {
	reader := t.reader()
	reader.secrets = r.Secrets
	for _, path := range r.Paths {
		e, err := reader.at(path)
		switch {
		case codeOf(err) == NoParent || err == nil && e == nil:
			continue
		case err != nil:
			e = &Entry{Path: path, Error: failure("read", path, err)}
		}
		if err := tell(*e); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) at(path string) (*Entry, error) {
	if r.nameless != nil {
		return nil, r.nameless
	}
	dir, last, err := r.parent(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	e, _, err := r.read(dir, last, path)
	return e, err
}

// assert says whether a file is as it is wanted.
func (t *tree) assert(want *Entry, last *Answer) error {
	if want == nil {
		return &Failure{Refused, "a request to assert says what is wanted"}
	}
	now, err := t.reader().at(want.Path)
	if codeOf(err) == NoParent || err == nil && now == nil {
		return nil
	}
	if err != nil {
		return err
	}
	last.Files, last.Same = []Entry{*now}, difference(now, want) == ""
	return nil
}

// host says who the host is.
func (t *tree) host() *Host {
	h := &Host{Version: Version, Home: t.home(), Armed: t.armed()}
	dir, last, err := t.parent("/etc/machine-id")
	if err != nil {
		return h
	}
	defer unix.Close(dir)
	if text, _, err := readFile(dir, last, 1<<10); err == nil {
		h.Machine = strings.TrimSpace(string(text))
	}
	return h
}

// home returns the home of whoever has logged in: with sudo(8) not that of root.
func (t *tree) home() string {
	home := os.Getenv("HOME")
	if login := os.Getenv("SUDO_USER"); login != "" {
		home = ""
		if who, err := user.Lookup(login); err == nil {
			home = who.HomeDir
		}
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil || !filepath.IsAbs(real) {
		return ""
	}
	return real
}
