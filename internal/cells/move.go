package cells

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Move says which account is to move, and where.
type Move struct {
	Account string // as its cell calls it
	From    string // its cell; empty: the only one that has it
	To      string // the cell that gets it; of a move that has begun it may be left out
	As      string // what that calls it; empty: the same
	Login   string // who does it, in both cells: a superuser, or who may do as much; empty: the login of the cell's URL
	// Deadline is how long the account's transactions and its cycle are waited for.
	Deadline time.Duration
	// Say is told of each step before it begins.
	Say func(step Step)
}

// Step is a part of a move.
type Step string

// The steps of a move, in their order. Up to HandOver a move can be undone: until then the account is the source's.
const (
	Hold     Step = "hold"      // no engine and no user writes it in the source any more
	Copy     Step = "copy"      // it is copied to the target in one transaction, and is held there as well
	HandOver Step = "hand over" // the source says that it has left: from this moment on it is the target's
	Release  Step = "release"   // the target's engines and users have it
	Remove   Step = "remove"    // its rows in the source are removed
)

// moved and undone are how moves end.
const (
	moved  Step = "moved"
	undone Step = "undone"
)

// Moved is what a move has done.
type Moved struct {
	Account string       `json:"account"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	As      string       `json:"as"`
	Undone  bool         `json:"undone"`
	Tables  []MovedTable `json:"tables"` // what was copied by this call; empty if an earlier one had done so
	Raised  int64        `json:"raised"` // by how much that call raised ids: record 17 is record 17 + raised
}

// MovedTable is a table with rows of an account.
type MovedTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// MovePreview is what a move would do.
type MovePreview struct {
	Account   string       `json:"account"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	As        string       `json:"as"`
	Tables    []MovedTable `json:"tables"`
	Obstacles []string     `json:"obstacles"` // what stands in the way, each with what to do about it
}

// ObstacleError says why an account cannot move.
type ObstacleError struct {
	Account   string
	Obstacles []string
}

// Error lists them.
func (e *ObstacleError) Error() string {
	return fmt.Sprintf("account %s cannot move: %s", e.Account, strings.Join(e.Obstacles, "; "))
}

// mover carries out one move.
type mover struct {
	Move
	registry       *Registry
	id             string // of its row in the registry; empty: there is none yet
	source, target *end
}

// Move moves an account from one cell to another. Nothing is written in the cloud. If a move was cut off at any moment,
// another call goes on with it. If something stands in the way, it fails with an [ObstacleError], and the account stays
// where it is.
func (r *Registry) Move(ctx context.Context, m Move) (*Moved, error) {
	mv, err := r.mover(ctx, m)
	if err != nil {
		return nil, err
	}
	defer mv.close(ctx)
	return mv.run(ctx)
}

// UndoMove takes back a move that has not handed the account over: it stays in its cell.
func (r *Registry) UndoMove(ctx context.Context, m Move) (*Moved, error) {
	mv, err := r.mover(ctx, m)
	if err != nil {
		return nil, err
	}
	defer mv.close(ctx)
	if mv.id == "" {
		return nil, fmt.Errorf("no move of account %s is under way", m.Account)
	}
	return mv.undo(ctx)
}

// PreviewMove says what a move would do, and changes nothing.
func (r *Registry) PreviewMove(ctx context.Context, m Move) (*MovePreview, error) {
	mv, err := r.mover(ctx, m)
	if err != nil {
		return nil, err
	}
	defer mv.close(ctx)
	preview := &MovePreview{Account: mv.Account, From: mv.From, To: mv.To, As: mv.As, Tables: []MovedTable{}}
	if preview.Obstacles, err = mv.obstacles(ctx); err != nil {
		return nil, err
	}
	err = mv.source.within(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		preview.Tables, err = mv.source.count(ctx, tx)
		if err != nil {
			return err
		}
		return tx.Rollback(ctx)
	})
	if errors.Is(err, pgx.ErrTxClosed) {
		err = nil
	}
	return preview, err
}

// mover finds out which move is meant, and connects to its cells.
func (r *Registry) mover(ctx context.Context, m Move) (*mover, error) {
	if m.Say == nil {
		m.Say = func(Step) {}
	}
	mv := &mover{Move: m, registry: r}
	cells, err := r.Cells(ctx)
	if err != nil {
		return nil, err
	}
	if err := mv.find(ctx); err != nil {
		return nil, err
	}
	err = mv.connect(ctx, cells)
	if err == nil && mv.id == "" {
		err = mv.adopt(ctx)
	}
	if err != nil {
		mv.close(ctx)
		return nil, err
	}
	return mv, nil
}

// connect connects to both cells, anew if it has been.
func (m *mover) connect(ctx context.Context, cells []Cell) error {
	m.disconnect(ctx)
	for _, side := range []struct {
		end           **end
		cell, account string
	}{{&m.source, m.From, m.Account}, {&m.target, m.To, m.As}} {
		i := slices.IndexFunc(cells, func(c Cell) bool { return c.Name == side.cell })
		if i < 0 {
			return fmt.Errorf("there is no cell %q: engine cells list shows those that there are", side.cell)
		}
		var err error
		if *side.end, err = open(ctx, cells[i], side.account, m.Login, m.Deadline); err != nil {
			return err
		}
	}
	return nil
}

