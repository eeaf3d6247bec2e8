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
// (manual, NOTIFY). River believes what it hears: on river_control that a queue is
// paused or a job cancelled (River v0.51.1, producer.go, handleControlNotification),
// on river_leadership that the leader should resign (internal/leadership/elector.go,
// handleLeadershipNotification). Neither is needed: the engine pauses and cancels
// nothing, and River holds an election every 5 s (elector.go, electIntervalDefault).
// So the queue hears of inserted jobs only. That makes it look for some, and not more
// often than it would fetch.

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
	return newListener(d.Driver.GetListener(params), d.queues)
}

// lookAfter is when a queue is looked into again after somebody has told of jobs in it: of
// transactions that end at the same time only one tells (sql/internal/waking.sql), and the
// others may end a little later.
var lookAfter = []time.Duration{25 * time.Millisecond, 250 * time.Millisecond}

// listener hands on that there are new jobs in one of the engine's queues, for
// each at most once in fetchCooldown, and once more for each of lookAfter. It holds
// nothing but a few times per queue, whatever it is sent, and reads as fast as the server
// sends: a listener that does not fills the server's queue, which is everybody's.
type listener struct {
	riverdriver.Listener
	queues map[string]*looks
}

// looks is when one queue was looked into, and is to be.
type looks struct {
	last time.Time // when it was handed on that there are jobs
	due  time.Time // when that is to be handed on again; zero for not before somebody tells
	next int       // index in lookAfter of the look after that
}

func newListener(l riverdriver.Listener, queues map[string]bool) *listener {
	of := map[string]*looks{}
	for queue, known := range queues {
		if known {
			of[queue] = &looks{}
		}
	}
	return &listener{Listener: l, queues: of}
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
		queue, at := l.first()
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
		if queue = queueOf(n); l.queues[queue] == nil {
			continue
		}
		of := l.queues[queue]
		of.next = 0
		if soonest := of.last.Add(fetchCooldown); time.Now().Before(soonest) {
			of.due = soonest
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

// first returns the queue that is due first, "" if none is.
func (l *listener) first() (queue string, at time.Time) {
	for q, of := range l.queues {
		if !of.due.IsZero() && (queue == "" || of.due.Before(at)) {
			queue, at = q, of.due
		}
	}
	return queue, at
}

func (l *listener) handOn(queue string) *riverdriver.Notification {
	of := l.queues[queue]
	of.last, of.due = time.Now(), time.Time{}
	if of.next < len(lookAfter) {
		of.due = of.last.Add(lookAfter[of.next])
		of.next++
	}
	payload, _ := json.Marshal(insertPayload{queue}) // of a string
	return &riverdriver.Notification{Topic: topicInsert, Payload: string(payload)}
}

type insertPayload struct {
	Queue string `json:"queue"`
}

// queueOf returns which queue a notification is about, "" for none.
func queueOf(n *riverdriver.Notification) string {
	var p insertPayload
	if n == nil || n.Topic != topicInsert || json.Unmarshal([]byte(n.Payload), &p) != nil {
		return ""
	}
	return p.Queue
}
