package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of what somebody runs on the page of SQL.
const (
	mostText       = 50_000
	mostStatements = 100
	mostMessage    = 8 << 20 // of what the server sends at once: a row, an error
	mostCell       = 4_000
	mostShown      = 1 << 20 // of all results together
	cellCost       = 24      // of each value, besides its text
	mostRuns       = 2       // that a session keeps, with their results
	mostSaid       = 100     // notices of a run
	grace          = 5 * time.Second
)

// sqlMode says what a run may do.
type sqlMode string

const (
	modeRead    sqlMode = "read"
	modeWrite   sqlMode = "write"
	modeExplain sqlMode = "explain"
	modeAnalyze sqlMode = "analyze"
)

// sqlRun is a text that a session runs, on a connection of its own that is closed
// when it ends: whatever the text has set, locked, prepared or listened to goes with
// it. The connection has logged in as the session's role, so that there is nobody
// whom a RESET ROLE would lead back to; where a session began with a token there is,
// and such a session runs the console's own text alone (token.go).
//
// What may not write runs in a transaction that is READ ONLY, has a snapshot, after
// which nobody can make it another (manual, SET TRANSACTION), and is rolled back in
// any case. Each statement goes by the extended protocol, which takes no more than
// one; those that end a transaction are refused before they are sent, and if the
// server says that one has ended after all, the run ends, too.
type sqlRun struct {
	id      string
	text    string
	ask     string // the question that it is, where it is one
	mode    sqlMode
	batch   int64
	limit   int
	timeout time.Duration
	started time.Time
	done    chan struct{}
	cancel  context.CancelFunc

	lock      sync.Mutex // of what is below
	conn      *pgconn.PgConn
	cancelled bool
	shown     int      // bytes
	said      []string // notices of the statement that runs
	heard     int      // notices of all
	results   []*sqlResult
	failure   *sqlFailure
	outcome   string
	ended     time.Time
}

// sqlResult is what a statement has come to.
type sqlResult struct {
	statement string
	columns   []sqlColumn
	rows      [][]sqlCell
	more      bool // rows than the limit
	full      bool // the page has as much as it shows
	tag       string
	notices   []string
	took      time.Duration
}

type sqlColumn struct {
	name      string
	kind      uint32
	modifier  int32
	table     uint32
	attribute uint16
	typeName  string
	of        string // the managed table whose id it is
}

// sqlCell is a value as PostgreSQL writes it.
type sqlCell struct {
	text      string
	null, cut bool
}

// sqlFailure is why a run has ended before its end.
type sqlFailure struct {
	statement            int
	message, code        string
	detail, hint, where  string
	line, column         int // of the whole text, from 1; 0: not known
	source, caret, inner string
}

// sqlRuns are a session's.
type sqlRuns struct {
	lock    sync.Mutex
	running *sqlRun
	kept    []*sqlRun
}

// claim makes a run the one that the session runs.
func (s *sqlRuns) claim(r *sqlRun) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running != nil {
		return errBusy
	}
	s.running = r
	return nil
}

func (s *sqlRuns) release(r *sqlRun, keep bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running == r {
		s.running = nil
	}
	if keep {
		s.kept = append(s.kept, r)
		if len(s.kept) > mostRuns {
			s.kept = append([]*sqlRun(nil), s.kept[len(s.kept)-mostRuns:]...)
		}
	}
}

// find returns the session's run of an id, nil if it has none (any more).
func (s *sqlRuns) find(id string) *sqlRun {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running != nil && s.running.id == id {
		return s.running
	}
	for _, r := range s.kept {
		if r.id == id {
			return r
		}
	}
	return nil
}

// sink takes what a run finds.
type sink interface {
	// begin starts the result of a statement; columns is empty where there are no rows.
	begin(statement int, columns []sqlColumn) error
	// row takes a row. Its bytes are the caller's again afterwards.
	row(values [][]byte) error
	// end takes what the server says of it.
	end(tag string, more bool, took time.Duration)
}

