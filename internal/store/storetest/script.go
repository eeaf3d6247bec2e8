package storetest

import (
	"fmt"
	"math/rand/v2"
)

// Step is one step of a script. What it acts on is chosen when it is played,
// from Seed and among what there is by then: a script still means something when
// parts of it are left out.
type Step struct {
	Do   string
	Seed uint64
}

// action is a kind of step.
type action struct {
	do     string
	weight int
	play   func(*player, *rand.Rand)
}

// actions are all kinds of steps. Each method of the contract has one.
var actions = []action{
	{"ALTER TABLE", 0, (*player).constrain}, // first, or not at all
	{"INSERT", 16, (*player).insert},
	{"UPDATE", 12, (*player).update},
	{"DELETE", 7, (*player).remove},
	{"COMMIT", 5, (*player).commit},
	{"ROLLBACK", 2, (*player).rollback},
	{"INSERT iasql_mode", 4, (*player).addRule},
	{"DELETE iasql_mode", 2, (*player).dropRule},
	{"UPDATE iasql_settings", 3, (*player).set},
	{"iasql_protect", 3, (*player).protect},
	{"iasql_begin", 4, (*player).openBatch},
	{"close batch", 1, (*player).closeBatch},
	{"iasql_rollback", 2, (*player).rollbackBatch},
	{"a commit begins", 2, (*player).beginCommit},
	{"a commit is undone", 3, (*player).revertBatch},
	{"UPDATE iasql_conflicts", 3, (*player).decide},
	{"iasql_retry", 2, (*player).retry},
	{"time passes", 4, (*player).pass},

	{"take over", 2, (*player).take},
	{"Regions", 1, (*player).regions},
	{"Settings", 3, (*player).settings},
	{"Match", 6, (*player).match},
	{"Keys", 2, (*player).keys},
	{"Due", 6, (*player).due},
	{"Load", 14, (*player).load},
	{"Found", 2, (*player).foundLately},
	{"Dependents", 2, (*player).dependents},
	{"Count", 1, (*player).count},
	{"Creations", 1, (*player).creations},
	{"ToDatabase", 5, (*player).toDatabase},
	{"ToCloud", 4, (*player).toCloud},
	{"Intents", 8, (*player).intents},
	{"Begin", 8, (*player).begin},
	{"Finish", 8, (*player).finish},
	{"Finish in recovery", 3, (*player).recovery},
	{"Pull", 14, (*player).pull},
	{"Settle", 10, (*player).settle},
	{"Listings", 2, (*player).listings},
	{"Listed", 3, (*player).listed},
	{"Imported", 1, (*player).imported},
	{"an event comes", 5, (*player).tell},
	{"Hints", 3, (*player).hints},
	{"Named", 3, (*player).named},
	{"Looked", 3, (*player).looked},
}

var actionOf = func() map[string]action {
	m := map[string]action{}
	for _, a := range actions {
		m[a.do] = a
	}
	return m
}()

// Script makes the script of a seed.
func Script(seed uint64) []Step {
	rng := rand.New(rand.NewPCG(seed, 8))
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	var steps []Step
	if rng.IntN(3) == 0 {
		steps = append(steps, Step{"ALTER TABLE", 0})
	}
	steps = append(steps, Step{"take over", rng.Uint64()})
	for range 3 + rng.IntN(6) { // so that there is something to act on
		steps = append(steps, Step{"INSERT", rng.Uint64()})
	}
	for range 10 + rng.IntN(60) {
		at := rng.IntN(total)
		for _, a := range actions {
			if at -= a.weight; at < 0 {
				steps = append(steps, Step{a.do, rng.Uint64()})
				break
			}
		}
	}
	return steps
}

// String returns the step as Go, for a test that is to keep it.
func (s Step) String() string { return fmt.Sprintf("{%q, %d}", s.Do, s.Seed) }
