package sync

import (
	"context"
	"fmt"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// pull carries out the database part of decisions: it writes records, marks changes
// as settled, and remembers or forgets states. It reports whether any record or
// change was written.
func (c *cycle) pull(ctx context.Context, steps []decide.Step) (wrote bool, err error) {
	ctx, end := c.span(ctx, "pull", &err)
	defer end()
	var pulls []pullStep
	var rest []store.Settlement
	for _, step := range steps {
		s, d := step.Subject, step.Decision
		switch {
		case d.Action == decide.InsertRecord || d.Action == decide.UpdateRecord || d.Action == decide.DeleteRecord:
			pulls = append(pulls, pullStep{store.Pull{Subject: s, Action: d.Action, Row: d.Pull, Settle: d.Settle,
				Conflicts: d.Conflicts}, d})
			continue
		case len(d.Pull) > 0 && s.Record != nil:
			// What is overwritten is kept in the same transaction; the conflicts
			// of what is pushed are noted below, whether or not this is applied.
			kept, pushed := d.SplitConflicts()
			pulls = append(pulls, pullStep{store.Pull{Subject: s, Action: decide.UpdateRecord, Row: d.Pull,
				Conflicts: kept}, d})
			d.Conflicts = pushed
		}
		if settlement, needed := c.settlement(s, d); needed {
			rest = append(rest, settlement)
		}
	}
	if len(pulls) > 0 {
		c.order(pulls)
		refused, applied, err := c.write(ctx, pulls, rest)
		if err != nil {
			return false, err
		}
		rest, wrote = append(rest, refused...), applied
	}
	settled, err := c.settle(ctx, rest)
	return wrote || settled, err
}

// pullStep is a pull, and the decision that asks for it.
type pullStep struct {
	store.Pull
	decision decide.Decision
}

// order puts deletions children first, everything else parents first and before.
func (c *cycle) order(pulls []pullStep) {
	slices.SortStableFunc(pulls, func(a, b pullStep) int {
		ra, rb := c.catalog.rank[a.Subject.Table.Name], c.catalog.rank[b.Subject.Table.Name]
		da, db := a.Action == decide.DeleteRecord, b.Action == decide.DeleteRecord
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
}

// write writes records. It returns what is to be remembered of those that the
// database refuses, and whether any was written. What is to be remembered anyhow, because
// the decision waits, says so as well.
func (c *cycle) write(ctx context.Context, pulls []pullStep, waiting []store.Settlement) (refused []store.Settlement,
	wrote bool, err error) {
	list := make([]store.Pull, len(pulls))
	for i := range pulls {
		list[i] = pulls[i].Pull
	}
	results, err := c.Store.Pull(ctx, c.lease, list)
	if err != nil {
		return nil, false, fmt.Errorf("write records: %w", err)
	}
	for i, result := range results {
		p := pulls[i]
		s := p.Subject
		switch {
		case result.Err != nil:
			c.report.fail(s.Ref(), s.Scope, refusal(s, result.Err))
			// While it backs off it says so already, or something else that is in its
			// way (R12).
			if p.decision.Wait && p.decision.State != "" {
				for n := range waiting {
					if waiting[n].Subject == s && waiting[n].State != nil {
						waiting[n].State = s.PullRefusedToo(waiting[n].State, result.Err, c.jitter)
					}
				}
			} else if s.RecordID != 0 && s.Due() {
				refused = append(refused, store.Settlement{Subject: s,
					State: s.PullRefused(p.Action, result.Err, c.jitter)})
			}
		case !result.Applied && p.Action == decide.InsertRecord && s.RecordID != 0 && s.Due():
			// The next change or listing repeats the other skipped pulls.
			refused = append(refused, store.Settlement{Subject: s, State: s.NotInserted(c.jitter)})
		case result.Applied:
			wrote = true
			if p.decision.Action.Pushes() {
				pulled(s, p.Row)
			}
			c.report.count(func(r *store.Report) { r.Pulled++ })
		}
	}
	return refused, wrote, nil
}

// pulled notes in the record what was just pulled, so that what is pushed besides is as the
// row is now: a successor gets what its predecessor has.
func pulled(s *decide.Subject, row modules.Row) {
	for name, v := range row {
		if c := s.Table.Column(name); !c.WriteOnly && !c.Computed && c.References == nil {
			s.Record.Row[name] = v
		}
	}
}

// refusal returns the error of a subject that the database refuses. Where there is
// no record, whose state could say so, it names the object.
func refusal(s *decide.Subject, err error) error {
	if s.RecordID != 0 {
		return err
	}
	return &ObjectError{Object: spelled(s), Err: err}
}

// settlement returns what a decision leaves behind besides pulls and
// operations, and whether that is anything.
func (c *cycle) settlement(s *decide.Subject, d decide.Decision) (store.Settlement, bool) {
	out := store.Settlement{Subject: s, Settle: d.Settle, Conflicts: d.Conflicts}
	switch {
	case d.Wait && d.State != "" && !s.Due() && s.State.Name == d.State && (d.Code == "" || s.State.Says(d.Reason)) &&
		!(d.Settle && s.Change != nil):
		return out, false // it says so already, and its time has not come
	case d.Wait && d.State != "":
		out.State = s.Waiting(d, c.jitter)
		return out, s.RecordID != 0 || s.Deposed
	case d.Settle:
		out.Forget = true
		return out, s.Change != nil || s.State != nil || s.Deposed || len(d.Conflicts) > 0
	case d.Action.Pushes(): // what is remembered stays until the operation ends
		return out, s.Due() && len(d.Conflicts) > 0
	}
	return out, false
}
