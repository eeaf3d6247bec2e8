package sync

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"iasql/internal/modules"
)

// pullAndSettle carries out the database part of decisions: it writes records,
// marks changes as settled, and remembers or forgets states. It reports
// whether any record or change was written.
func (c *cycle) pullAndSettle(ctx context.Context, steps []Step) (bool, error) {
	var (
		pulls  []Pull
		owners []Step
		rest   []Settlement
	)
	for _, step := range steps {
		s, d := step.Subject, step.Decision
		switch {
		case d.Action == InsertRecord || d.Action == UpdateRecord || d.Action == DeleteRecord:
			pulls = append(pulls, Pull{Subject: s, Action: d.Action, Row: d.Pull, Settle: d.Settle, Conflicts: d.Conflicts})
			owners = append(owners, step)
			continue
		case len(d.Pull) > 0 && s.Record != nil:
			// What is overwritten is kept in the same transaction; the conflicts
			// of what is pushed are noted below, whether or not this is applied.
			kept, pushed := d.splitConflicts()
			pulls = append(pulls, Pull{Subject: s, Action: UpdateRecord, Row: d.Pull, Conflicts: kept})
			owners = append(owners, step)
			d.Conflicts = pushed
		}
		if settlement, needed := c.settlement(s, d); needed {
			rest = append(rest, settlement)
		}
	}
	// Deletions children first, everything else parents first.
	order := make([]int, len(pulls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		ra, rb := c.rank[pulls[a].Subject.Table.Name], c.rank[pulls[b].Subject.Table.Name]
		da, db := pulls[a].Action == DeleteRecord, pulls[b].Action == DeleteRecord
		switch {
		case da != db && da:
			return 1
		case da != db:
			return -1
		case da:
			return rb - ra
		}
		return ra - rb
	})
	sorted := make([]Pull, len(pulls))
	for i, at := range order {
		sorted[i] = pulls[at]
	}
	wrote := false
	if len(sorted) > 0 {
		results, err := c.Database.Pull(ctx, c.lease, sorted)
		if err != nil {
			return false, fmt.Errorf("write records: %w", err)
		}
		for i, result := range results {
			s := sorted[i].Subject
			switch {
			case result.Err != nil:
				failure := result.Err
				if s.RecordID == 0 { // no record whose state could say so
					key, _ := s.Table.Key(s.Object)
					failure = &ObjectError{Object: strings.ReplaceAll(key, "\x1f", " "), Err: failure}
				}
				c.report.fail(s.Ref(), s.Scope, failure)
				// While it backs off it says so already, and a decision that waits has
				// a state of its own (R12).
				waits := owners[order[i]].Decision.Wait && owners[order[i]].Decision.State != ""
				if s.RecordID != 0 && !waits && (s.due() || s.State.Code != codeDatabase) {
					rest = append(rest, c.pullFailed(s, sorted[i].Action, result.Err))
				}
			case !result.Applied && sorted[i].Action == InsertRecord && s.RecordID != 0 && s.due():
				// (Other skipped pulls come again with the next change or listing.)
				rest = append(rest, c.notInserted(s))
			case result.Applied:
				wrote = true
				c.report.count(func(r *Report) { r.Pulled++ })
			}
		}
	}
	if len(rest) > 0 {
		if err := c.Database.Settle(ctx, c.lease, rest); err != nil {
			return wrote, fmt.Errorf("settle: %w", err)
		}
		for _, settlement := range rest {
			if settlement.Settle {
				wrote = true
				c.report.count(func(r *Report) { r.Settled++ })
			}
		}
	}
	return wrote, nil
}

// splitConflicts separates the conflicts whose value in the database is
// overwritten from the others.
func (d *Decision) splitConflicts() (pulled, others []Conflict) {
	for _, c := range d.Conflicts {
		if c.PulledAnyway {
			pulled = append(pulled, c)
		} else {
			others = append(others, c)
		}
	}
	return pulled, others
}

// codeDatabase is the code of a state that says that the database refused what
// the cloud has.
const codeDatabase = "database"