// contextUntil is ctx, until something is closed.
func contextUntil(ctx context.Context, closed <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// startRun has a session run a text. It goes on if nobody waits, and ends with the session.
func (s *session) startRun(r *sqlRun) error {
	r.id, r.started, r.done = secret()[:16], time.Now(), make(chan struct{})
	if err := s.sql.claim(r); err != nil {
		return err
	}
	ctx, cancel := contextUntil(context.Background(), s.ended)
	r.cancel = cancel
	go func() {
		defer cancel()
		s.performRun(ctx, r, r)
		s.nameTypes(ctx, r)
		s.sql.release(r, true)
		close(r.done)
	}()
	return nil
}

const nothingChanged = "Rolled back: nothing of this run was changed."

// performRun runs a run's statements one after the other until one fails.
func (s *session) performRun(ctx context.Context, r *sqlRun, to sink) {
	pieces := split(r.text)
	outcome, failure := "", (*sqlFailure)(nil)
	at := 0
	err := func() error {
		if len(pieces) == 0 {
			return errors.New("there is no statement: write one, such as SELECT * FROM iasql_problems")
		}
		if len(pieces) > mostStatements {
			return fmt.Errorf("these are %d statements: run at most %d at once", len(pieces), mostStatements)
		}
		for i, p := range pieces {
			if why := refuse(p.text); why != "" {
				at = i
				return errors.New(why)
			}
		}
		conn, err := s.connectRun(ctx, r)
		if err != nil {
			return err
		}
		defer s.closeRun(ctx, conn)
		// What is one statement is a transaction by itself, and may be a procedure that makes several.
		alone := r.mode == modeWrite && r.batch == 0 && len(pieces) == 1
		if !alone {
			if err := beginRun(ctx, conn, r); err != nil {
				return err
			}
		}
		for i, p := range pieces {
			at = i
			if err := r.statement(ctx, conn, to, i, p); err != nil {
				first, _ := words(p.text)
				switch {
				case r.mode != modeWrite:
				case alone && (first == "call" || first == "do"):
					outcome = "Rolled back, but for what the procedure had committed before."
				default:
					outcome = nothingChanged
				}
				return err
			}
			if status := conn.TxStatus(); !alone && status != 'T' {
				return errors.New("the statement has ended the transaction: what follows was not run")
			}
		}
		if alone {
			outcome = "Committed."
			return nil
		}
		if r.mode != modeWrite {
			outcome = "Read only: rolled back."
			return exec(ctx, conn, `ROLLBACK`)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := exec(ctx, conn, `COMMIT`); err != nil {
			outcome = "It is not known whether it was committed: look at what it changes."
			if sqlState(err) != "" {
				outcome = nothingChanged
			}
			return err
		}
		outcome = "Committed."
		if r.batch != 0 {
			outcome = "Staged in batch " + number(r.batch) + "."
		}
		return nil
	}()
	r.lock.Lock()
	defer r.lock.Unlock()
	if err != nil {
		failure = r.failed(err, pieces, at)
	}
	r.outcome, r.failure, r.ended, r.conn = outcome, failure, time.Now(), nil
}

// connectRun opens the connection of a run.
func (s *session) connectRun(ctx context.Context, r *sqlRun) (*pgconn.PgConn, error) {
	config := s.pool.Config().ConnConfig.Copy()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { r.notice(n) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	settings := runSettings
	if s.become != "" {
		settings = sessionSettings
	}
	raw := conn.PgConn()
	raw.Frontend().SetMaxBodyLen(mostMessage)
	if err = exec(ctx, raw, settings+fmt.Sprintf(`SET statement_timeout = %d; SET lock_timeout = 0`,
		r.timeout.Milliseconds())); err == nil && s.become != "" {
		_, err = conn.Exec(ctx, `SELECT set_config('role', $1, false)`, s.become)
	}
	if err != nil {
		s.closeRun(ctx, raw)
		return nil, err
	}
	r.lock.Lock()
	r.conn = raw
	cancelled := r.cancelled
	r.lock.Unlock()
	if cancelled {
		s.closeRun(ctx, raw)
		return nil, context.Canceled
	}
	return raw, nil
}

// runSettings make what a run shows the same for everybody. The search path is the role's own.
const runSettings = `
	SET standard_conforming_strings = on;
	SET TimeZone = 'UTC';
	SET DateStyle = 'ISO';
	SET IntervalStyle = 'postgres';
	SET bytea_output = 'hex';
	SET extra_float_digits = 1;
	SET client_min_messages = 'notice';
	SET idle_in_transaction_session_timeout = '30s';`

// closeRun closes a run's connection. One that was given up may still run a statement
// that takes no cancelling (a function can catch that): its process is ended.
func (s *session) closeRun(ctx context.Context, conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*grace)
	defer cancel()
	if !conn.IsClosed() {
		_ = conn.Close(ctx) // which also tells the server
		return
	}
	select {
	case <-conn.CleanupDone():
	case <-time.After(grace):
	}
	_, _ = s.pool.Exec(ctx,
		`SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.pid = $1 AND a.usename = session_user`,
		int32(conn.PID())) // #nosec G115 -- a process's number
}

func beginRun(ctx context.Context, conn *pgconn.PgConn, r *sqlRun) error {
	if r.mode != modeWrite {
		// The second takes the snapshot, and the lock by which requests to the engine are refused (refuse_read_only).
		return exec(ctx, conn, `BEGIN READ ONLY; SELECT pg_catalog.pg_advisory_xact_lock_shared(25006, 1)`)
	}
	if err := exec(ctx, conn, `BEGIN`); err != nil || r.batch == 0 {
		return err
	}
	return exec(ctx, conn, `CALL public.iasql_join(`+literal(number(r.batch))+`::text, true)`)
}

func exec(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	return conn.Exec(ctx, sql).Close()
}

// cursored are the statements that a cursor reads. One that calls itself WITH may
// write, and then cannot: PostgreSQL says so.
func cursored(statement string) bool {
	first, _ := words(statement)
	return first == "select" || first == "with" || first == "values" || first == "table" || first == "("
}

// runCursor is how a run calls its cursor.
const runCursor = `iasql_console`

// statement runs one statement of a run.
func (r *sqlRun) statement(ctx context.Context, conn *pgconn.PgConn, to sink, n int, p piece) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.timeout+grace)
	defer cancel()
	prefix, sql := "", p.text
	first, _ := words(sql)
	switch {
	case first == "explain":
	case r.mode == modeExplain:
		prefix = `EXPLAIN `
	case r.mode == modeAnalyze:
		prefix = `EXPLAIN (ANALYZE, BUFFERS) `
	case r.mode == modeRead && cursored(sql):
		prefix = `DECLARE ` + runCursor + ` NO SCROLL CURSOR FOR `
	}
	if !strings.HasPrefix(prefix, `DECLARE`) {
		return r.take(to, n, conn.ExecParams(ctx, prefix+sql, nil, nil, nil, nil), began, prefix)
	}
	if _, err := conn.ExecParams(ctx, prefix+sql, nil, nil, nil, nil).Close(); err != nil {
		return after(prefix, err)
	}
	fetch := fmt.Sprintf(`FETCH FORWARD %d FROM %s`, r.limit+1, runCursor)
	if err := r.take(to, n, conn.ExecParams(ctx, fetch, nil, nil, nil, nil), began, fetch+prefix); err != nil {
		return err
	}
	return exec(ctx, conn, `CLOSE `+runCursor)
}

