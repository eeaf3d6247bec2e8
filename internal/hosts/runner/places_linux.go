package runner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxPlaces bounds the directories that are watched. The kernel keeps a kilobyte of each, and lets a user have 8192 at
// least (inotify(7), max_user_watches).
const maxPlaces = 4096

// What is told of directories: of all that others come and go in them, of those in which something is named any change.
const (
	comesAndGoes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR |
		unix.IN_EXCL_UNLINK
	anyChange = comesAndGoes | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE
)

// places are directories that are watched by inotify(7): all on the way to what rules name, and those in which it is or
// may come to be. Each is opened in the one before it, and watched as it was opened, so that no symbolic link is
// followed. (What libraries offer takes a path.)
type places struct {
	*watcher
	rules []rule
	file  *os.File
	fd    int
	dirs  map[int][]*place // by watch descriptor: what is mounted twice has one
	at    map[string]*place
}

// place is a directory that is watched. rests are what of rules is still to be found in it.
type place struct {
	wd    int
	path  string
	mask  uint32
	rests []rest
}

// rest is a rule of which the first segments are the directories so far.
type rest struct{ rule, from int }

func (w *watcher) openPlaces() (*places, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, failure("watch directories below", w.tree.root, err)
	}
	p := &places{watcher: w, fd: fd, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int][]*place{},
		at: map[string]*place{}}
	if err := p.extend(w.rules()); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// extend watches what rules name that are new, too.
func (p *places) extend(rules []rule) error {
	var more []rest
	for _, r := range rules {
		if !slices.ContainsFunc(p.rules, func(known rule) bool {
			return known.kind == r.kind && slices.Equal(known.segments, r.segments)
		}) {
			more = append(more, rest{len(p.rules), 0})
			p.rules = append(p.rules, r)
		}
	}
	if len(more) == 0 {
		return nil
	}
	root, err := p.open("")
	if err != nil {
		return failure("root directory", p.tree.root, err)
	}
	p.add(root, "", more, false)
	return nil
}

func (p *places) close() { _ = p.file.Close() }

// followPlaces tells what changes in places until ctx ends. Where the kernel has lost something, it looks anew what
// there is to be watched.
func (w *watcher) followPlaces(ctx context.Context, p *places) {
	for {
		p.follow(ctx)
		p.close()
		if ctx.Err() != nil {
			return
		}
		p.everything()
		var err error
		if p, err = w.openPlaces(); err != nil {
			w.news.lack(KindFile, failure("watch", w.tree.root, err))
			return
		}
		p.everything()
	}
}

// everything tells that anything may have changed.
func (p *places) everything() {
	for i := range p.rules {
		p.news.add(Changed{Kind: p.rules[i].kind})
	}
}

// follow tells what changes, until ctx ends or the kernel has lost something.
func (p *places) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := p.file.Read(buffer)
		if err != nil || ctx.Err() != nil {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			// struct inotify_event of inotify(7): wd, mask, cookie, len, name.
			head := buffer[at : at+unix.SizeofInotifyEvent]
			wd := int(int32(binary.NativeEndian.Uint32(head)))
			mask, length := binary.NativeEndian.Uint32(head[4:]), int(binary.NativeEndian.Uint32(head[12:]))
			at += unix.SizeofInotifyEvent
			name := strings.TrimRight(string(buffer[at:min(at+length, n)]), "\x00")
			at += length
			if mask&unix.IN_Q_OVERFLOW != 0 {
				return
			}
			p.event(wd, mask, name)
		}
	}
}

// event tells what has changed as the kernel says.
func (p *places) event(wd int, mask uint32, name string) {
	here := slices.Clone(p.dirs[wd])
	if mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
		for _, d := range here {
			p.lose(d)
		}
		return
	}
	for _, d := range here {
		p.named(d, name)
		if d.path == "/etc" && name == "passwd" {
			_ = p.extend(p.watcher.rules()) // there may be homes with keys that were not there before
		}
		if mask&unix.IN_ISDIR == 0 {
			continue
		}
		switch {
		case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
			p.enter(d, name)
		case mask&(unix.IN_MOVED_FROM|unix.IN_DELETE) != 0:
			p.forget(d.path + "/" + name)
		}
	}
}

// named tells that something of a name in a directory may have changed, if rules name it.
func (p *places) named(d *place, name string) {
	if strings.HasPrefix(name, ours) {
		return
	}
	at := d.path + "/" + name
	for _, r := range d.rests {
		rule := &p.rules[r.rule]
		if matchSegments(rule.segments[r.from:], []string{name}) {
			p.news.add(rule.has(at))
		}
	}
}

// beyond returns what of rests is to be found below a name.
func (p *places) beyond(rests []rest, name string) []rest {
	var next []rest
	add := func(r rest) {
		if !slices.Contains(next, r) {
			next = append(next, r)
		}
	}
	for _, r := range rests {
		segments := p.rules[r.rule].segments
		last := len(segments) - 1
		switch {
		case segments[r.from] == "**":
			add(r)
			if r.from+1 < last && matchSegment(segments[r.from+1], name) {
				add(rest{r.rule, r.from + 2})
			}
		case r.from < last && matchSegment(segments[r.from], name):
			add(rest{r.rule, r.from + 1})
		}
	}
	return next
}

