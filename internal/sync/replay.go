package sync

import (
	"context"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// A database that has gone back in time asks again for objects that it may have got meanwhile, and knows nothing of
// (R30). Where the cloud gives objects their names, that is a creation in doubt of which not even an intent is
// left: what it has made is found by its token, which follows from what asks for it. Until then no record is
// made for what may be it.

// mayHaveFailed is how many creations for a record may have failed in that time before one did not: each had another
// token.
const mayHaveFailed = 4

// replayed returns the records whose pending changes may have made objects in such a time.
func (c *cycle) replayed(ctx context.Context) ([]*decide.Subject, error) {
	if c.settings.WentBack.Audit == 0 {
		return nil, nil
	}
	refs, _, err := c.Store.Due(ctx, c.lease.Account, c.lease.Batch)
	if err != nil {
		return nil, fmt.Errorf("read pending changes: %w", err)
	}
	byTable := map[string][]int64{}
	for _, ref := range refs {
		if t := c.Registry.Table(ref.Table); t != nil && t.ComputedIdentity() && c.catalog.has(ref.Table) {
			byTable[ref.Table] = append(byTable[ref.Table], ref.ID)
		}
	}
	var all []*decide.Subject
	for _, t := range tablesWith(&c.catalog, byTable) {
		loaded, err := c.Store.Load(ctx, t, byTable[t.Name])
		if err != nil {
			return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
		}
		for _, s := range loaded {
			c.complete(s)
			// One that waits for a person may have been tried again in that time. Where its token tells by itself, what
			// it shares a place with does not wait for that person.
			if replays, _ := s.Replays(); replays && !c.held(s) &&
				(s.State == nil || !s.State.Review || t.Creation == modules.ByTag) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// recoverReplayed finds what the creations of replayed records have made. A creation that takes a token tells by itself
// when it is made.
func (c *cycle) recoverReplayed(ctx context.Context, replayed []*decide.Subject) error {
	places := map[place][]*decide.Subject{}
	for _, s := range replayed {
		at := place{s.Table.Name, s.Scope}
		if s.Table.Creation == modules.ByTag && !c.doubts.about(s.Ref()) {
			places[at] = append(places[at], s)
		} else {
			c.doubts.holdBack(at.table, at.scope)
		}
	}
	var resolved []store.Outcome
	for at, subjects := range places {
		found, err := c.findReplayed(ctx, at, subjects)
		if err != nil {
			return err
		}
		resolved = append(resolved, found...)
	}
	return c.resolve(ctx, resolved)
}

// findReplayed returns the outcomes of those in one place whose objects are found.
func (c *cycle) findReplayed(ctx context.Context, at place, subjects []*decide.Subject) ([]store.Outcome, error) {
	ids := make([]int64, len(subjects))
	for i, s := range subjects {
		ids[i] = s.RecordID
	}
	made, err := c.Store.Creations(ctx, at.table, ids)
	if err != nil {
		return nil, fmt.Errorf("read what was created for records of %s: %w", at.table, err)
	}
	var intents []decide.Intent
	for _, s := range subjects {
		audit, when := s.Change.Newest(c.settings.WentBack.Audit)
		_, replaces := s.Replays()
		for n := range int64(mayHaveFailed + 1) {
			intents = append(intents, decide.Intent{Record: s.Ref(), Scope: s.Scope, Kind: decide.OpCreate, UpTo: audit,
				Replaces: replaces, Token: c.token(s, replaces, audit, when, made[s.RecordID]+n)})
		}
	}
	objects, err := c.find(ctx, subjects[0].Table, at.scope, intents)
	if err != nil { // the cloud cannot be read: nothing is known yet
		c.report.fail(decide.RecordRef{Table: at.table}, at.scope, err)
		for _, intent := range intents {
			c.doubts.undecided(intent.Record, intent.Scope)
		}
		return nil, nil
	}
	if err := c.translateFound(ctx, subjects[0].Table, at.scope, objects); err != nil {
		return nil, err
	}
	var resolved []store.Outcome
	for i, s := range subjects {
		found := false
		for _, intent := range intents[i*(mayHaveFailed+1) : (i+1)*(mayHaveFailed+1)] {
			object, ok := objects[intent.Token]
			if !ok || found {
				continue
			}
			found = true
			resolved = append(resolved, foundCreation(s, intent, object))
		}
		if !found && c.settings.WentBackAge < 2*c.settings.ConsistencyWindow { // it may not be visible yet (R13)
			c.doubts.undecided(s.Ref(), at.scope)
		}
	}
	return resolved, nil
}
