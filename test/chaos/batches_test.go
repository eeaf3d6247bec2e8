package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batchers is how many more SQL users work in batches, one after the other, each with
// records of its own. The last declares configurations in them.
const batchers = 3

// closed counts batches by what became of them.
type closed struct {
	lock   sync.Mutex
	counts map[string]int
	said   map[string]int // by SQLSTATE: what was said of those that were not committed
}

func (c *closed) add(outcome string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.counts[outcome]++
}

func (c *closed) says(code string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.said[code]++
}

// batcher is a user who edits in batches. What it notes has the batch's name until the
// batch is closed; then it is kept, or undone with the batch.
type batcher struct {
	w      *world
	number int
	random *rand.Rand
	conn   *pgx.Conn // nil: none, or one that may be broken
	serial int
	batch  string // name of the batch that it works in, or may work in; "" for none

	declares bool // configurations of queues, and nothing else
}

func newBatcher(w *world, number int, random *rand.Rand) *batcher {
	return &batcher{w: w, number: number, random: random, declares: number == users+batchers-1}
}

// act opens, edits and closes batches until it is told to stop; the last may stay open.
func (b *batcher) act(stop <-chan struct{}) {
	defer b.disconnect()
	for pause(stop, time.Duration(50+b.random.IntN(400))*time.Millisecond) {
		if !b.w.lull() {
			b.step()
		}
	}
}

// step does the next thing. A session that fails is left, and another takes its batch
// over.
func (b *batcher) step() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	open, err := b.work(ctx)
	if err == nil && open {
		switch roll := b.random.IntN(100); {
		case roll < 65:
			edit := b.edit
			if b.declares {
				edit = b.declare
			}
			if err = edit(ctx); err == nil {
				b.w.edits.Add(1)
			}
		case roll < 70:
			_, err = b.conn.Exec(ctx, `SELECT * FROM iasql_preview()`)
		case roll < 72: // the session ends, and its batch does not
			b.disconnect()
		case roll < 80:
			_, err = b.conn.Exec(ctx, `CALL iasql_rollback()`)
		case roll < 85:
			err = b.commit(time.Duration(b.random.IntN(3000))*time.Millisecond,
				`CALL iasql_commit('thought better of', NULL, 'rollback', 'rollback')`)
		case roll < 90:
			err = b.commit(time.Duration(b.random.IntN(3000))*time.Millisecond, `CALL iasql_commit('does not wait')`)
		default:
			err = b.commit(2*time.Minute, `CALL iasql_commit()`)
		}
	}
	if err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		b.disconnect()
		b.refused(err)
	}
}

// refused looks at why something failed: what calls refuse for good fails the commit
// (IA025 and the like), and the database may go away.
func (b *batcher) refused(err error) {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && strings.HasPrefix(pg.Code, "IA"):
		b.w.closed.says(pg.Code)
	case errors.As(err, &pg) && pg.Code == "57014": // cancelled, as was asked
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		b.w.refused(err)
	}
}

func (b *batcher) disconnect() {
	if b.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = b.conn.Close(ctx)
		b.conn = nil
	}
}

// work has the session work in a batch that is open, and reports whether it does: the
// last one, or a new one if that is closed, by whomever.
func (b *batcher) work(ctx context.Context) (open bool, err error) {
	if b.conn == nil {
		if b.conn, err = pgx.Connect(ctx, b.w.postgres.UserURL()); err != nil {
			return false, err
		}
		if b.batch != "" {
			return b.takeOver(ctx)
		}
	}
	if b.batch != "" {
		var open bool
		err := b.conn.QueryRow(ctx, `SELECT coalesce(current_setting('iasql.batch', true), '') <> '' AND EXISTS (SELECT FROM iasql_batches WHERE name = $1 AND phase = 'open')`, b.batch).Scan(&open)
		if err != nil || open {
			return open, err
		}
		return b.takeOver(ctx)
	}
	b.serial++
	b.batch = fmt.Sprintf("chaos %d-%d", b.number, b.serial)
	_, err = b.conn.Exec(ctx, `CALL iasql_begin('`+b.batch+`')`)
	return err == nil, err
}

// takeOver finds out what has become of the batch: it works in it if it is still open,
// and settles its notes if it is closed. While the engine commits or undoes it, it waits.
func (b *batcher) takeOver(ctx context.Context) (open bool, err error) {
	var phase, outcome string
	err = b.conn.QueryRow(ctx, `SELECT phase, coalesce(outcome, '') FROM iasql_batches WHERE name = $1`,
		b.batch).Scan(&phase, &outcome)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // it was never opened
		b.batch = ""
		return false, nil
	case err != nil:
		return false, err
	case outcome != "":
		if err := b.settle(ctx, outcome); err != nil {
			return false, err
		}
		b.w.closed.add(outcome)
		b.batch = ""
		b.disconnect() // the next batch is another session's
		return false, nil
	case phase != "open":
		return false, nil
	}
	_, err = b.conn.Exec(ctx, `CALL iasql_join('`+b.batch+`')`)
	return err == nil, err
}