// pullFailed remembers that the database refused what the cloud has.
func (c *cycle) pullFailed(s *Subject, action Action, err error) Settlement {
	st := State{Name: StateUpdatingFailed, Review: true, Code: codeDatabase,
		Message: "the cloud's value does not fit the table: " + message(err)}
	if action == DeleteRecord {
		st.Message = "the object is gone from the cloud, and its record cannot be deleted: " + message(err)
	}
	if s.State != nil {
		st.Attempts = s.State.Attempts
	}
	st.Attempts++
	if modules.ClassOf(err) == modules.Dependency {
		st.Name, st.Review, st.Message = StateWaiting, false, "waits to be deleted: "+message(err)
		st.Backoff = c.backoff(st.Attempts, nil)
		return Settlement{Subject: s, State: s.remember(st)}
	}
	st.Message += fmt.Sprintf("; then SELECT iasql_retry('%s', %d)", s.Table.Name, s.RecordID)
	// A constraint may be dropped at any time, and nobody would tell us.
	st.Backoff = max(c.backoff(st.Attempts, err), time.Minute/2)
	return Settlement{Subject: s, State: s.remember(st)}
}

// notInserted remembers that a deleted record could not be brought back: another
// record has its identity, or a change of one that had it is not settled yet.
func (c *cycle) notInserted(s *Subject) Settlement {
	st := State{Name: StateWaiting, Message: "waits for changes of another record with the same identity"}
	if s.State != nil {
		st.Attempts = s.State.Attempts
	}
	st.Attempts++
	st.Backoff = c.backoff(st.Attempts, nil)
	return Settlement{Subject: s, State: s.remember(st)}
}

// settlement returns what a decision leaves behind besides pulls and
// operations, and whether that is anything.
func (c *cycle) settlement(s *Subject, d Decision) (Settlement, bool) {
	out := Settlement{Subject: s, Settle: d.Settle, Conflicts: d.Conflicts}
	switch {
	case d.Wait && d.State != "" && s.State != nil && s.State.Name == d.State && !s.State.Due:
		return out, false // it says so already, and its time has not come
	case d.Wait && d.State != "":
		out.State = c.waitingState(s, d)
	case d.Settle:
		return out, s.Change != nil || s.State != nil || s.Garbage || len(d.Conflicts) > 0
	case d.Action.Pushes():
		if s.State != nil && !s.State.Due {
			return out, false // backing off
		}
		out.Keep = true // until the operation ends
		return out, len(d.Conflicts) > 0
	default:
		return out, false
	}
	return out, s.RecordID != 0 || s.Garbage
}

// waitingState returns what to remember of a record that cannot be dealt with
// now.
func (c *cycle) waitingState(s *Subject, d Decision) *State {
	st := State{Name: d.State, Message: d.Reason, Review: d.Review}
	if s.State != nil {
		st.Attempts = s.State.Attempts
	}
	st.Attempts++
	var cause error
	if s.Fault != nil {
		cause = s.Fault
		st.Message, st.Review = message(s.Fault), true
	}
	if !d.Review {
		st.Backoff = c.backoff(st.Attempts, cause)
	}
	return s.remember(st)
}

// settleWaiting remembers what waits for what.
func (c *cycle) settleWaiting(ctx context.Context, waiting []Waiting) error {
	if len(waiting) == 0 {
		return nil
	}
	list := make([]Settlement, 0, len(waiting))
	for _, w := range waiting {
		if w.Subject.RecordID == 0 || w.Subject.Follows && w.Subject.Change == nil && w.Subject.State == nil {
			continue // it is as it should be until what it follows moves
		}
		st := State{Name: StateWaiting, Message: w.Reason}
		if w.Subject.State != nil {
			st.Attempts = w.Subject.State.Attempts
		}
		st.Attempts++
		st.Backoff = c.backoff(st.Attempts, nil)
		list = append(list, Settlement{Subject: w.Subject, State: w.Subject.remember(st)})
	}
	if err := c.Database.Settle(ctx, c.lease, list); err != nil {
		return fmt.Errorf("remember what waits: %w", err)
	}
	return nil
}
