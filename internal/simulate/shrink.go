package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Run plays the schedule of a seed. A violation is returned as an error that
// holds the smallest schedule found that still breaks the same rule, and what
// happened in it.
func Run(seed uint64) error {
	s := NewSchedule(seed)
	err := Play(s)
	if err == nil {
		return nil
	}
	small := shrink(s, err)
	var history strings.Builder
	again := play(small, &history)
	if again == nil {
		return fmt.Errorf("seed %d: %w; played again, it is not seen\n%s\n%s", seed, err, small, history.String())
	}
	return fmt.Errorf("seed %d: %w\n%s\n%s", seed, again, small, history.String())
}

func rule(err error) string {
	var v *Violation
	if errors.As(err, &v) {
		return v.Rule
	}
	return ""
}

// shrink leaves out of a schedule whatever it fails without (after Zeller and
// Hildebrandt's delta debugging, with parts of 1 at last).
func shrink(s *Schedule, why error) *Schedule {
	best := s
	fails := func(c *Schedule) bool {
		err := Play(c)
		return err != nil && rule(err) == rule(why)
	}
	for changed := true; changed; {
		changed = false
		for size := max(1, len(best.Actions)/2); size >= 1; size /= 2 {
			for from := 0; from < len(best.Actions); {
				c := *best
				c.Actions = slices.Delete(slices.Clone(best.Actions), from, min(from+size, len(best.Actions)))
				if fails(&c) {
					best, changed = &c, true
				} else {
					from += size
				}
			}
		}
		for i := range best.Actions {
			for _, simpler := range simplify(best.Actions[i]) {
				c := *best
				c.Actions = slices.Clone(best.Actions)
				c.Actions[i] = simpler
				if fails(&c) {
					best, changed = &c, true
					break
				}
			}
		}
		for best.Rows > 0 {
			c := *best
			c.Rows--
			if !fails(&c) {
				break
			}
			best, changed = &c, true
		}
	}
	return best
}

// simplify returns variants of an action in which less happens.
func simplify(a Action) []Action {
	var list []Action
	if a.Faults > 0 {
		b := a
		b.Faults = 0
		list = append(list, b)
	}
	if a.Stale > 0 {
		b := a
		b.Stale = 0
		list = append(list, b)
	}
	if a.Region != "" {
		b := a
		b.Region = ""
		list = append(list, b)
	}
	if a.Open {
		b := a
		b.Open = false
		list = append(list, b)
	}
	for i := range a.Inject {
		b := a
		b.Inject = slices.Delete(slices.Clone(a.Inject), i, i+1)
		list = append(list, b)
		for _, in := range simplify(a.Inject[i]) {
			b := a
			b.Inject = slices.Clone(a.Inject)
			b.Inject[i] = in
			list = append(list, b)
		}
	}
	return list
}
