package postgres

import (
	"context"
	gosync "sync"

	"github.com/jackc/pgx/v5"
)

// cache keeps what was read last, by account. While its version is the same, so is it:
// there may be many thousands of rules, and a thousand tables, and a cycle begins for
// every edit.
type cache[T any] struct {
	lock      gosync.Mutex
	byAccount map[string]versioned[T]
}

// versioned is a version and what is of it. Nobody changes that in place.
type versioned[T any] struct {
	version string
	content T
}

// read returns what has the version; if there is something newer by now, that and its
// version.
func (c *cache[T]) read(ctx context.Context, d *Database, account, version string,
	queue func(*pgx.Batch, string, *versioned[T])) (versioned[T], error) {
	c.lock.Lock()
	known, ok := c.byAccount[account]
	c.lock.Unlock()
	if ok && known.version == version {
		return known, nil
	}
	// Of one snapshot: what is kept under a version must be that version's.
	known = versioned[T]{}
	if err := d.snapshot(ctx, func(batch *pgx.Batch) { queue(batch, account, &known) }); err != nil {
		return known, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.byAccount == nil {
		c.byAccount = map[string]versioned[T]{}
	}
	c.byAccount[account] = known
	return known, nil
}