// settle keeps the notes of a batch that was committed, and undoes those of one that was
// rolled back. Of one that was rolled back in part nobody but the two sides themselves
// can say how its records are to be: they have to agree.
func (b *batcher) settle(ctx context.Context, outcome string) error {
	var statements []string
	switch outcome {
	case "committed":
	case "rolled back":
		statements = []string{
			`DELETE FROM chaos.wish w WHERE batch = $1 AND NOT EXISTS (SELECT FROM chaos.object o WHERE o.name = w.object AND o.batch = $1)`,
			`UPDATE chaos.object SET gone = false WHERE gone_in = $1`,
			`UPDATE chaos.object SET gone = true WHERE batch = $1`,
		}
	default:
		statements = []string{`UPDATE chaos.object o SET unsure = true WHERE batch = $1 OR gone_in = $1 OR EXISTS (SELECT FROM chaos.wish w WHERE w.object = o.name AND w.batch = $1)`}
	}
	statements = append(statements,
		`UPDATE chaos.object SET batch = NULL WHERE batch = $1`,
		`UPDATE chaos.object SET gone_in = NULL WHERE gone_in = $1`,
		`UPDATE chaos.wish SET batch = NULL WHERE batch = $1`)
	return pgx.BeginFunc(ctx, b.conn, func(tx pgx.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(ctx, sql, b.batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// edit is one transaction of the batch, in which a user may think better of it as well.
func (b *batcher) edit(ctx context.Context) error {
	return pgx.BeginFunc(ctx, b.conn, func(tx pgx.Tx) error {
		s := &session{ctx: ctx, tx: tx, number: b.number, random: b.random, batch: b.batch}
		if err := s.edit(); err != nil {
			return err
		}
		if b.random.IntN(10) == 0 {
			return pgx.ErrTxClosed
		}
		return nil
	})
}

// declare declares the batcher's configuration, once a batch: it keeps some of the queues that
// it has, each mentioned in one of the ways there are, leaves out the others, and makes some.
// What it leaves out is noted as deleted, and what nobody has mentioned is noted by others.
func (b *batcher) declare(ctx context.Context) error {
	return pgx.BeginFunc(ctx, b.conn, func(tx pgx.Tx) error {
		s := &session{ctx: ctx, tx: tx, number: b.number, random: b.random, batch: b.batch}
		configuration := fmt.Sprintf("chaos %d", b.number)
		var declared bool
		if err := s.scalar(&declared, `SELECT EXISTS (SELECT FROM iasql_configurations WHERE name = $1 AND declaring IS NOT NULL)`,
			configuration); err != nil || declared {
			return err
		}
		if err := s.exec(`CALL iasql_declare('` + configuration + `')`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT name, record FROM chaos.object WHERE owner = $1 AND kind = 'queue' AND NOT gone AND NOT unsure
			ORDER BY name`, b.number)
		if err != nil {
			return err
		}
		type queue struct {
			name   string
			record int64
		}
		queues, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (q queue, err error) {
			return q, row.Scan(&q.name, &q.record)
		})
		if err != nil {
			return err
		}
		for _, q := range queues {
			seconds := b.random.IntN(40000)
			switch b.random.IntN(5) {
			case 0: // left out
				err = s.exec(`UPDATE chaos.object SET gone = true, gone_in = $2 WHERE name = $1`, q.name, b.batch)
			case 1:
				err = s.exec(`SELECT iasql_mention('queue', $1)`, q.record)
			case 2:
				err = s.exec(`INSERT INTO queue (name, region) SELECT name, region FROM queue WHERE id = $1 ON CONFLICT DO NOTHING`, q.record)
			default:
				if err = s.update(`UPDATE queue SET visibility_timeout = $2 WHERE id = $1`, q.record, seconds); err == nil {
					err = s.wish(q.name, map[string]string{"visibility": fmt.Sprint(seconds)})
				}
			}
			if err != nil {
				return err
			}
		}
		for range b.random.IntN(3) {
			if err := s.createQueue(); err != nil {
				return err
			}
		}
		if err := s.exec(`CALL iasql_declared()`); err != nil {
			return err
		}
		if b.random.IntN(10) == 0 {
			return pgx.ErrTxClosed
		}
		return nil
	})
}

// commit commits the batch, and waits so long.
func (b *batcher) commit(wait time.Duration, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := b.conn.Exec(ctx, sql)
	return err
}

// finish closes the last batch, once all is well, and settles its notes.
func (b *batcher) finish() {
	defer b.disconnect()
	for deadline := time.Now().Add(2 * time.Minute); b.batch != ""; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.w.t.Errorf("batch %s is not closed, although all is well: %s", b.batch,
				b.w.list(`SELECT concat_ws(' ', b, p) FROM iasql_batches b LEFT JOIN iasql_progress p USING (id) WHERE b.name = '`+b.batch+`'`))
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		open, err := b.work(ctx)
		if err == nil && open {
			if b.random.IntN(2) == 0 {
				_, err = b.conn.Exec(ctx, `CALL iasql_rollback()`)
			} else {
				_, err = b.conn.Exec(ctx, `CALL iasql_commit()`)
			}
		}
		cancel()
		if err != nil {
			b.w.t.Logf("at the end, batch %s: %v", b.batch, err)
			b.disconnect()
		}
	}
}

// agree checks that the two sides are equal in what batches that were rolled back in
// part had to do with.
func (w *world) agree(unsure map[string]bool, cloud, tables []cloudObject) {
	of := func(objects []cloudObject) map[string]cloudObject {
		found := map[string]cloudObject{}
		for _, o := range objects {
			if unsure[o.name] {
				if _, twice := found[o.name]; twice {
					w.t.Errorf("the %s %q is there twice", o.kind, o.name)
				}
				found[o.name] = o
			}
		}
		return found
	}
	theirs, ours := of(cloud), of(tables)
	for name := range unsure {
		a, inCloud := theirs[name]
		b, inTable := ours[name]
		if inCloud != inTable {
			w.t.Errorf("%q is in the cloud: %t, in a table: %t; its batch was rolled back in part", name,
				inCloud, inTable)
			w.history(name)
		}
		for field, value := range b.fields {
			if inCloud && a.fields[field] != value {
				w.t.Errorf("the %s %q has %s = %q in the cloud, and %q in the table; its batch was rolled back in part",
					a.kind, name, field, a.fields[field], value)
				w.history(name)
			}
		}
	}
}