// adopt goes on with a move that the cells know and the registry does not: one that was made anew.
func (m *mover) adopt(ctx context.Context) error {
	known, err := m.source.lines(ctx, `SELECT move::text FROM iasql_internal.moving WHERE account = $1 AND cell = $2
		AND side <> 'arriving'`, m.Account, m.To)
	if err != nil || len(known) == 0 {
		return err
	}
	called, err := m.target.lines(ctx, `SELECT account FROM iasql_internal.moving WHERE move = $1::uuid`, known[0])
	if err != nil {
		return err
	}
	if len(called) > 0 {
		m.As, m.target.account = called[0], called[0]
	}
	_, err = m.registry.conn.Exec(ctx, `INSERT INTO iasql_cells.move (id, account, source, target, name)
		VALUES ($1::uuid, $2, $3, $4, $5)`, known[0], m.Account, m.From, m.To, m.As)
	m.id = known[0]
	return explain(err)
}

// find looks for a move of the account that has not ended, and else for the cell that has it.
func (m *mover) find(ctx context.Context) error {
	var free bool
	if err := m.registry.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext('iasql_cells.move'), hashtext($1))`,
		m.Account).Scan(&free); err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("account %s is being moved by another call of engine cells move: wait for its end", m.Account)
	}
	rows, _ := m.registry.conn.Query(ctx, `SELECT id::text, source, target, name FROM iasql_cells.move
		WHERE ended IS NULL AND account = $1 AND ($2 = '' OR source = $2) ORDER BY source`, m.Account, m.From)
	type begun struct{ ID, Source, Target, Name string }
	open, err := pgx.CollectRows(rows, pgx.RowToStructByPos[begun])
	switch {
	case err != nil:
		return explain(err)
	case len(open) > 1:
		return fmt.Errorf("moves of accounts %s from %s and %s are under way: say --from", m.Account, open[0].Source,
			open[1].Source)
	case len(open) == 1:
		b := open[0]
		if m.To != "" && m.To != b.Target || m.As != "" && m.As != b.Name {
			return fmt.Errorf("a move of account %s from cell %s to cell %s, as %s, is under way: go on with that, or "+
				"undo it with --undo", m.Account, b.Source, b.Target, b.Name)
		}
		m.id, m.From, m.To, m.As = b.ID, b.Source, b.Target, b.Name
		return nil
	}
	if m.To == "" {
		return fmt.Errorf("no move of account %s is under way: say --to CELL", m.Account)
	}
	if m.As == "" {
		m.As = m.Account
	}
	if m.From == "" {
		return m.locate(ctx)
	}
	if m.From == m.To {
		return fmt.Errorf("account %s is in cell %s already", m.Account, m.To)
	}
	return nil
}

// locate finds the cell that has the account, as the cells said when they last answered.
func (m *mover) locate(ctx context.Context) error {
	rows, _ := m.registry.conn.Query(ctx, `SELECT cell FROM iasql_cells.account WHERE name = $1 ORDER BY cell`, m.Account)
	cells, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return explain(err)
	}
	others := slices.DeleteFunc(slices.Clone(cells), func(c string) bool { return c == m.To })
	switch {
	case len(others) == 1:
		m.From = others[0]
		return nil
	case len(others) > 1:
		return fmt.Errorf("cells %s have an account %s each: say --from CELL", strings.Join(others, ", "), m.Account)
	case len(cells) == 1:
		return fmt.Errorf("account %s is in cell %s already", m.Account, m.To)
	}
	return fmt.Errorf("no cell has an account %s, as they last said: engine cells list asks them anew", m.Account)
}

func (m *mover) disconnect(ctx context.Context) {
	for _, e := range []*end{m.source, m.target} {
		if e != nil {
			_ = e.conn.Close(context.WithoutCancel(ctx))
		}
	}
	m.source, m.target = nil, nil
}

func (m *mover) close(ctx context.Context) {
	m.disconnect(ctx)
	ctx = context.WithoutCancel(ctx)
	_, _ = m.registry.conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
}

// run makes the steps that are left.
func (m *mover) run(ctx context.Context) (*Moved, error) {
	result := &Moved{Account: m.Account, From: m.From, To: m.To, As: m.As, Tables: []MovedTable{}}
	side, err := m.source.side(ctx, m.id)
	if err != nil {
		return nil, err
	}
	if side != left {
		there, err := m.source.exists(ctx)
		if err != nil {
			return nil, err
		}
		arrived, err := m.target.side(ctx, m.id)
		switch {
		case err != nil:
			return nil, err
		case there:
			if err := m.bring(ctx, side, arrived, result); err != nil {
				return nil, err
			}
		case m.id == "":
			return nil, fmt.Errorf("cell %s has no account %s", m.From, m.Account)
		}
	}
	steps := []struct {
		step Step
		make func(context.Context) error
	}{{Release, func(ctx context.Context) error { return m.target.release(ctx, m.id) }},
		{Remove, func(ctx context.Context) error { return m.source.remove(ctx, m.id, left) }}}
	for _, s := range steps {
		if err := m.begin(ctx, s.step); err != nil {
			return nil, err
		}
		if err := s.make(ctx); err != nil {
			return nil, m.cut(s.step, err)
		}
	}
	return result, m.end(ctx, moved)
}

// bring makes the steps up to the one after which the account is the target's.
func (m *mover) bring(ctx context.Context, side, arrived side, result *Moved) error {
	if arrived == "" {
		obstacles, err := m.obstacles(ctx)
		if err == nil && len(obstacles) > 0 {
			err = &ObstacleError{m.Account, obstacles}
		}
		if err != nil {
			return m.takeBack(ctx, err)
		}
	}
	if m.id == "" {
		if err := m.registry.conn.QueryRow(ctx, `INSERT INTO iasql_cells.move (account, source, target, name)
			VALUES ($1, $2, $3, $4) RETURNING id::text`, m.Account, m.From, m.To, m.As).Scan(&m.id); err != nil {
			return explain(err)
		}
	}
	if err := m.begin(ctx, Hold); err != nil {
		return err
	}
	if side == "" {
		if err := m.source.hold(ctx, m.id, m.To); err != nil {
			return m.takeBack(ctx, err)
		}
	}
	if err := m.source.await(ctx); err != nil {
		return m.takeBack(ctx, err)
	}
	if arrived == "" {
		// Now that nobody writes: what was in the way a moment before may have been written since.
		obstacles, err := m.obstacles(ctx)
		if err == nil && len(obstacles) > 0 {
			err = &ObstacleError{m.Account, obstacles}
		}
		if err != nil {
			return m.takeBack(ctx, err)
		}
		if err := m.begin(ctx, Copy); err != nil {
			return err
		}
		if result.Tables, result.Raised, err = m.copy(ctx); err != nil {
			return m.takeBack(ctx, err)
		}
	}
	if err := m.begin(ctx, HandOver); err != nil {
		return err
	}
	if err := m.source.handOver(ctx, m.id); err != nil {
		return m.cut(HandOver, err)
	}
	return nil
}

// takeBack undoes a move that cannot go on, as far as that is possible now, and returns why it could not.
func (m *mover) takeBack(ctx context.Context, why error) error {
	if m.id == "" {
		return why
	}
	ctx = context.WithoutCancel(ctx)
	err := m.connect(ctx, []Cell{m.source.cell, m.target.cell}) // what has failed may have been a connection
	if err == nil {
		_, err = m.undo(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w (and what was begun could not be undone: %w; the same command with --undo does that)",
			why, err)
	}
	return why
}

// undo gives the account back to the source.
func (m *mover) undo(ctx context.Context) (*Moved, error) {
	result := &Moved{Account: m.Account, From: m.From, To: m.To, As: m.As, Undone: true, Tables: []MovedTable{}}
	side, err := m.source.side(ctx, m.id)
	if err != nil {
		return nil, err
	}
	there, err := m.source.exists(ctx)
	if err != nil {
		return nil, err
	}
	if side == left || !there {
		return nil, fmt.Errorf("account %s is cell %s's already: call engine cells move without --undo to finish, and "+
			"move it back from there", m.Account, m.To)
	}
	// In this order: as long as the target may have a copy, the source does not go on.
	if err := m.target.remove(ctx, m.id, arriving); err != nil {
		return nil, fmt.Errorf("undo the copy in cell %s: %w", m.To, err)
	}
	if err := m.source.release(ctx, m.id); err != nil {
		return nil, fmt.Errorf("release the account in cell %s: %w", m.From, err)
	}
	return result, m.end(ctx, undone)
}

// cut says what to do about a step that failed after which the move cannot be undone, or may not.
func (m *mover) cut(step Step, err error) error {
	return fmt.Errorf("step %q: %w (the same command goes on with the move)", step, err)
}

// begin notes in the registry which step is made next. The cells alone decide by their own rows.
func (m *mover) begin(ctx context.Context, step Step) error {
	m.Say(step)
	_, err := m.registry.conn.Exec(ctx, `UPDATE iasql_cells.move SET step = $2, stepped = now() WHERE id = $1`, m.id,
		string(step))
	return err
}

// end closes the move in the registry, and notes where the account is.
func (m *mover) end(ctx context.Context, how Step) error {
	return pgx.BeginFunc(ctx, m.registry.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE iasql_cells.move SET step = $2, stepped = now(), ended = now() WHERE id = $1`,
			m.id, string(how)); err != nil || how == undone {
			return err
		}
		_, err := tx.Exec(ctx, `
			WITH gone AS (DELETE FROM iasql_cells.account WHERE cell = $1 AND name = $2 RETURNING kind, identity)
			INSERT INTO iasql_cells.account (cell, name, kind, identity) SELECT $3, $4, kind, identity FROM gone
			ON CONFLICT (cell, name) DO UPDATE SET kind = EXCLUDED.kind, identity = EXCLUDED.identity, seen = now()`,
			m.From, m.Account, m.To, m.As)
		return err
	})
}
