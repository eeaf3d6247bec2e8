package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// TryPSQL runs each statement by its own in a session of its own, as far as that can be
// told, and returns what psql -At prints of them, columns separated by |, or says of the
// first that fails (VERBOSITY=verbose). It speaks as psql does, by the simple query
// protocol, and is psql itself only for what that alone can do: a process for each of some
// ten thousand statements takes longer than the statements.
func (w *World) TryPSQL(url string, statements ...string) (string, error) {
	for _, s := range statements {
		if its.MatchString(s) {
			return w.execPSQL(url, statements...)
		}
	}
	session, err := open(w.Context(), url, stateless(statements))
	if err != nil {
		return "", fmt.Errorf("psql: error: %w", err)
	}
	var out []string
	for _, s := range statements {
		printed, err := printed(w.Context(), session.conn, s)
		if out = append(out, printed...); err != nil {
			session.close(context.WithoutCancel(w.Context()))
			var refused *pgconn.PgError
			if errors.As(err, &refused) {
				session.said.WriteString(verbose(refused))
			} else {
				session.said.WriteString(err.Error())
			}
			return strings.Join(out, "\n"), errors.New(strings.TrimSpace(session.said.String()))
		}
	}
	if stateless(statements) {
		idle.put(url, session)
	} else {
		session.close(context.WithoutCancel(w.Context()))
	}
	return strings.TrimSpace(strings.Join(out, "\n")), nil
}

// session is a connection, and what it was told besides answers.
type session struct {
	conn *pgconn.PgConn
	said strings.Builder
}

func (s *session) close(ctx context.Context) { _ = s.conn.Close(ctx) }

// open returns a session: one that has been used before, if that can make no difference.
func open(ctx context.Context, url string, used bool) (*session, error) {
	for used {
		s := idle.take(url)
		if s == nil {
			break
		}
		if s.conn.Ping(ctx) == nil {
			s.said.Reset()
			return s, nil
		}
		s.close(ctx)
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "psql"
	}
	s := &session{}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { s.said.WriteString(verbose((*pgconn.PgError)(n))) }
	s.conn, err = pgconn.ConnectConfig(ctx, config)
	return s, err
}

// its is how a statement begins that needs psql: its own commands, the copying of data, and
// what it says of notifications.
var its = regexp.MustCompile(`(?i)^\s*(\\|COPY\b|LISTEN\b)`)

// plain is how a statement begins that leaves nothing behind in its session, and stateful
// what it has in it if it does all the same.
var (
	plain    = regexp.MustCompile(`(?i)^\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|TABLE|EXPLAIN)\b`)
	stateful = regexp.MustCompile(`(?i)set_config|advisory_(x|s|lock)|pg_backend_pid|pg_reload_conf|;\s*\S`)
)

// stateless reports whether statements leave nothing behind in their session.
func stateless(statements []string) bool {
	return !slices.ContainsFunc(statements, func(s string) bool {
		return !plain.MatchString(s) || stateful.MatchString(s)
	})
}

// idle are sessions that nobody uses, by URL: that of another statement would be as good as
// new, and costs the server a process.
var idle = &sessions{byURL: map[string][]*session{}}

type sessions struct {
	lock  sync.Mutex
	byURL map[string][]*session
}

func (s *sessions) take(url string) *session {
	s.lock.Lock()
	defer s.lock.Unlock()
	list := s.byURL[url]
	if len(list) == 0 {
		return nil
	}
	s.byURL[url] = list[:len(list)-1]
	return list[len(list)-1]
}

func (s *sessions) put(url string, one *session) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.byURL[url] = append(s.byURL[url], one)
}

// end ends all sessions of the database that a URL names.
func (s *sessions) end(ctx context.Context, of string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for address, list := range s.byURL {
		if databaseOf(address) != databaseOf(of) {
			continue
		}
		for _, one := range list {
			one.close(ctx)
		}
		delete(s.byURL, address)
	}
}

func databaseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

// execPSQL is TryPSQL by the program psql.
func (w *World) execPSQL(url string, statements ...string) (string, error) {
	args := []string{"-X", "-At", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", url}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.Context(), "psql", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.New(strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// printed runs a query and returns the lines that psql -At prints of it: rows, and of
// what has changed something how much.
func printed(ctx context.Context, conn *pgconn.PgConn, query string) ([]string, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	var lines []string
	for _, result := range results {
		for _, row := range result.Rows {
			lines = append(lines, string(bytes.Join(row, []byte("|"))))
		}
		if tag := result.CommandTag.String(); tag != "" && told(tag, len(result.Rows) > 0) {
			lines = append(lines, tag)
		}
	}
	return lines, err
}

// told reports whether psql prints the tag of a command: not of what returns rows, unless it
// has changed them.
func told(tag string, rows bool) bool {
	verb, _, _ := strings.Cut(tag, " ")
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "MERGE":
		return true
	case "SELECT", "SHOW", "FETCH", "EXPLAIN":
		return false
	}
	return !rows
}

// verbose returns a message as libpq formats it with PQERRORS_VERBOSE.
func verbose(e *pgconn.PgError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:  %s: %s\n", e.Severity, e.Code, e.Message)
	for _, part := range []struct{ name, text string }{
		{"DETAIL", e.Detail}, {"HINT", e.Hint}, {"QUERY", e.InternalQuery}, {"CONTEXT", e.Where},
		{"SCHEMA NAME", e.SchemaName},
		{"TABLE NAME", e.TableName}, {"COLUMN NAME", e.ColumnName}, {"DATATYPE NAME", e.DataTypeName},
		{"CONSTRAINT NAME", e.ConstraintName},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "%s:  %s\n", part.name, part.text)
		}
	}
	if e.Routine != "" {
		fmt.Fprintf(&b, "LOCATION:  %s, %s:%d\n", e.Routine, e.File, e.Line)
	}
	return b.String()
}
