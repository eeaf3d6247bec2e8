package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// The model agrees with itself: scripts do not depend on chance.
func TestModel(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Store { return Model() })
	RunUndo(t, func(testing.TB) Store { return Model() })
	RunFlood(t, func(testing.TB) Store { return Model() })
}

// flawed is a store with a defect: each of the methods that it has takes the place
// of the model's.
type flawed struct {
	*simulate.Store
	begin   func(context.Context, store.Lease, decide.Intent) (int64, error)
	pull    func(context.Context, store.Lease, []store.Pull) ([]store.PullResult, error)
	due     func(context.Context, string, int64) ([]decide.RecordRef, []*decide.Subject, error)
	match   func(context.Context, *modules.Table, modules.Scope, []modules.Row) ([]store.Match, error)
	load    func(context.Context, *modules.Table, []int64) ([]*decide.Subject, error)
	finish  func(context.Context, store.Lease, []store.Outcome) error
	settle  func(context.Context, store.Lease, []store.Settlement) error
	intents func(context.Context, string, time.Duration) ([]*decide.Intent, []decide.Intent, error)
	update  func(context.Context, int, string, int64, modules.Row) (bool, error)
	remove  func(context.Context, int, string, int64) (bool, error)
	undo    func(context.Context, int) (bool, error)
	toDB    func(context.Context, *modules.Table, modules.Scope, []modules.Row) error
	pass    func(context.Context, time.Duration) error
}

func (f *flawed) Begin(ctx context.Context, l store.Lease, c decide.Intent) (int64, error) {
	if f.begin != nil {
		return f.begin(ctx, l, c)
	}
	return f.Store.Begin(ctx, l, c)
}

func (f *flawed) Pull(ctx context.Context, l store.Lease, p []store.Pull) ([]store.PullResult, error) {
	if f.pull != nil {
		return f.pull(ctx, l, p)
	}
	return f.Store.Pull(ctx, l, p)
}

func (f *flawed) Due(ctx context.Context, account string, batch int64) ([]decide.RecordRef, []*decide.Subject, error) {
	if f.due != nil {
		return f.due(ctx, account, batch)
	}
	return f.Store.Due(ctx, account, batch)
}

func (f *flawed) Update(ctx context.Context, slot int, table string, id int64, set modules.Row) (bool, error) {
	if f.update != nil {
		return f.update(ctx, slot, table, id, set)
	}
	return f.Store.Update(ctx, slot, table, id, set)
}

func (f *flawed) Delete(ctx context.Context, slot int, table string, id int64) (bool, error) {
	if f.remove != nil {
		return f.remove(ctx, slot, table, id)
	}
	return f.Store.Delete(ctx, slot, table, id)
}

func (f *flawed) RollbackBatch(ctx context.Context, slot int) (bool, error) {
	if f.undo != nil {
		return f.undo(ctx, slot)
	}
	return f.Store.RollbackBatch(ctx, slot)
}

func (f *flawed) Match(ctx context.Context, t *modules.Table, s modules.Scope,
	rows []modules.Row) ([]store.Match, error) {
	if f.match != nil {
		return f.match(ctx, t, s, rows)
	}
	return f.Store.Match(ctx, t, s, rows)
}

func (f *flawed) Load(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	if f.load != nil {
		return f.load(ctx, t, ids)
	}
	return f.Store.Load(ctx, t, ids)
}

func (f *flawed) Finish(ctx context.Context, l store.Lease, o []store.Outcome) error {
	if f.finish != nil {
		return f.finish(ctx, l, o)
	}
	return f.Store.Finish(ctx, l, o)
}

func (f *flawed) Settle(ctx context.Context, l store.Lease, s []store.Settlement) error {
	if f.settle != nil {
		return f.settle(ctx, l, s)
	}
	return f.Store.Settle(ctx, l, s)
}

func (f *flawed) Intents(ctx context.Context, account string, window time.Duration) ([]*decide.Intent,
	[]decide.Intent, error) {
	if f.intents != nil {
		return f.intents(ctx, account, window)
	}
	return f.Store.Intents(ctx, account, window)
}

