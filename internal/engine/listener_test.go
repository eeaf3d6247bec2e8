package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river/riverdriver"
)

// spoken is a listener that hears what a test says.
type spoken struct {
	riverdriver.Listener
	said   chan *riverdriver.Notification
	topics []string
}

func (s *spoken) Listen(_ context.Context, topic string) error {
	s.topics = append(s.topics, topic)
	return nil
}

func (s *spoken) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case n := <-s.said:
		return n, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wrapped: %w", ctx.Err())
	}
}

// The queue hears of new jobs, however much else is said, and no more often than
// it looks for them; what is said last is heard, too.
func TestListener(t *testing.T) {
	t.Parallel()
	s := &spoken{said: make(chan *riverdriver.Notification)}
	l := newListener(s, map[string]bool{"iasql": true})
	for _, topic := range []string{"river_control", "river_insert", "river_leadership"} {
		if err := l.Listen(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.topics) != 1 || s.topics[0] != "river_insert" {
		t.Errorf("it listens to %v", s.topics)
	}
	const flood = 20000
	begun := time.Now()
	go func() {
		for i := range flood {
			n := &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "iasql"}`}
			switch i % 4 {
			case 1:
				n.Payload = "\x00 garbage"
			case 2:
				n.Payload = fmt.Sprintf(`{"queue": "queue-%d"}`, i)
			case 3:
				n.Topic = "river_control"
			}
			s.said <- n
		}
		s.said <- &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "iasql"}`}
	}()
	heard := 0
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		n, err := l.WaitForNotification(ctx)
		cancel()
		if err != nil {
			break // nothing more is said
		}
		if n.Topic != "river_insert" || n.Payload != `{"queue":"iasql"}` {
			t.Errorf("it hands on %v", n)
		}
		heard++
	}
	if most := int(time.Since(begun)/fetchCooldown) + 2; heard < 2 || heard > most {
		t.Errorf("of %d it hands on %d, at most %d were due", flood, heard, most)
	}
	if len(l.queues) != 1 || !l.queues["iasql"].due.IsZero() {
		t.Errorf("it keeps %v", l.queues)
	}
}

// Of several transactions that end at the same time one tells (sql/internal/waking.sql): the queue
// is looked into again, a bounded number of times.
func TestListenerLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spoken{said: make(chan *riverdriver.Notification, 1)}
		l := newListener(s, map[string]bool{"iasql": true, "other": true})
		told := time.Now()
		s.said <- &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "iasql"}`}
		var looks []time.Duration // since it was told
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := l.WaitForNotification(ctx)
			cancel()
			if err != nil {
				break
			}
			looks = append(looks, time.Since(told))
		}
		if len(looks) != 1+len(lookAfter) {
			t.Fatalf("it looks %d times", len(looks))
		}
		var soonest time.Duration
		for i, after := range lookAfter {
			soonest += after // after the look before it was due, which may have come late
			if looks[i+1] < soonest {
				t.Errorf("look %d comes after %s, not %s", i+2, looks[i+1], soonest)
			}
		}
	})
}
