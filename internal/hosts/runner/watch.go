package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// KindFile is the kind of [Changed] and of scopes that a file, a directory or a symbolic link is of.
const KindFile = "file"

// kindFacts is the kind of scopes of what is read of the machine alone.
const kindFacts = "facts"

// WatchBegins is the line with which [ServeWatch] says that it is there.
const WatchBegins = "iasql-runner watches"

// Bounds of one answer of a watch.
const (
	changedAtOnce = 100
	changedBytes  = 16 << 10
)

// newsWithin is how long what changes is gathered before it is told.
const newsWithin = 100 * time.Millisecond

// ServeWatch reads one request to watch, and answers it until its input ends. It leaves nothing on the host.
func ServeWatch(in io.Reader, out io.Writer, root string) error {
	if _, err := fmt.Fprintln(out, WatchBegins); err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	line, err := readLine(lines, maxRequest)
	if err != nil {
		return err
	}
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		cancel()
	}()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err = Watch(ctx, root, &request, func(a Answer) error { return encoder.Encode(a) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Watch calls tell with what may have changed of what the parts of a request name, until ctx ends or tell fails. The
// first answer says that it has begun, and one comes every few seconds. What it tells is a reason to look and no fact:
// of many changes of one thing it tells once in a while, of a burst only the kind, and where the kernel has lost some,
// every kind that it may have lost something of. What cannot be watched it says ([Unwatched]).
func Watch(ctx context.Context, root string, r *Request, tell func(Answer) error) error {
	t, err := openTree(root)
	if err != nil {
		return err
	}
	defer t.close()
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{tree: t, parts: r.Parts, news: newNews()}
	if err := w.begin(ctx); err != nil {
		cancel()
		return err
	}
	defer w.working.Wait()
	defer cancel()
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	first := true
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beats.C:
			if err := tell(Answer{ID: r.ID, More: true}); err != nil {
				return err
			}
		case <-w.news.wake:
			due.Reset(newsWithin)
		case <-due.C:
			changed, unwatched, next := w.news.take(time.Now())
			if err := tellNews(r.ID, changed, unwatched, first, tell); err != nil {
				return err
			}
			first = false
			if next > 0 {
				due.Reset(next)
			}
		}
	}
}

// tellNews tells in answers of a bounded size. always: also if there is nothing to tell.
func tellNews(id int64, changed []Changed, unwatched []Unwatched, always bool, tell func(Answer) error) error {
	for always || len(changed) > 0 || len(unwatched) > 0 {
		n, size := 0, 0
		for n < len(changed) && n < changedAtOnce && (n == 0 || size+len(changed[n].Name) < changedBytes) {
			size += len(changed[n].Name)
			n++
		}
		if err := tell(Answer{ID: id, More: true, Changed: changed[:n], Unwatched: unwatched}); err != nil {
			return err
		}
		changed, unwatched, always = changed[n:], nil, false
	}
	return nil
}

// rule says what has changed when a path has.
type rule struct {
	segments []string // of a pattern
	kind     string
	// name returns what the thing is called whose file is at a path; nil: it is only known that one has changed.
	name func(path string) string
}

// has returns what has changed with a path.
func (r *rule) has(at string) Changed {
	c := Changed{Kind: r.kind}
	if r.name != nil && utf8.ValidString(at) {
		c.Name = r.name(at)
	}
	return c
}

// filesOf are the files by which kinds of scopes are watched, by what changes with them. Packages: what dpkg(1),
// apt, rpm(8) and dnf have noted once they are done. dpkg's log is not watched, which is written while it is at it.
var filesOf = map[string]map[string][]string{
	KindPackage: {KindPackage: {"/var/lib/dpkg/status", "/var/lib/apt/extended_states", "/var/lib/rpm/rpmdb.sqlite",
		"/var/lib/rpm/Packages", "/usr/lib/sysimage/rpm/rpmdb.sqlite", history, history + "-wal", versionlockList}},
	KindUser: {KindUser: {"/etc/passwd", "/etc/shadow"},
		KindAuthorizedKey: {"/etc/passwd"}},
	KindGroup:      {KindGroup: {"/etc/group", "/etc/gshadow"}},
	KindSysctl:     {KindSysctl: {"/etc/sysctl.conf", "/etc/sysctl.d/*"}},
	KindSudoer:     {KindSudoer: {"/etc/sudoers.d/*"}},
	KindCron:       {KindCron: {"/etc/cron.d/*"}},
	KindMount:      {KindMount: {FstabFile}},
	KindRepository: {KindRepository: {"/etc/apt/sources.list.d/*"}},
}

// rules returns how the parts are watched by files.
func (w *watcher) rules() []rule {
	var rules []rule
	add := func(pattern, kind string, name func(string) string) {
		if CheckPath(pattern) == nil {
			rules = append(rules, rule{segmentsOf(pattern), kind, name})
		}
	}
	for i := range w.parts {
		p := &w.parts[i]
		switch p.Kind {
		case KindFile:
			for _, pattern := range p.Patterns {
				add(pattern, KindFile, func(at string) string { return at })
			}
		case KindBlock:
			for _, pattern := range p.Patterns {
				add(pattern, KindBlock, nil)
			}
		case KindUnit:
			// Its own file; and its drop-ins, and what pulls it in.
			add(ownUnits+"/*", KindUnit, unitOfFile)
			add(ownUnits+"/*/*", KindUnit, unitOfFile)
		case KindUser:
			for _, file := range w.keyFiles(p) {
				add(file, KindAuthorizedKey, nil)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(filesOf[p.Kind])) {
			for _, file := range filesOf[p.Kind][kind] {
				add(file, kind, nil)
			}
		}
	}
	return rules
}

// segmentsOf splits a pattern. Several ** in a row name what one does.
func segmentsOf(pattern string) []string {
	segments := strings.Split(pattern, "/")[1:]
	return slices.CompactFunc(segments, func(a, b string) bool { return a == "**" && b == "**" })
}

// keyFiles returns where the keys are that let the users in whom a part names.
func (w *watcher) keyFiles(p *Part) []string {
	all, err := w.tree.entries("/etc/passwd", 7)
	if err != nil {
		return nil
	}
	var files []string
	of := selected(p)
	for _, f := range all {
		if file := keysOf(f[5]); file != "" && !isWild(file) && of.has("", f[0]) {
			files = append(files, file)
		}
	}
	return files
}

// unitOfFile returns the unit that a file below the directory of units is about; "" if its name does not say.
func unitOfFile(at string) string {
	name := strings.TrimPrefix(at, ownUnits+"/")
	if dir, file, in := strings.Cut(name, "/"); in {
		name = file
		if unit, drops := strings.CutSuffix(dir, ".d"); drops {
			name = unit
		}
	}
	if name = strings.TrimSuffix(path.Base(name), ".d"); unitName.MatchString(name) {
		return name
	}
	return ""
}