// enter watches a directory that has come into another, and tells of what is in it already.
func (p *places) enter(d *place, name string) {
	next := p.beyond(d.rests, name)
	if len(next) == 0 {
		return
	}
	dir, err := p.open(d.path)
	if err != nil {
		return // it has gone meanwhile, which is told, too
	}
	defer unix.Close(dir)
	p.below(dir, d.path+"/"+name, name, next, true)
}

// open opens a directory below the root.
func (p *places) open(at string) (int, error) {
	if at == "" {
		return openat(p.tree.fd, ".", search|unix.O_DIRECTORY, 0)
	}
	dir, last, err := p.tree.parent(at)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return openat(dir, last, search|unix.O_DIRECTORY, 0)
}

// below watches a directory of an open one, if it is one.
func (p *places) below(dir int, at, name string, rests []rest, late bool) {
	if fd, err := openat(dir, name, search|unix.O_DIRECTORY, 0); err == nil {
		p.add(fd, at, rests, late)
	}
}

// add watches an open directory and those below it, and closes it. late: what is in it has come with it.
func (p *places) add(fd int, at string, rests []rest, late bool) {
	defer unix.Close(fd)
	d, known, err := p.watch(fd, at, rests)
	if err != nil {
		p.lack(at, rests, err)
		if !errors.Is(err, unix.EACCES) { // of which there may be some below that can be watched
			return
		}
	}
	if known {
		return
	}
	if !late && !slices.ContainsFunc(rests, func(r rest) bool { return isWild(p.rules[r.rule].segments[r.from]) }) {
		for _, r := range rests {
			if name := p.rules[r.rule].segments[r.from]; r.from+1 < len(p.rules[r.rule].segments) {
				p.below(fd, at+"/"+name, name, p.beyond(rests, name), false)
			}
		}
		return
	}
	names, err := children(fd, at)
	if err != nil {
		p.lack(at, rests, err)
	}
	for _, name := range names {
		if late {
			p.named(d, name)
		}
		if next := p.beyond(rests, name); len(next) > 0 {
			p.below(fd, at+"/"+name, name, next, late)
		}
	}
}

// watch has the kernel tell of an open directory, and of as much of it as is needed. known: it did so before.
func (p *places) watch(fd int, at string, rests []rest) (d *place, known bool, err error) {
	d = &place{path: at, rests: slices.Clone(rests)}
	before := p.at[at]
	if before == nil && len(p.at) >= maxPlaces {
		return d, false, &Failure{TooLarge, fmt.Sprintf("the patterns have more than %d directories watched: narrow "+
			"them", maxPlaces)}
	}
	d.mask = p.mask(rests)
	d.wd, err = unix.InotifyAddWatch(p.fd, fmt.Sprintf("/proc/self/fd/%d", fd), d.mask|unix.IN_MASK_ADD)
	if err != nil {
		return d, false, err
	}
	if before != nil && before.wd == d.wd {
		known = true
		for _, r := range rests {
			if !slices.Contains(before.rests, r) {
				before.rests, known = append(before.rests, r), false
			}
		}
		before.mask |= d.mask
		return before, known, nil
	}
	if before != nil { // another has taken its place
		p.forget(at)
	}
	p.at[at], p.dirs[d.wd] = d, append(p.dirs[d.wd], d)
	return d, false, nil
}

// mask is what has to be told of a directory in which rests are to be found.
func (p *places) mask(rests []rest) uint32 {
	for _, r := range rests {
		segments := p.rules[r.rule].segments
		if last := len(segments) - 1; r.from == last || segments[r.from] == "**" && r.from+1 == last {
			return anyChange
		}
	}
	return comesAndGoes
}

// lack tells that a directory is not watched.
func (p *places) lack(at string, rests []rest, err error) {
	why := failure("watch directory", at, err)
	if errors.Is(err, unix.ENOSPC) {
		why = &Failure{Full, "the host lets nobody watch more directories (sysctl fs.inotify.max_user_watches)"}
	}
	for _, r := range rests {
		p.news.lack(p.rules[r.rule].kind, why)
	}
}

// forget watches a directory that has gone or was moved no more, nor those below it. Of what was in them, there may be
// nothing any more.
func (p *places) forget(at string) {
	for path, d := range p.at {
		if path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		if p.lose(d); len(p.dirs[d.wd]) == 0 {
			_, _ = unix.InotifyRmWatch(p.fd, uint32(d.wd))
		}
	}
}

// lose forgets a directory, and tells that what was named in it may have gone.
func (p *places) lose(d *place) {
	if p.at[d.path] != d {
		return
	}
	delete(p.at, d.path)
	p.dirs[d.wd] = slices.DeleteFunc(p.dirs[d.wd], func(other *place) bool { return other == d })
	if len(p.dirs[d.wd]) == 0 {
		delete(p.dirs, d.wd)
	}
	if d.mask == anyChange {
		for _, r := range d.rests {
			p.news.add(Changed{Kind: p.rules[r.rule].kind})
		}
	}
}
