package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bounds of sessions. A session has few connections, and keeps none when nobody
// looks: all sessions together have at most mostSessions*connections.
const (
	mostSessions = 24
	mostOfRole   = 6
	connections  = 2
	mostStreams  = 6 // pages of one session that are kept up to date at once
	idleLife     = 30 * time.Minute
	wholeLife    = 8 * time.Hour
)

// session is somebody who has signed in. Its pool has connections of its role
// and of no other.
type session struct {
	role    string
	become  string // the role that its connections become; "": they log in as role
	csrf    string
	pool    *pgxpool.Pool
	sql     sqlRuns
	created time.Time

	lock    sync.Mutex
	used    time.Time
	ended   chan struct{}
	flash   *flash
	tasks   map[string]*task
	running *task
	streams int
	plans   map[int64]*keptPlan // of batches
}

// flash is what the next page says once.
type flash struct {
	good    bool
	text    string
	details []string
}

func secret() string {
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		panic(err) // never returns an error (crypto/rand)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// sessions are held by the hash of what the cookie says, in this process alone:
// when the engine ends, everybody is signed out.
type sessions struct {
	lock sync.Mutex
	by   map[[32]byte]*session
}

func newSessions() *sessions { return &sessions{by: map[[32]byte]*session{}} }

var errTooMany = errors.New("too many people are signed in; try again later, or sign out elsewhere")

// add keeps a session and returns what its cookie says. Of one role the oldest
// session ends where there are too many.
func (s *sessions) add(made *session) (cookie string, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var oldest [32]byte
	n := 0
	for key, other := range s.by {
		if other.role != made.role {
			continue
		}
		if n++; n == 1 || other.created.Before(s.by[oldest].created) {
			oldest = key
		}
	}
	switch {
	case n >= mostOfRole, n > 0 && len(s.by) >= mostSessions:
		s.by[oldest].end()
		delete(s.by, oldest)
	case len(s.by) >= mostSessions:
		return "", errTooMany
	}
	cookie = secret()
	s.by[sha256.Sum256([]byte(cookie))] = made
	return cookie, nil
}

// find returns the session of a cookie, nil if there is none any more.
func (s *sessions) find(cookie string) *session {
	key := sha256.Sum256([]byte(cookie))
	s.lock.Lock()
	defer s.lock.Unlock()
	found := s.by[key]
	if found == nil {
		return nil
	}
	if found.over(time.Now()) {
		found.end()
		delete(s.by, key)
		return nil
	}
	return found
}

func (s *sessions) remove(gone *session) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for key, other := range s.by {
		if other == gone {
			other.end()
			delete(s.by, key)
		}
	}
}

// sweep ends sessions whose time is over, and all of them with ctx.
func (s *sessions) sweep(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			now = time.Now().Add(2 * wholeLife)
		case now = <-tick.C:
		}
		s.lock.Lock()
		for key, other := range s.by {
			if other.over(now) {
				other.end()
				delete(s.by, key)
			}
		}
		s.lock.Unlock()
		if ctx.Err() != nil {
			return
		}
	}
}

func (s *session) over(now time.Time) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return now.Sub(s.created) > wholeLife || now.Sub(s.used) > idleLife && s.running == nil
}

// touch notes that somebody is there. What a page fetches by itself does not
// count.
func (s *session) touch() {
	s.lock.Lock()
	s.used = time.Now()
	s.lock.Unlock()
}

// end closes the session's connections without waiting for those in use.
func (s *session) end() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		go s.pool.Close()
	}
}

func (s *session) takeFlash() *flash {
	s.lock.Lock()
	defer s.lock.Unlock()
	f := s.flash
	s.flash = nil
	return f
}

func (s *session) say(f *flash) {
	s.lock.Lock()
	s.flash = f
	s.lock.Unlock()
}

// sessionSettings are set on each connection of a session. The search path is
// pinned, as in every session of this product: what a user has made in schema
// public is never called by a page.
const sessionSettings = `
	SET search_path = pg_catalog, pg_temp;
	SET standard_conforming_strings = on;
	SET row_security = on;
	SET TimeZone = 'UTC';
	SET DateStyle = 'ISO';
	SET IntervalStyle = 'postgres';
	SET statement_timeout = '15s';
	SET lock_timeout = '5s';
	SET idle_in_transaction_session_timeout = '30s';
	SET jit = off;`

// newSession connects as a role, or fails as the server does.
func newSession(ctx context.Context, login *pgx.ConnConfig, become string) (*session, error) {
	role := login.User
	if become != "" {
		role = become
	}
	s := &session{role: role, become: become, csrf: secret(), created: time.Now(), used: time.Now(),
		ended: make(chan struct{}),
		tasks: map[string]*task{}}
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = login
	config.ConnConfig.OnNotice = s.notice
	config.MaxConns, config.MinConns = connections, 0
	config.MaxConnIdleTime = 20 * time.Second
	config.HealthCheckPeriod = 20 * time.Second
	config.MaxConnLifetime = 5 * time.Minute // a role that may not log in any more is noticed
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return prepare(ctx, conn, become) }
	if become != "" {
		config.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
			var is bool
			err := conn.QueryRow(ctx, `SELECT current_user = $1`, become).Scan(&is)
			return err == nil && is, err
		}
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

func prepare(ctx context.Context, conn *pgx.Conn, become string) error {
	if _, err := conn.Exec(ctx, sessionSettings); err != nil {
		return err
	}
	if become == "" {
		return nil
	}
	_, err := conn.Exec(ctx, `SELECT set_config('role', $1, false)`, become)
	return err
}

// read runs what a page reads, with the rights of the session's role, in one
// transaction that can change nothing.
func (s *session) read(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, do)
}

// refusedLogin reports whether an error says that a role may not log in (any
// more); manual, appendix A, class 28.
func refusedLogin(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && len(pg.Code) == 5 && pg.Code[:2] == "28"
}

// cookieName has the prefix by which browsers take it over TLS from this host
// alone (RFC 6265bis, section 4.1.3.2).
func (c *Console) cookieName() string {
	if c.options.TLS {
		return "__Host-iasql"
	}
	return "iasql"
}

func (c *Console) setCookie(w http.ResponseWriter, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: c.options.TLS, SameSite: http.SameSiteStrictMode,
	})
}

func (c *Console) sessionOf(r *http.Request) *session {
	cookie, err := r.Cookie(c.cookieName())
	if err != nil {
		return nil
	}
	return c.sessions.find(cookie.Value)
}

// signedIn asks for a session and, where something is to be done, for its token.
func (c *Console) signedIn(next func(*visit)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := c.sessionOf(r)
		if s == nil {
			c.toSignIn(w, r)
			return
		}
		v := &visit{Console: c, session: s, w: w, r: r}
		if r.Method == http.MethodPost {
			var large *http.MaxBytesError
			if err := r.ParseForm(); errors.As(err, &large) {
				v.problem(http.StatusRequestEntityTooLarge, "This form is too large",
					"It may have at most "+grouped(large.Limit)+" bytes. Write such a value by SQL.")
				return
			}
			if subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(s.csrf)) != 1 {
				v.problem(http.StatusForbidden, "This form is not of your session",
					"Go back, load the page anew, and try again.")
				return
			}
		}
		if !v.partial() {
			s.touch()
		}
		next(v)
	})
}
