package sync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	gosync "sync"

	"iasql/internal/modules"
)

// Some tables are listed within those parents only that a person has named, because
// there may be far too much in the others ([modules.Reference.ListedIf]). Nothing is
// known of what is within the others, and nothing is concluded (R5): neither that it is
// there nor that it is not. A parent that the listing of parents did not show is none of
// those: what was within one that has gone has gone with it, which a direct read proves.

// parents are the records within which a table's objects are listed.
type parents struct {
	named []string // sorted

	lock    gosync.Mutex
	leftOut map[string]bool // there are more, which were not looked into
}

// readWithin reads within which records the tables of the cycle are listed.
func (c *cycle) readWithin(ctx context.Context) (map[string]*parents, error) {
	within := map[string]*parents{}
	for _, t := range c.catalog.tables {
		if t.ListedWithin() == nil {
			continue
		}
		named, err := c.Store.Within(ctx, t, c.lease.Account)
		if err != nil {
			return nil, fmt.Errorf("read within what %s is listed: %w", t.Name, err)
		}
		slices.Sort(named)
		within[t.Name] = &parents{named: named, leftOut: map[string]bool{}}
	}
	return within, nil
}

// digest tells sets of parents apart; it is "" for tables that are listed within all.
func (p *parents) digest() string {
	if p == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(p.named, "\x1f")))
	return hex.EncodeToString(sum[:8])
}

// selected returns a function that tells whether a listing is to look into a parent; nil of tables that are listed
// within all.
func (p *parents) selected() func(parent string) bool {
	if p == nil {
		return nil
	}
	return func(parent string) bool {
		if _, named := slices.BinarySearch(p.named, parent); named {
			return true
		}
		p.lock.Lock()
		defer p.lock.Unlock()
		p.leftOut[parent] = true
		return false
	}
}

// hides reports whether the object of a key is within a parent that was left out.
func (p *parents) hides(t *modules.Table, key string) bool {
	return p != nil && p.leftOut[t.WithinOf(key)]
}
