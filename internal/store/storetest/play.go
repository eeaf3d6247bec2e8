package storetest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

var (
	scripts = flag.Int("scripts", 200, "random scripts that a store plays against the model")
	most    = flag.Int("differences", 1, "differences to find before the test ends")
	seed    = flag.Uint64("seed", 1, "seed of the first script")
)

// Run compares stores with the model. open returns an empty one for each script;
// only one is open at a time.
func Run(t *testing.T, open func(testing.TB) Store) {
	t.Helper()
	begun, steps, found := time.Now(), 0, 0
	for i := range *scripts {
		script := Script(*seed + uint64(i))
		d, err := Play(t.Context(), Model, func() Store { return open(t) }, script)
		if err != nil {
			t.Fatalf("seed %d: %v", *seed+uint64(i), err)
		}
		if d != nil {
			t.Errorf("seed %d: %v", *seed+uint64(i), Shrink(t.Context(), Model, func() Store { return open(t) }, d))
			if found++; found >= *most {
				return
			}
		}
		steps += len(script)
	}
	took := time.Since(begun).Seconds()
	t.Logf("%d scripts of %d steps in %.1f s: %.0f scripts, %.0f steps a second", *scripts, steps, took,
		float64(*scripts)/took, float64(steps)/took)
}

// Difference is a step to which the two stores give different answers.
type Difference struct {
	Script []Step
	// What of the answer differs, and both answers.
	What, Model, Subject string
	History              string
}

// Error returns the script, what it did, and both answers.
func (d *Difference) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the stores differ in: %s\nmodel:   %s\nsubject: %s\nafter\n%s\nthe script:\n", d.What, d.Model,
		d.Subject, d.History)
	for _, s := range d.Script {
		fmt.Fprintf(&b, "\t%s,\n", s)
	}
	return b.String()
}

// Play plays a script on two stores and returns the first difference. Its error
// says that it could not be played.
func Play(ctx context.Context, openModel, openSubject func() Store, script []Step) (d *Difference, err error) {
	p := &player{ctx: ctx, m: openModel(), s: openSubject(), ids: map[string]*names{}, audit: newNames()}
	defer p.m.Close()
	defer p.s.Close()
	at := 0
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Difference:
			r.Script, r.History = script[:min(at+1, len(script))], p.history.String()
			d = r
		case cannot:
			err = fmt.Errorf("%w\nafter\n%s", r.error, p.history.String())
		default:
			d = &Difference{Script: script[:min(at+1, len(script))], What: "panic",
				Subject: fmt.Sprintf("%v\n%s", r, debug.Stack()), History: p.history.String()}
		}
	}()
	for ; at < len(script); at++ {
		p.step = at
		actionOf[script[at].Do].play(p, rand.New(rand.NewPCG(script[at].Seed, 88)))
	}
	p.everything()
	return nil, nil
}

// Shrink leaves out of a script whatever it shows a difference without, and
// returns the difference that the smallest one shows.
func Shrink(ctx context.Context, openModel, openSubject func() Store, found *Difference) *Difference {
	best := found
	shows := func(script []Step) bool {
		d, err := Play(ctx, openModel, openSubject, script)
		if err != nil || d == nil {
			return false
		}
		best = d
		return true
	}
	for size := max(1, len(best.Script)/2); size >= 1; size /= 2 {
		for from := 0; from < len(best.Script); {
			script := slices.Delete(slices.Clone(best.Script), from, min(from+size, len(best.Script)))
			if !shows(script) {
				from += size
			}
		}
	}
	for i := 0; i < len(best.Script); i++ { // plainer choices, and what they make superfluous
		for simpler := range uint64(4) {
			if simpler >= best.Script[i].Seed {
				break
			}
			script := slices.Clone(best.Script)
			script[i].Seed = simpler
			if shows(script) {
				break
			}
		}
	}
	for from := 0; from < len(best.Script); {
		if !shows(slices.Delete(slices.Clone(best.Script), from, from+1)) {
			from++
		}
	}
	return best
}

// pair is the same on both sides.
type pair[T any] struct{ m, s T }