// positioned is an error whose position counts what the console has put before the statement.
type positioned struct {
	error
	before int
}

func (p positioned) Unwrap() error { return p.error }

func after(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return positioned{err, utf8.RuneCountInString(prefix)}
}

// take hands over what comes of a statement. Rows after the limit are read and dropped.
func (r *sqlRun) take(to sink, n int, got *pgconn.ResultReader, began time.Time, prefix string) error {
	var columns []sqlColumn
	for _, f := range got.FieldDescriptions() {
		columns = append(columns, sqlColumn{name: f.Name, kind: f.DataTypeOID, modifier: f.TypeModifier,
			table:     f.TableOID,
			attribute: f.TableAttributeNumber})
	}
	failed := to.begin(n, columns)
	rows := 0
	for got.NextRow() {
		if rows++; rows <= r.limit && failed == nil {
			failed = to.row(got.Values())
		}
	}
	tag, err := got.Close()
	if err != nil {
		to.end("", rows > r.limit, time.Since(began))
		return after(prefix, err)
	}
	text := tag.String()
	if strings.HasPrefix(text, "FETCH ") && strings.Contains(prefix, runCursor) {
		text = fmt.Sprintf("SELECT %d", min(rows, r.limit))
	}
	to.end(text, rows > r.limit, time.Since(began))
	if ends := tag.String(); ends == "COMMIT" || ends == "ROLLBACK" || ends == "BEGIN" || ends == "START TRANSACTION" ||
		ends == "PREPARE TRANSACTION" {
		return errors.New("the statement has ended the transaction: what follows was not run")
	}
	return failed
}