func (f *flawed) ToDatabase(ctx context.Context, t *modules.Table, s modules.Scope, rows []modules.Row) error {
	if f.toDB != nil {
		return f.toDB(ctx, t, s, rows)
	}
	return f.Store.ToDatabase(ctx, t, s, rows)
}

func (f *flawed) Pass(ctx context.Context, d time.Duration) error {
	if f.pass != nil {
		return f.pass(ctx, d)
	}
	return f.Store.Pass(ctx, d)
}

// The suite finds defects that a store may have. Each is planted in the model.
func TestFindsDefects(t *testing.T) {
	t.Parallel()
	// newest is the lease that counts, for writes that do not look at theirs.
	newest := func(f *flawed, l store.Lease) store.Lease {
		for {
			l.Fence++
			if err := f.Store.Settle(t.Context(), l, nil); err == nil || l.Fence > 1000 {
				return l
			}
		}
	}
	for what, plant := range map[string]func(f *flawed){
		"Begin does not refuse TRACK": func(f *flawed) {
			f.begin = func(ctx context.Context, l store.Lease, c decide.Intent) (int64, error) {
				var dropped []modes.Rule
				for _, column := range append([]string{""}, columnNames(tableOf(c.Record.Table))...) {
					for {
						s, _ := f.Settings(ctx, l.Account)
						rule, _ := s.Rules.Explain(c.Record.Table, c.Record.ID, column)
						if rule.Mode != modes.Track {
							break
						}
						dropped = append(dropped, rule)
						_, _ = f.DropRule(ctx, rule)
					}
				}
				id, err := f.Store.Begin(ctx, l, c)
				for _, rule := range dropped {
					_, _ = f.AddRule(ctx, rule)
				}
				return id, err
			}
		},
		"Begin asks for the mode of the record where columns count": func(f *flawed) {
			f.begin = func(ctx context.Context, l store.Lease, c decide.Intent) (int64, error) {
				if s, err := f.Settings(ctx, l.Account); err == nil && c.Kind == decide.OpUpdate &&
					s.Rules.Of(c.Record.Table, c.Record.ID, "") == modes.Track {
					return 0, store.ErrRefused
				}
				return f.Store.Begin(ctx, l, c)
			}
		},
		"Begin under a lost lease": func(f *flawed) {
			f.begin = func(ctx context.Context, l store.Lease, c decide.Intent) (int64, error) {
				id, err := f.Store.Begin(ctx, l, c)
				if errors.Is(err, store.ErrLeaseLost) {
					return f.Store.Begin(ctx, newest(f, l), c)
				}
				return id, err
			}
		},
		"Begin ignores batches": func(f *flawed) {
			f.begin = func(ctx context.Context, l store.Lease, c decide.Intent) (int64, error) {
				for l.Batch = 0; l.Batch < 9; l.Batch++ {
					if id, err := f.Store.Begin(ctx, l, c); !errors.Is(err, store.ErrRefused) {
						return id, err
					}
				}
				return 0, store.ErrRefused
			}
		},
		"Finish under a lost lease": func(f *flawed) {
			f.finish = func(ctx context.Context, l store.Lease, o []store.Outcome) error {
				err := f.Store.Finish(ctx, l, o)
				if errors.Is(err, store.ErrLeaseLost) {
					return f.Store.Finish(ctx, newest(f, l), o)
				}
				return err
			}
		},
		"Finish forgets what a replacement leaves": func(f *flawed) {
			f.finish = func(ctx context.Context, l store.Lease, o []store.Outcome) error {
				o = slices.Clone(o)
				for i := range o {
					o[i].Replaces = o[i].Replaces && o[i].Kind != decide.OpCreate
				}
				return f.Store.Finish(ctx, l, o)
			}
		},
		"Finish takes a lost answer for a failure": func(f *flawed) {
			f.finish = func(ctx context.Context, l store.Lease, o []store.Outcome) error {
				o = slices.Clone(o)
				for i := range o {
					if o[i].Result == decide.ResultUnknown {
						o[i].Result = decide.ResultFailed
					}
				}
				return f.Store.Finish(ctx, l, o)
			}
		},
		"Pull ignores the version": func(f *flawed) {
			f.pull = func(ctx context.Context, l store.Lease, pulls []store.Pull) ([]store.PullResult, error) {
				pulls = slices.Clone(pulls)
				for i, p := range pulls {
					if p.Subject.Record == nil {
						continue
					}
					now, err := f.Store.Load(ctx, p.Subject.Table, []int64{p.Subject.RecordID})
					if err == nil && len(now) == 1 && now[0].Record != nil {
						s, r := *p.Subject, *p.Subject.Record
						r.Version, s.Record = now[0].Record.Version, &r
						pulls[i].Subject = &s
					}
				}
				return f.Store.Pull(ctx, l, pulls)
			}
		},
		"Pull settles all changes of a record": func(f *flawed) {
			f.pull = func(ctx context.Context, l store.Lease, pulls []store.Pull) ([]store.PullResult, error) {
				results, err := f.Store.Pull(ctx, l, pulls)
				for i := range results {
					if p := pulls[i]; results[i].Applied && p.Settle && p.Subject.RecordID != 0 {
						now, _ := f.Store.Load(ctx, p.Subject.Table, []int64{p.Subject.RecordID})
						for _, s := range now {
							_ = f.Store.Settle(ctx, l, []store.Settlement{{Subject: s, Settle: true}})
						}
					}
				}
				return results, err
			}
		},
		"Due leaves out the states": func(f *flawed) {
			f.due = func(ctx context.Context, account string, batch int64) ([]decide.RecordRef,
				[]*decide.Subject, error) {
				refs, deposed, err := f.Store.Due(ctx, account, batch)
				return slices.DeleteFunc(refs, func(r decide.RecordRef) bool {
					s, _ := f.Store.Load(ctx, tableOf(r.Table), []int64{r.ID})
					return len(s) == 1 && s[0].Change == nil
				}), deposed, err
			}
		},
		"Due knows no batches": func(f *flawed) {
			f.due = func(ctx context.Context, account string, batch int64) ([]decide.RecordRef,
				[]*decide.Subject, error) {
				_, deposed, err := f.Store.Due(ctx, account, batch)
				var all []decide.RecordRef
				for b := range int64(9) {
					refs, _, err := f.Store.Due(ctx, account, b)
					if err != nil {
						return nil, nil, err
					}
					all = append(all, refs...)
				}
				return all, deposed, err
			}
		},
		"Load does not tell of batches": func(f *flawed) {
			f.load = func(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
				list, err := f.Store.Load(ctx, t, ids)
				for _, s := range list {
					s.Batch = 0
				}
				return list, err
			}
		},
		"a rollback only lets go": func(f *flawed) { f.undo = f.Store.CloseBatch },
		"what others have staged can be updated": func(f *flawed) {
			f.update = func(ctx context.Context, slot int, table string, id int64, set modules.Row) (bool, error) {
				ok, err := f.Store.Update(ctx, slot, table, id, set)
				for other := 0; other < 3 && !ok && err == nil; other++ {
					if other != slot && !f.Store.Editing(other) {
						ok, err = f.Store.Update(ctx, other, table, id, set)
						if other != 0 {
							_, _ = f.Store.Commit(ctx, other)
						}
					}
				}
				return ok, err
			}
		},
		"what others have staged can be deleted": func(f *flawed) {
			f.remove = func(ctx context.Context, slot int, table string, id int64) (bool, error) {
				ok, err := f.Store.Delete(ctx, slot, table, id)
				for other := 0; other < 3 && !ok && err == nil; other++ {
					if other != slot && !f.Store.Editing(other) {
						ok, err = f.Store.Delete(ctx, other, table, id)
						if other != 0 {
							_, _ = f.Store.Commit(ctx, other)
						}
					}
				}
				return ok, err
			}
		},
		"Match misses a pending deletion": func(f *flawed) {
			f.match = func(ctx context.Context, t *modules.Table, s modules.Scope,
				rows []modules.Row) ([]store.Match, error) {
				found, err := f.Store.Match(ctx, t, s, rows)
				for i := range found {
					found[i].Pending = found[i].Pending && found[i].Record != nil
				}
				return found, err
			}
		},
		"Match misses what a state names": func(f *flawed) {
			f.match = func(ctx context.Context, t *modules.Table, s modules.Scope,
				rows []modules.Row) ([]store.Match, error) {
				found, err := f.Store.Match(ctx, t, s, rows)
				for i := range found {
					found[i].Remembered = found[i].Remembered && found[i].Record != nil
				}
				return found, err
			}
		},
		"Match does not look at the region": func(f *flawed) {
			f.match = func(ctx context.Context, t *modules.Table, s modules.Scope,
				rows []modules.Row) ([]store.Match, error) {
				if t.Reach == modules.PerRegion {
					s.Region = simulate.Regions()[0]
				}
				return f.Store.Match(ctx, t, s, rows)
			}
		},
		"Load makes nobody wait": func(f *flawed) {
			f.load = func(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
				loaded, err := f.Store.Load(ctx, t, ids)
				for _, s := range loaded {
					if s.State != nil {
						s.State.Due = true
					}
				}
				return loaded, err
			}
		},
		"Load does not know what a person has decided": func(f *flawed) {
			f.load = func(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
				loaded, err := f.Store.Load(ctx, t, ids)
				for _, s := range loaded {
					if s.State != nil {
						s.State.Resolution = ""
					}
				}
				return loaded, err
			}
		},
		"Load shows the newest value as base": func(f *flawed) {
			f.load = func(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
				loaded, err := f.Store.Load(ctx, t, ids)
				for _, s := range loaded {
					if s.Change != nil && s.Record != nil {
						for name := range s.Change.Base {
							s.Change.Base[name] = s.Record.Row[name]
						}
					}
				}
				return loaded, err
			}
		},
		"Settle keeps the states": func(f *flawed) {
			f.settle = func(ctx context.Context, l store.Lease, list []store.Settlement) error {
				list = slices.Clone(list)
				for i := range list {
					list[i].Forget = list[i].Forget && list[i].Subject.Deposed
				}
				return f.Store.Settle(ctx, l, list)
			}
		},
		"Settle loses conflicts": func(f *flawed) {
			f.settle = func(ctx context.Context, l store.Lease, list []store.Settlement) error {
				list = slices.Clone(list)
				for i := range list {
					list[i].Conflicts = nil
				}
				return f.Store.Settle(ctx, l, list)
			}
		},
		"Intents leaves out what is unsure": func(f *flawed) {
			f.intents = func(ctx context.Context, account string, window time.Duration) ([]*decide.Intent,
				[]decide.Intent, error) {
				recent, open, err := f.Store.Intents(ctx, account, window)
				return slices.DeleteFunc(recent, (*decide.Intent).Unsure), open, err
			}
		},
		"Intents in doubt are too early expired": func(f *flawed) {
			f.intents = func(ctx context.Context, account string, window time.Duration) ([]*decide.Intent,
				[]decide.Intent, error) {
				recent, open, err := f.Store.Intents(ctx, account, window)
				for i := range open {
					open[i].Expired = true
				}
				return recent, open, err
			}
		},
		"Due makes no deposed object wait": func(f *flawed) {
			f.due = func(ctx context.Context, account string, batch int64) ([]decide.RecordRef,
				[]*decide.Subject, error) {
				refs, deposed, err := f.Store.Due(ctx, account, batch)
				for _, s := range deposed {
					s.State.Due = true
				}
				return refs, deposed, err
			}
		},
		"ToDatabase takes what is on its way out for a record": func(f *flawed) {
			f.toDB = func(ctx context.Context, t *modules.Table, s modules.Scope, rows []modules.Row) error {
				err := f.Store.ToDatabase(ctx, t, s, rows)
				for _, r := range rows {
					for name, v := range r {
						if v.IsOutgoing() {
							r[name] = modules.Int(v.Int())
						}
					}
				}
				return err
			}
		},
		"time stands still": func(f *flawed) {
			f.pass = func(context.Context, time.Duration) error { return nil }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			const most = 4000
			open := func() Store {
				f := &flawed{Store: simulate.NewStore()}
				plant(f)
				return f
			}
			for i := range uint64(most) {
				d, err := Play(t.Context(), Model, open, Script(i))
				if err != nil {
					t.Fatal(err)
				}
				if d != nil {
					d = Shrink(t.Context(), Model, open, d)
					t.Logf("script %d shows it; shrunk to %d steps: %s", i, len(d.Script), d.What)
					return
				}
			}
			t.Errorf("%d scripts have not shown it", most)
		})
	}
}
