package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Anybody who may connect to a database may NOTIFY on any of its channels
// (manual, NOTIFY), and River (v0.51) believes what it hears: on river_control
// that a queue is paused or a job cancelled, on river_leadership that the leader
// should resign. Neither is needed: the engine uses no control, and an election
// is held every few seconds anyway. So the queue hears of inserted jobs only,
// which makes it look for some, and not more often than it would fetch.

// topicInsert is the topic that River tells of new jobs on.
const topicInsert = "river_insert"

// driver is River's driver with a listener that cannot be used to steer it.
type driver struct {
	*riverpgxv5.Driver
	queues map[string]bool
}

var _ riverdriver.Driver[pgx.Tx] = driver{}

// GetListener implements [riverdriver.Driver].
func (d driver) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{Listener: d.Driver.GetListener(params), queues: d.queues, last: map[string]time.Time{}, due: map[string]time.Time{}}
}

// listener hands on that there are new jobs in one of the engine's queues, for
// each at most once in fetchCooldown. It holds nothing but a time per queue,
// whatever it is sent, and reads as fast as the server sends: a listener that
// does not fills the server's queue, which is everybody's.
type listener struct {
	riverdriver.Listener
	queues map[string]bool
	last   map[string]time.Time // by queue: when it was last handed on
	due    map[string]time.Time // and when it is to be again
}

// Listen implements [riverdriver.Listener].
func (l *listener) Listen(ctx context.Context, topic string) error {
	if topic != topicInsert {
		return nil
	}
	return l.Listener.Listen(ctx, topic)
}

// Unlisten implements [riverdriver.Listener].
func (l *listener) Unlisten(ctx context.Context, topic string) error {
	if topic != topicInsert {
		return nil
	}
	return l.Listener.Unlisten(ctx, topic)
}

// WaitForNotification implements [riverdriver.Listener]. It is not called twice
// at once.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for {
		queue, at := l.next()
		if queue != "" && !time.Now().Before(at) {
			return l.handOn(queue), nil
		}
		n, err := l.wait(ctx, at)
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && queue != "":
			continue // until something was due
		case err != nil:
			return nil, err
		}
		queue, ok := l.queue(n)
		if _, pending := l.due[queue]; !ok || pending {
			continue
		}
		if at := l.last[queue].Add(fetchCooldown); time.Now().Before(at) {
			l.due[queue] = at
			continue
		}
		return l.handOn(queue), nil
	}
}

// wait waits for a notification, until a time unless that is zero.
func (l *listener) wait(ctx context.Context, until time.Time) (*riverdriver.Notification, error) {
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return l.Listener.WaitForNotification(ctx)
}

// next returns the queue that is due first, "" if none is.
func (l *listener) next() (queue string, at time.Time) {
	for q, t := range l.due {
		if queue == "" || t.Before(at) {
			queue, at = q, t
		}
	}
	return queue, at
}

func (l *listener) handOn(queue string) *riverdriver.Notification {
	delete(l.due, queue)
	l.last[queue] = time.Now()
	payload, _ := json.Marshal(insertPayload{queue}) // of a string
	return &riverdriver.Notification{Topic: topicInsert, Payload: string(payload)}
}

type insertPayload struct {
	Queue string `json:"queue"`
}

// queue returns which of the engine's queues a notification is about.
func (l *listener) queue(n *riverdriver.Notification) (string, bool) {
	var p insertPayload
	if n == nil || n.Topic != topicInsert || json.Unmarshal([]byte(n.Payload), &p) != nil || !l.queues[p.Queue] {
		return "", false
	}
	return p.Queue, true
}