// A run is the sink of what its page shows.

func (r *sqlRun) begin(n int, columns []sqlColumn) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.results = append(r.results, &sqlResult{columns: columns, statement: split(r.text)[n].text})
	return nil
}

func (r *sqlRun) row(values [][]byte) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	to := r.results[len(r.results)-1]
	if r.shown > mostShown {
		to.full = true
		return nil
	}
	row := make([]sqlCell, len(values))
	for i, v := range values {
		most := mostCell
		if len(values) == 1 {
			most = 16 * mostCell // a plan, a document
		}
		row[i].null = v == nil
		row[i].cut = len(v) > most
		row[i].text = shorten(strings.ToValidUTF8(string(v[:min(len(v), most+utf8.UTFMax)]), "�"), most)
		r.shown += len(row[i].text) + cellCost
	}
	to.rows = append(to.rows, row)
	return nil
}

func (r *sqlRun) end(tag string, more bool, took time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	to := r.results[len(r.results)-1]
	to.tag, to.more, to.took = tag, more, took
	to.notices, r.said = r.said, nil
}

func (r *sqlRun) notice(n *pgconn.Notice) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.heard++; r.heard > mostSaid {
		return
	}
	text := n.Severity + ": " + shorten(n.Message, 2000)
	if n.Hint != "" {
		text += " " + shorten(n.Hint, 1000)
	}
	r.said = append(r.said, text)
}

// stop cancels what a run is doing: as psql does, and if that does not help, by
// giving up its connection.
func (r *sqlRun) stop() {
	r.lock.Lock()
	conn := r.conn
	r.cancelled = true
	r.lock.Unlock()
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = conn.CancelRequest(ctx) // if it does not arrive, the connection is given up
	go func() {
		select {
		case <-r.done:
		case <-time.After(grace):
			r.cancel()
		}
	}()
}

