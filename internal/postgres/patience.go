package postgres

import (
	"context"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// mostPatience is how long somebody waits at most for a connection that others use, before the pool
// opens one more. To open one takes 5 to 50 milliseconds of the server's time, and each statement has
// to be planned once more on it. Most statements take less than 5.
const mostPatience = 100 * time.Millisecond

// patience keeps a pool small. By itself a pool opens a connection whenever none is idle (puddle v2,
// Pool.acquire), and waits for it even if another becomes idle at once. So ten statements that begin
// at the same moment, as when a cycle lists ten tables, open ten connections, of which two would have
// done. With patience they first wait a little for those that are there.
//
// It is a tracer since the pool calls that at the beginning of each Acquire, and nothing else before
// it looks for an idle connection.
//
// Nobody waits longer than mostPatience, so that a holder of connections who needs one more gets it:
// this cannot be what two wait for each other at. What really goes on side by side for longer, such as
// the leases of many accounts or the import of a large one, has as many connections as without.
type patience struct {
	// turn is had by the one who takes the next connection that becomes idle. If all watched, all would
	// see it, and all but one would open another.
	turn chan struct{}
	// freed tells the one who has the turn that somebody is about to give a connection back.
	freed chan struct{}
}

func newPatience() patience { return patience{make(chan struct{}, 1), make(chan struct{}, 1)} }

var _ interface {
	pgx.QueryTracer
	pgxpool.AcquireTracer
	pgxpool.ReleaseTracer
} = patience{}

// TraceAcquireStart implements [pgxpool.AcquireTracer].
func (p patience) TraceAcquireStart(ctx context.Context, pool *pgxpool.Pool,
	_ pgxpool.TraceAcquireStartData) context.Context {
	if !worthWaiting(pool) {
		return ctx
	}
	enough := time.NewTimer(mostPatience)
	defer enough.Stop()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-enough.C:
		return ctx
	case <-ctx.Done():
		return ctx
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-p.freed:
			runtime.Gosched() // it is given back right after that is told
		case <-look.C:
		case <-enough.C:
			return ctx
		case <-ctx.Done():
			return ctx
		}
		if !worthWaiting(pool) {
			return ctx
		}
	}
}

// worthWaiting reports whether the pool would open a connection now while others are in use. (One that
// may not open more waits by itself.)
func worthWaiting(pool *pgxpool.Pool) bool {
	s := pool.Stat()
	return s.IdleConns() == 0 && s.TotalConns() > 0 && s.TotalConns() < s.MaxConns()
}

// TraceAcquireEnd implements [pgxpool.AcquireTracer].
func (patience) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {}

// TraceRelease implements [pgxpool.ReleaseTracer].
func (p patience) TraceRelease(*pgxpool.Pool, pgxpool.TraceReleaseData) {
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// TraceQueryStart implements [pgx.QueryTracer], which every tracer does.
func (patience) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (patience) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
