package watch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"iasql/internal/aws"
	"iasql/internal/aws/events"
	"iasql/internal/modules"
)

// What a source may bring: so many events a second that hint at something, for long, and
// so many at once.
const (
	eventsPerSecond = 25
	eventsAtOnce    = 3000
)

// sorter tells what messages of a source are worth.
type sorter struct {
	watch  *Watch
	source source
	bucket *rate.Limiter
	// patient: what is too much is waited with, as nothing else is lost by that.
	patient bool
}

func newSorter(w *Watch, s source) *sorter {
	return &sorter{watch: w, source: s, bucket: rate.NewLimiter(eventsPerSecond, eventsAtOnce)}
}

// kept is an event that is kept, with its hints.
type kept struct {
	account string // as the database calls it
	event   *events.Event
	hints   []events.Hint
}

// batchOfEvents is what some messages are worth.
type batchOfEvents struct {
	kept    []kept
	regions map[[2]string]bool // accounts and regions that were heard of
	behind  time.Duration      // the age of the oldest message
	read    bool               // the source has answered
	at      time.Time          // when the messages were received
	// Counts.
	foreign, malformed, dropped int
	// why says what is wrong with a message that was malformed.
	why error
}

func newBatchOfEvents() *batchOfEvents {
	return &batchOfEvents{regions: map[[2]string]bool{}, at: time.Now()}
}

// body sorts a message of a queue. It reports whether it is a message of the kind that the
// queue is for, be it of no use.
func (s *sorter) body(ctx context.Context, h *batchOfEvents, body string) (ours bool, err error) {
	e, err := events.Parse([]byte(body))
	switch {
	case errors.Is(err, events.ErrOther):
		return true, nil
	case err != nil:
		h.malformed++
		h.why = err
		return false, nil
	}
	return true, s.event(ctx, h, e)
}

// event sorts an event.
func (s *sorter) event(ctx context.Context, h *batchOfEvents, e *events.Event) error {
	account, err := s.watch.accounts.named(ctx, s.watch.database, &s.source, e.Account, h.at)
	if err != nil {
		return err
	}
	if account == "" || s.source.Region != "" && e.Region != s.source.Region {
		h.foreign++
		return nil
	}
	h.regions[[2]string{account, e.Region}] = true
	if e.ReadOnly {
		return nil
	}
	hints := events.Hints(s.watch.Registry, account, e)
	switch {
	case len(hints) == 0:
	case s.patient:
		h.kept = append(h.kept, kept{account, e, hints})
		return s.bucket.Wait(ctx)
	case !s.bucket.Allow():
		h.dropped++
	default:
		h.kept = append(h.kept, kept{account, e, hints})
	}
	return nil
}

// accounts knows which account of the database has which twelve digits.
type accounts struct {
	clients *aws.Clients
	lock    sync.Mutex
	asked   time.Time
	looked  time.Time // when it was last looked whether there are others
	list    []string
	names   map[string]string // by digits
	known   map[string]string // digits by name
}

// askAgain is how often the accounts are asked for their digits; of a source's own, which
// may have got other credentials, too. Those that did not say are asked again after retry.
const (
	askAgain = 10 * time.Minute
	retry    = 5 * time.Second
)

// named returns what the database calls the account of an event that was received at a time;
// "" if the event is none of the source's. An account of which nobody has heard may have been
// added since it was last looked: once for what was received together.
func (a *accounts) named(ctx context.Context, d database, s *source, digits string, at time.Time) (string, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if time.Since(a.asked) > askAgain || a.known[s.Account] == "" {
		if err := a.ask(ctx, d, s); err != nil {
			return "", err
		}
	}
	if a.known[s.Account] == digits {
		return s.Account, nil
	}
	if !s.AllAccounts {
		return "", nil
	}
	if a.names[digits] == "" && a.looked.Before(at) {
		a.looked = time.Now()
		list, err := d.accounts(ctx)
		if err != nil {
			return "", err
		}
		if !slices.Equal(list, a.list) || len(a.known) < len(list) && time.Since(a.asked) > retry {
			if err := a.ask(ctx, d, s); err != nil {
				return "", err
			}
		}
	}
	return a.names[digits], nil
}

// ask asks every account for its digits. One that does not say has no events; the source's
// own has to.
func (a *accounts) ask(ctx context.Context, d database, s *source) error {
	list, err := d.accounts(ctx)
	if err != nil {
		return err
	}
	names, known := map[string]string{}, map[string]string{}
	for _, name := range list {
		digits, err := a.clients.AccountID(ctx, modules.Scope{Account: name})
		switch {
		case err != nil && name == s.Account:
			return err
		case err != nil:
			continue
		}
		known[name] = digits
		if names[digits] == "" {
			names[digits] = name
		}
	}
	a.names, a.known, a.list, a.asked = names, known, list, time.Now()
	return nil
}
