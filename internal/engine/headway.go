package engine

import (
	"context"
	gosync "sync"
	"sync/atomic"
	"time"

	"iasql/internal/sync"
)

// tellEvery is how often an engine says how far a batch is that it commits or undoes.
const tellEvery = time.Second

// headway is what an engine is doing for a batch, as the cycles of the batch say it.
type headway struct {
	lock  gosync.Mutex
	now   sync.Headway
	calls atomic.Int64 // that the cloud has answered
}

func (h *headway) tell(now sync.Headway) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if now.Step == h.now.Step && now.Total == h.now.Total {
		now.Done = max(now.Done, h.now.Done) // many tell at once
	}
	h.now = now
}

func (h *headway) get() sync.Headway {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.now
}

// telling has iasql_progress show, until end is called, what is done for a batch by cycles that are given the headway.
func (e *Engine) telling(ctx context.Context, batch int64) (h *headway, end func()) {
	h = &headway{}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			now := h.get()
			if _, err := e.pool.Exec(ctx, `
				INSERT INTO iasql_internal.batch_headway (batch, step, done, total, calls) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (batch) DO UPDATE SET step = excluded.step, done = excluded.done, total = excluded.total, calls = excluded.calls, at = clock_timestamp()`,
				batch, now.Step, now.Done, now.Total, h.calls.Load()); err != nil && ctx.Err() == nil {
				e.log.DebugContext(ctx, "could not say how far a batch is", "batch", batch, "error", err)
			}
			select {
			case <-stop:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return h, func() {
		close(stop)
		<-ended
	}
}
