package sync

import (
	"context"
	"errors"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// created returns what a read has to know of objects that were just created, and not seen since; nil if none was: what
// the creation was told is not read again. What is read of the object shows that it is there.
func created(scope modules.Scope, subjects []*decide.Subject, identities []modules.Row) func(modules.Row) (modules.Row,
	bool) {
	byKey := map[string]modules.Row{}
	for i, s := range subjects {
		sent := s.JustCreated()
		if sent == nil {
			continue
		}
		for j := range s.Table.Columns { // what the cloud has answered
			if c := &s.Table.Columns[j]; c.Computed || c.Identity {
				sent[c.Name] = s.Record.Row[c.Name]
			}
		}
		if key, named := keyOf(s.Table, scope, identities[i]); named {
			byKey[key] = sent
		}
	}
	if len(byKey) == 0 {
		return nil
	}
	t := subjects[0].Table
	return func(object modules.Row) (modules.Row, bool) {
		key, named := keyOf(t, scope, object)
		sent, ok := byKey[key]
		return sent, named && ok
	}
}

// many is of how many objects with names that nobody has asked for yet the cloud is asked which there are, instead of
// for each.
const many = 20

// leastOfPage is how many objects a page of a listing has at least, where there are more.
const leastOfPage = 50

// errTooMany ends an enumeration that takes more calls than to ask for each name.
var errTooMany = errors.New("there are too many objects to enumerate them")

// untaken returns the identities that are to be read: all but those that records are to be created for whose names are
// not taken, where there are many. That an object of the name is made at the same moment the creation itself finds out.
func (c *cycle) untaken(ctx context.Context, scope modules.Scope, subjects []*decide.Subject,
	identities []modules.Row) []modules.Row {
	t := subjects[0].Table
	names, ok := c.Registry.Resource(t.Name).(modules.Enumerator)
	if !ok || t.Creation != modules.ByName || !names.Enumerates() {
		return identities
	}
	wanted := map[string]bool{}
	for i, s := range subjects {
		if key, named := keyOf(t, scope, identities[i]); named && s.New() {
			wanted[key] = false
		}
	}
	if len(wanted) < many {
		return identities
	}
	seen := 0
	err := names.Enumerate(ctx, scope, func(there []modules.Row) error {
		if seen += len(there); seen > leastOfPage*len(wanted) {
			return errTooMany
		}
		for _, identity := range there {
			if key, named := keyOf(t, scope, identity); named {
				if _, ok := wanted[key]; ok {
					wanted[key] = true
				}
			}
		}
		return nil
	})
	if err != nil { // not permitted, it may be, or too many: each of them is asked for
		return identities
	}
	var read []modules.Row
	for _, identity := range identities {
		key, _ := keyOf(t, scope, identity)
		if taken, asked := wanted[key]; !asked || taken {
			read = append(read, identity)
		}
	}
	return read
}
