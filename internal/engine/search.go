package engine

import (
	"context"
	"time"
)

const (
	// lookForChanges is how often an engine brings the index of the search up to date. A search
	// looks at newer changes itself.
	lookForChanges = 5 * time.Second
	// indexedAtOnce is how many records are indexed in one transaction.
	indexedAtOnce = 5000
)

// keepSearch keeps the index of the search until ctx ends. One engine at a time does it: the
// database says which.
func (e *Engine) keepSearch(ctx context.Context) {
	for {
		var more bool
		err := e.pool.QueryRow(ctx, `SELECT iasql_internal.index_search($1)`, indexedAtOnce).Scan(&more)
		if err != nil && ctx.Err() == nil {
			e.log.Debug("could not index records for the search", "error", err)
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookForChanges):
		}
	}
}