// failed says why a run has failed, by its lock.
func (r *sqlRun) failed(err error, pieces []piece, at int) *sqlFailure {
	f := &sqlFailure{statement: at}
	var pg *pgconn.PgError
	var long *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &pg):
		f.message, f.code, f.detail, f.hint = pg.Message, pg.Code, pg.Detail, pg.Hint
		f.inner, f.where = pg.InternalQuery, pg.Where
		var moved positioned
		if position := int(pg.Position); errors.As(err, &moved) && position > moved.before && at < len(pieces) {
			f.point(r.text, pieces[at].at+position-moved.before)
		}
		// Nobody has typed DECLARE CURSOR.
		if r.mode == modeRead && (strings.Contains(pg.Message, "DECLARE CURSOR") ||
			strings.HasPrefix(pg.Message, "SELECT ... INTO is not allowed")) {
			f.message, f.code = "this statement changes something, and the transaction is read-only",
				pgerrcode.ReadOnlySQLTransaction
		}
		if f.code == pgerrcode.ReadOnlySQLTransaction && f.hint == "" && r.mode != modeWrite {
			f.hint = "Tick “may write” to change something."
			if r.mode == modeAnalyze {
				f.hint = "EXPLAIN ANALYZE runs a statement, here read only. Explain shows the plan alone."
			}
		}
		if pg.Code == pgerrcode.QueryCanceled {
			switch {
			case r.cancelled:
				f.message, f.hint = "It was cancelled.", ""
			case strings.Contains(pg.Message, "statement timeout"):
				f.message = fmt.Sprintf("It took more than %s and was cancelled.", duration(r.timeout))
				f.hint = "Choose a longer time, or ask for less."
			}
		}
	case r.cancelled:
		f.message = "It was cancelled."
	case errors.As(err, &long):
		f.message = fmt.Sprintf("One row or message has %s bytes: more than %s are not shown.",
			grouped(int64(long.ActualBodyLen)), grouped(mostMessage))
		f.hint = "Name the columns that you need, or cut long ones: left(column, 1000)."
	case errors.Is(err, context.DeadlineExceeded):
		f.message = fmt.Sprintf("It took more than %s and was given up.", duration(r.timeout))
		f.hint = "Choose a longer time, or ask for less."
	case errors.Is(err, context.Canceled):
		f.message = "It was given up: the session has ended."
	case refusedLogin(err) || pgconn.Timeout(err) || strings.Contains(err.Error(), "failed to connect"):
		f.message = "The database does not answer, or does not let the role in any more."
	default:
		f.message = err.Error()
	}
	f.message, f.detail, f.hint = shorten(f.message, 4000), shorten(f.detail, 4000), shorten(f.hint, 2000)
	f.inner, f.where = shorten(f.inner, 2000), shorten(f.where, 2000)
	return f
}

// point notes where in a text its nth character is, from 1.
func (f *sqlFailure) point(text string, n int) {
	runes := []rune(text)
	if n < 1 || n > len(runes)+1 {
		return
	}
	before := string(runes[:n-1])
	start := strings.LastIndexByte(before, '\n') + 1
	f.line = strings.Count(before, "\n") + 1
	f.column = utf8.RuneCountInString(before[start:]) + 1
	rest := string(runes[n-1:])
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	lead := []rune(strings.ReplaceAll(before[start:], "\t", " "))
	if len(lead) > 120 {
		lead = append([]rune("…"), lead[len(lead)-120:]...)
	}
	f.source = string(lead) + shorten(strings.ReplaceAll(rest, "\t", " "), 200)
	f.caret = strings.Repeat(" ", len(lead)) + "^"
}

// nameTypes looks up how the types of a run's columns are called, and which of them
// are ids of records, on a connection of the session's pages: what the run has set
// does not matter there.
func (s *session) nameTypes(ctx context.Context, r *sqlRun) {
	r.lock.Lock()
	defer r.lock.Unlock()
	var kinds, tables []uint32
	var modifiers, attributes []int32
	for _, result := range r.results {
		for _, c := range result.columns {
			kinds, modifiers = append(kinds, c.kind), append(modifiers, c.modifier)
			tables, attributes = append(tables, c.table), append(attributes, int32(c.attribute))
		}
	}
	if len(kinds) == 0 {
		return
	}
	err := s.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT format_type(u.kind, u.modifier), coalesce(m.name, '')
			FROM unnest($1::oid[], $2::integer[], $3::oid[], $4::integer[]) WITH ORDINALITY u (kind, modifier, "table", attribute, n)
			LEFT JOIN pg_attribute a ON a.attrelid = u."table" AND a.attnum = u.attribute AND a.attname = 'id'
			LEFT JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace
			LEFT JOIN iasql_internal.managed_table m ON m.name = c.relname
			ORDER BY u.n`, kinds, modifiers, tables, attributes)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Type, Of string }])
		if err != nil || len(names) != len(kinds) {
			return err
		}
		for _, result := range r.results {
			for i := range result.columns {
				result.columns[i].typeName, result.columns[i].of = names[0].Type, names[0].Of
				names = names[1:]
			}
		}
		return nil
	})
	if err != nil {
		return // the page does without
	}
}