// player plays a script. What it remembers of both sides it remembers in pairs.
type player struct {
	ctx     context.Context
	m, s    Store
	step    int
	history strings.Builder

	ids      map[string]*names // of records, by table
	audit    *names
	leases   []pair[store.Lease]
	batches  []pair[int64]
	entries  []entry                 // of the intent log
	seen     []pair[*decide.Subject] // what Load has returned, in that order
	left     []pair[*decide.Subject] // what Due has besides
	rules    []modes.Rule
	version  pair[string] // of the rules, as they were read last
	open     [3]bool      // transactions
	explicit int64
}

// entry is an entry of the intent log.
type entry struct {
	id     pair[int64]
	intent decide.Intent // as the model knows it
}

// cannot is why a script could not be played.
type cannot struct{ error }

func (p *player) must(err error) {
	if err != nil {
		panic(cannot{err})
	}
}

// does tells what the step does, in the model's terms.
func (p *player) does(format string, args ...any) {
	fmt.Fprintf(&p.history, "%3d %s\n", p.step, fmt.Sprintf(format, args...))
}

// says tells what both have answered.
func (p *player) says(format string, args ...any) {
	fmt.Fprintf(&p.history, "      %s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n      "))
}

// compare compares a part of an answer.
func (p *player) compare(what string, m, s any) {
	a, b := fmt.Sprint(m), fmt.Sprint(s)
	if a != b {
		panic(&Difference{What: what, Model: a, Subject: b})
	}
	p.says("%s: %s", what, a)
}

// errs compares the classes of two errors, and returns whether both are nil. What
// the error says is added for people.
func (p *player) errs(m, s error) bool {
	if a, b := class(m), class(s); a != b {
		panic(&Difference{What: "the error's class", Model: fmt.Sprint(a, ": ", m), Subject: fmt.Sprint(b, ": ", s)})
	}
	if m != nil {
		p.says("%s", class(m))
	}
	return m == nil
}

// known returns the ids of all records a table has or had, as the model names
// them.
func (p *player) known(table string) []int64 {
	var ids []int64
	for id := range p.ofTable(table).toSubject {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// rows returns the model's records of a table.
func (p *player) rows(table string) []*decide.Record {
	list, err := p.m.Rows(p.ctx, table)
	p.must(err)
	return list
}

// toSubject translates a row in database terms for the subject.
func (p *player) toSubject(t *modules.Table, row modules.Row) modules.Row {
	if row == nil {
		return nil
	}
	out := row.Clone()
	for name, v := range row {
		out[name] = p.valueToSubject(t, name, v)
	}
	return out
}

func (p *player) valueToSubject(t *modules.Table, column string, v modules.Value) modules.Value {
	c := t.Column(column)
	if c == nil || c.References == nil || v.IsNull() {
		return v
	}
	id := p.ofTable(c.References.Table).subject(v.Int())
	switch {
	case v.IsOutgoing():
		return modules.Outgoing(id)
	case c.Holds(v):
		return modules.Int(id)
	}
	return v
}

func tableOf(name string) *modules.Table {
	for _, t := range simulate.Tables() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func columnNames(t *modules.Table) []string {
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		list[i] = t.Columns[i].Name
	}
	return list
}

// key picks the identity of an object, from a few, so that they meet.
func (p *player) key(rng *rand.Rand, t *modules.Table) modules.Value {
	if !t.ComputedIdentity() {
		return simulate.Value(t.Identity()[0], rng.IntN(100))
	}
	return modules.Text(t.Name + "-" + string(rune('a'+rng.IntN(4))))
}

func (p *player) region(rng *rand.Rand) string {
	if chance(rng, 0.8) {
		return simulate.Regions()[0]
	}
	return pick(rng, simulate.Regions())
}

func (p *player) scope(rng *rand.Rand, t *modules.Table) modules.Scope {
	s := modules.Scope{Account: simulate.Account}
	if chance(rng, 0.02) {
		s.Account = "stranger"
	}
	if t.Reach == modules.PerRegion {
		s.Region = p.region(rng)
	}
	return s
}

func chance(rng *rand.Rand, p float64) bool { return rng.Float64() < p }

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
