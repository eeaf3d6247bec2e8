package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// kinds are those of what there is on a host besides files, by the names that requests call them.
var kinds = map[string]kind{}

// kind is what requests need of a kind: a [things].
type kind interface {
	list(t *tree, of *selection, tell func(json.RawMessage) error, unread func(Unread)) error
	apply(t *tree, c *Change) error
	assert(t *tree, c *Change) (now json.RawMessage, same bool, err error)
}

// things is a kind whose things are values of a type.
type things[T any] struct {
	what string // what one is called, such as package
	// key returns what names a thing: no two of a kind have one.
	key func(*T) string
	// scoped returns what the patterns of a request are matched with; nil: its key.
	scoped func(*T) string
	// read tells of those that are asked for. It may tell of others too, which are left out.
	read func(t *tree, of *selection, tell func(T), unread func(name string, err error)) error
	// difference returns in what a thing is not as another says it is, "" if in nothing. What that does not say does
	// not count.
	difference func(now, said *T) string
	// change makes what is there what is wanted, nil if that is to go; have is what was seen last, nil if that was
	// nothing. nil: nothing of the kind is changed.
	change func(t *tree, have, want *T) error
	// turn is held while things are changed: of kinds whose changes get in the way of each other it is the same; nil
	// if none do.
	turn *sync.Mutex
}

// selection says which things of a kind are asked for.
type selection struct {
	patterns []string
	names    map[string]bool
}

func selected(p *Part) *selection {
	s := &selection{patterns: p.Patterns, names: make(map[string]bool, len(p.Names))}
	for _, name := range p.Names {
		s.names[name] = true
	}
	return s
}

// byFile returns the names that are asked for by what stands before the separator: the file that has the things.
func (s *selection) byFile(separator string) map[string][]string {
	files := map[string][]string{}
	for name := range s.names {
		file, _, _ := strings.Cut(name, separator)
		files[file] = append(files[file], name)
	}
	return files
}

// has reports whether a thing is asked for: by its name, or because a pattern names it.
func (s *selection) has(name, scoped string) bool {
	if s.names[name] {
		return true
	}
	for _, pattern := range s.patterns {
		if MatchesName(pattern, scoped) {
			return true
		}
	}
	return false
}

func (k *things[T]) scopedOf(thing *T) string {
	if k.scoped == nil {
		return k.key(thing)
	}
	return k.scoped(thing)
}

func (k *things[T]) list(t *tree, of *selection, tell func(json.RawMessage) error, unread func(Unread)) error {
	count := 0
	var broken error
	err := k.read(t, of, func(thing T) {
		if broken != nil || !of.has(k.key(&thing), k.scopedOf(&thing)) {
			return
		}
		if count++; count > maxItems {
			broken = &Failure{TooLarge, fmt.Sprintf("the patterns name more than %d of kind %s: narrow them",
				maxItems, k.what)}
			return
		}
		item, err := json.Marshal(&thing)
		if err == nil {
			err = tell(item)
		}
		broken = err
	}, func(name string, err error) {
		unread(Unread{Name: name, Error: failure("read", name, err)})
	})
	if broken != nil {
		return broken
	}
	return err
}

// one reads one thing, nil if there is none of that name.
func (k *things[T]) one(t *tree, name string) (found *T, err error) {
	var unread error
	err = k.read(t, &selection{names: map[string]bool{name: true}}, func(thing T) {
		if k.key(&thing) == name {
			found = &thing
		}
	}, func(of string, err error) {
		if of == name {
			unread = err
		}
	})
	if err == nil {
		err = unread
	}
	return found, err
}

func decoded[T any](item json.RawMessage) (*T, error) {
	if item == nil {
		return nil, nil
	}
	thing := new(T)
	if err := json.Unmarshal(item, thing); err != nil {
		return nil, &Failure{Refused, fmt.Sprintf("a request is not understood: %v", err)}
	}
	return thing, nil
}

// Either returns what is wanted, or else what is there.
func Either[T any](want, have *T) *T {
	if want != nil {
		return want
	}
	return have
}

// subject returns the thing that a change is about, as it is to be, or else as it was; nil if it is of another kind.
func subject[T any](c *Change, kind string) (*T, error) {
	if c.Kind != kind {
		return nil, nil
	}
	if c.Want != nil {
		return decoded[T](c.Want)
	}
	return decoded[T](c.Have)
}

func (k *things[T]) apply(t *tree, c *Change) error {
	want, err := decoded[T](c.Want)
	if err != nil {
		return err
	}
	have, err := decoded[T](c.Have)
	if err != nil {
		return err
	}
	of := want
	if of == nil {
		of = have
	}
	if of == nil || want != nil && have != nil && k.key(want) != k.key(have) {
		return &Failure{Refused, "a request to apply says what there is to be or to go, of one name"}
	}
	if k.change == nil {
		return &Failure{Refused, fmt.Sprintf("nothing of kind %s is changed", k.what)}
	}
	if k.turn != nil {
		k.turn.Lock()
		defer k.turn.Unlock()
	}
	name := k.key(of)
	now, err := k.one(t, name)
	switch {
	case err != nil:
		return err
	case have == nil && now != nil:
		return &Failure{Exists, fmt.Sprintf("there is a %s %q already", k.what, name)}
	case have != nil && now == nil && want == nil:
		return nil
	case have != nil && now == nil:
		return &Failure{Gone, fmt.Sprintf("there is no %s %q any more", k.what, name)}
	case have != nil:
		if in := k.difference(now, have); in != "" {
			return &Failure{Conflict, fmt.Sprintf("%s %q is not what it was when it was last read (its %s): nothing "+
				"is done to it before it has been read again", k.what, name, in)}
		}
	}
	return k.change(t, have, want)
}

func (k *things[T]) assert(t *tree, c *Change) (json.RawMessage, bool, error) {
	want, err := decoded[T](c.Want)
	if err != nil {
		return nil, false, err
	}
	if want == nil {
		return nil, false, &Failure{Refused, "a request to assert says what is wanted"}
	}
	now, err := k.one(t, k.key(want))
	if err != nil || now == nil {
		return nil, false, err
	}
	item, err := json.Marshal(now)
	return item, k.difference(now, want) == "", err
}

// parts tells of what is asked for of each kind. What fails of one is told of that, and fails no other.
func (t *tree) parts(parts []Part, answer func(Answer) error) error {
	for i := range parts {
		p := &parts[i]
		k := kinds[p.Kind]
		if k == nil {
			return &Failure{Refused, fmt.Sprintf("there is no kind %q", p.Kind)}
		}
		var told Answer
		size := 0
		flush := func() error {
			if len(told.Items) == 0 && len(told.Unread) == 0 {
				return nil
			}
			part := told
			part.Kind, part.More = p.Kind, true
			told, size = Answer{}, 0
			return answer(part)
		}
		var broken error
		err := k.list(t, selected(p), func(item json.RawMessage) error {
			told.Items = append(told.Items, item)
			if size += len(item); len(told.Items) >= chunk || size >= 1<<20 {
				broken = flush()
			}
			return broken
		}, func(u Unread) { told.Unread = append(told.Unread, u) })
		if broken != nil {
			return broken
		}
		if err != nil {
			told.Unread = append(told.Unread, Unread{Error: failure("list", p.Kind, err)})
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// beat says every few seconds that a request is being worked on, until it is stopped: whoever asked waits no longer
// than so long for a word.
func beat(id int64, answer func(Answer) error) (stop func()) {
	ended, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		ticks := time.NewTicker(beatEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				if answer(Answer{ID: id, More: true}) != nil {
					return
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-quiet
	}
}
