package console

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// hub hears what is said on iasql_events, on one connection for all visitors, and
// tells their pages that something has happened, so that they ask anew, each with
// its own rights. Not what: of that each may see something else.
type hub struct {
	config *pgx.ConnConfig
	log    *slog.Logger
	lock   sync.Mutex
	to     map[chan string]bool
}

func newHub(config *pgx.ConnConfig, log *slog.Logger) *hub {
	config.RuntimeParams = map[string]string{"application_name": "iasql console events"}
	return &hub{config: config, log: log, to: map[chan string]bool{}}
}

func (b *hub) run(ctx context.Context) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		began := time.Now()
		if err := b.listen(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("the console does not hear of events; it connects again", "error", err)
		}
		if time.Since(began) > time.Minute {
			pause = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (b *hub) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SET search_path = pg_catalog, pg_temp`); err != nil {
		return err
	}
	if err := b.poll(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `LISTEN iasql_events`); err != nil {
		return err
	}
	b.tell("reconnected")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		var said struct {
			Event string `json:"event"`
		}
		if json.Unmarshal([]byte(n.Payload), &said) != nil { // anybody may notify
			continue
		}
		switch said.Event {
		case "cycle finished", "record failed", "conflict", "drift pulled", "batch opened", "batch closed", "more":
			b.tell(said.Event)
		default:
			b.tell("other")
		}
	}
}

// pollPause is how often the pages of a console on a standby ask anew.
const pollPause = 15 * time.Second

// poll has pages ask anew now and then for as long as the server is a standby, on which nobody can listen (manual,
// section 26.4.2).
func (b *hub) poll(ctx context.Context, conn *pgx.Conn) error {
	for {
		var standby bool
		if err := conn.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&standby); err != nil || !standby {
			return err
		}
		b.tell("other")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollPause):
		}
	}
}

// tell never waits: who has not read what was said last will ask anew anyway.
func (b *hub) tell(event string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	for to := range b.to {
		select {
		case to <- event:
		default:
		}
	}
}

func (b *hub) subscribe() (from chan string, cancel func()) {
	from = make(chan string, 1)
	b.lock.Lock()
	b.to[from] = true
	b.lock.Unlock()
	return from, func() {
		b.lock.Lock()
		delete(b.to, from)
		b.lock.Unlock()
	}
}

// stream tells a page of events (server-sent events; HTML standard, section 9.2).
func (c *Console) stream(v *visit) {
	s := v.session
	s.lock.Lock()
	if s.streams >= mostStreams {
		s.lock.Unlock()
		http.Error(v.w, "too many pages of this session are open", http.StatusTooManyRequests)
		return
	}
	s.streams++
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		s.streams--
		s.lock.Unlock()
	}()
	from, cancel := c.events.subscribe()
	defer cancel()
	var others chan struct{} // of a batch that the page is about
	if batch, err := strconv.ParseInt(v.r.FormValue("batch"), 10, 64); err == nil && batch > 0 {
		var leave func()
		others, leave = c.presence.enter(batch, s.role)
		defer leave()
	}
	control := http.NewResponseController(v.w)
	v.w.Header().Set("Content-Type", "text/event-stream")
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(20 * time.Second))
		if _, err := fmt.Fprint(v.w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !write("retry: 5000\n: hello\n\n") {
		return
	}
	beat := time.NewTicker(25 * time.Second)
	defer beat.Stop()
	for {
		select {
		case <-v.r.Context().Done():
			return
		case <-s.ended:
			write("event: ended\ndata: signed out\n\n")
			return
		case event := <-from:
			if !write("data: " + event + "\n\n") {
				return
			}
		case <-others:
			if !write("event: beside\ndata: others\n\n") {
				return
			}
		case <-beat.C:
			if s.over(time.Now()) || !write(": beat\n\n") {
				return
			}
		}
	}
}
