package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// queue is a queue of messages.
type queue interface {
	// Receive waits for messages, with wait for up to 20 seconds.
	Receive(ctx context.Context, wait bool) ([]received, error)
	// Delete deletes messages that were received.
	Delete(ctx context.Context, handles []string) error
	// Beat makes a call that changes nothing, and whose event is to come through the queue.
	Beat(ctx context.Context) (request string, err error)
}

// received is a message.
type received struct {
	handle, body string
	sent         time.Time
}

// mostAtOnce is how many calls receive messages at once where there are many.
const mostAtOnce = 4

// beatEvery is how long a queue may say nothing before the engine makes a call of its own to
// hear whether it still would.
const beatEvery = 5 * time.Minute

// poller reads a queue.
type poller struct {
	watch  *Watch
	source source
	log    *slog.Logger
	queue  queue
	sorter *sorter
	wide   int // calls that receive at once
	begun  bool
	heard  time.Time
	beat   time.Time
	said   string // what was last wrong
}

func newPoller(w *Watch, s source, log *slog.Logger) *poller {
	return &poller{watch: w, source: s, log: log, queue: &sqsQueue{clients: w.Clients, source: s},
		sorter: newSorter(w, s), wide: 1}
}

// run reads the queue until ctx ends.
func (p *poller) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		if err := p.once(ctx); err != nil && ctx.Err() == nil {
			p.fails(ctx, err)
			pause(ctx, failures)
			failures++
			continue
		}
		failures, p.said = 0, ""
	}
}

// adopt has the source be what its row says now, and reports whether its queue is the one
// that is being read. Nothing has been heard of a source that has become another.
func (p *poller) adopt(s source) bool {
	if !s.readOn(p.source) {
		return false
	}
	if s != p.source {
		p.source, p.sorter.source = s, s
		p.heard, p.beat, p.said = time.Time{}, time.Time{}, ""
	}
	return true
}

// fails says what is wrong with the source.
func (p *poller) fails(ctx context.Context, err error) {
	text := message(err)
	if text != p.said {
		p.log.Warn("a source of events does not answer", "error", err)
		p.said = text
	}
	if err := p.watch.database.failed(ctx, &p.source, text); err != nil {
		p.log.Debug("could not note that a source of events does not answer", "error", err)
	}
}

// once receives messages, keeps what they are worth, and deletes them.
func (p *poller) once(ctx context.Context) error {
	messages, failed := p.receive(ctx)
	if failed != nil && len(messages) == 0 {
		return failed
	}
	// Who changes the row, and then something in the cloud, has the event of that sorted by the new row.
	row, err := p.watch.database.source(ctx, p.source)
	if err != nil {
		return err
	}
	if !p.adopt(row) {
		return nil // the messages come again, for whoever reads the queue by then
	}
	h := newBatchOfEvents()
	h.read = true
	var handles, strange []string
	for _, m := range messages {
		h.behind = max(h.behind, time.Since(m.sent))
		ours, err := p.sorter.body(ctx, h, m.body)
		if err != nil {
			return err
		}
		if ours {
			handles = append(handles, m.handle)
		} else {
			strange = append(strange, m.handle)
		}
	}
	proven, err := p.watch.database.keep(ctx, &p.source, h)
	if err != nil {
		return err
	}
	if proven {
		handles = append(handles, strange...)
	} else if len(strange) > 0 {
		// They come again. A queue that has nothing else is another program's.
		p.log.Warn("a queue that is to have events of CloudTrail has messages that are none, which are left there",
			"error", h.why)
	}
	if len(h.regions) > 0 {
		p.heard = time.Now()
	}
	if len(handles) > 0 {
		if err := p.queue.Delete(ctx, handles); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
	}
	return p.keepAlive(ctx)
}

// receive receives messages, by the more calls at once the more there are.
func (p *poller) receive(ctx context.Context) ([]received, error) {
	var (
		lock sync.Mutex
		all  []received
		full = 0
	)
	// What one call has received is not lost by the failure of another.
	wait := p.begun && p.wide == 1 // the first call tells soon whether the queue answers
	p.begun = true
	var g errgroup.Group
	for range p.wide {
		g.Go(func() error {
			some, err := p.queue.Receive(ctx, wait)
			lock.Lock()
			defer lock.Unlock()
			all = append(all, some...)
			if len(some) == atOnce {
				full++
			}
			return err
		})
	}
	err := g.Wait()
	if full == p.wide {
		p.wide = min(2*p.wide, mostAtOnce)
	} else {
		p.wide = 1
	}
	return all, err
}

// keepAlive has the queue be heard of, where nothing has come for a while. It never changes
// anything, and is not done while nothing at all is to be changed in the cloud (R9).
func (p *poller) keepAlive(ctx context.Context) error {
	if time.Since(p.heard) < beatEvery || time.Since(p.beat) < beatEvery {
		return nil
	}
	p.beat = time.Now()
	allowed, err := p.watch.database.mayCall(ctx)
	if err != nil || !allowed {
		return err
	}
	request, err := p.queue.Beat(ctx)
	text := ""
	if err != nil {
		text = message(err)
		p.log.Debug("no heartbeat", "error", err)
	}
	return p.watch.database.beaten(ctx, &p.source, request, text)
}
