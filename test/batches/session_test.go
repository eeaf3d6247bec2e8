package batches

import (
	"context"
	"errors"
	"strings"
	gosync "sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
)

// session is one person at one connection.
type session struct {
	w    *harness.World
	conn *pgx.Conn
	lock gosync.Mutex
	said []string // the notices
}

// connect opens a session of a login.
func connect(w *harness.World, url string) *session {
	w.Helper()
	s := &session{w: w}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		w.Fatal(err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.said = append(s.said, n.Message)
	}
	if s.conn, err = pgx.ConnectConfig(w.Context(), config); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.conn.Close(context.Background()) })
	return s
}

// user opens a session of the plain user.
func user(w *harness.World) *session {
	w.Helper()
	return connect(w, w.UserURL)
}

// try runs statements one by one, as typed line by line.
func (s *session) try(statements ...string) error {
	for _, sql := range statements {
		if _, err := s.conn.Exec(s.w.Context(), sql); err != nil {
			return err
		}
	}
	return nil
}

// do runs statements that have to succeed.
func (s *session) do(statements ...string) {
	s.w.Helper()
	if err := s.try(statements...); err != nil {
		s.w.Fatalf("%s: %s", strings.Join(statements, "; "), spelled(err))
	}
}

// get returns the one value that a query returns, as text.
func (s *session) get(query string) string {
	s.w.Helper()
	rows, err := s.conn.Query(s.w.Context(), query, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		s.w.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	text := ""
	for rows.Next() {
		for _, raw := range rows.RawValues() {
			text += string(raw)
		}
	}
	if err := rows.Err(); err != nil {
		s.w.Fatalf("%s: %s", query, spelled(err))
	}
	return text
}

// refused runs statements of which one fails, and checks its SQLSTATE and what it says.
func (s *session) refused(code string, says []string, statements ...string) {
	s.w.Helper()
	err := s.try(statements...)
	text := spelled(err)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != code {
		s.w.Errorf("%s: %s, want %s", strings.Join(statements, "; "), text, code)
	}
	for _, part := range says {
		if !strings.Contains(text, part) {
			s.w.Errorf("%s: says %s, and not %q", strings.Join(statements, "; "), text, part)
		}
	}
}

// notices returns what the server has said so far.
func (s *session) notices() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return strings.Join(s.said, "\n")
}

// later runs statements meanwhile, and returns how that ended.
func (s *session) later(statements ...string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.try(statements...) }()
	return done
}

func spelled(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code + ": " + pg.Message + " (" + pg.Hint + ")"
	}
	if err == nil {
		return "nothing was refused"
	}
	return err.Error()
}
