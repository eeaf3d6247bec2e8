package engine

import (
	"context"
	"runtime/debug"
	"time"
)

// atRest is for how long no cycle has run when an engine counts as resting.
const atRest = 10 * time.Second

// releaseMemory gives back to the operating system, each time that the engine comes to rest, what its start or its
// last cycles have needed and nothing needs now. By itself the runtime keeps half as much again as is in use (GOGC),
// and what is free in between. It costs some 20 ms of a processor.
func (e *Engine) releaseMemory(ctx context.Context) {
	ticker := time.NewTicker(atRest)
	defer ticker.Stop()
	released, before := -1, -1
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		begun, under := e.pulse.count()
		if under == 0 && begun == before && begun != released {
			debug.FreeOSMemory()
			released = begun
		}
		before = begun
	}
}
