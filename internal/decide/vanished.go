package decide

import (
	"cmp"
	"fmt"
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// What the guard says of records that are gone: R28. An empty answer, another account's or one of an emulator that
// was started anew looks like a cloud from which everything was deleted. Where so much is gone at once that the
// limits of R7 would stop the engine from deleting it, the engine does not believe it before a person does.

// CodeVanished is the code of the state of a record whose object is gone together with so many others that a person
// is asked. It stays until the object is seen again, or the person has answered.
const CodeVanished = "vanished"

// vanished reports whether a person is asked about the record, or has been and has answered.
func (s *Subject) vanished() bool { return s.State != nil && s.State.Code == CodeVanished }

// decideVanished: a record whose object is proven gone, about which a person is asked; d deletes it.
func decideVanished(s *Subject, d Decision, mode modes.Mode) Decision {
	switch s.resolution() {
	case "cloud":
		return d
	case "database":
		if !mode.CloudWins() {
			return createOrRefuse(s, StateCreating, "said to be wanted although it is gone")
		}
	}
	return d.AsksVanished(s.State.Message)
}

// AsksVanished turns the deletion of a record into a question.
func (d Decision) AsksVanished(why string) Decision {
	return Decision{Wait: true, State: StateConflict, Review: true, Code: CodeVanished, Reason: why,
		Held: &Held{Why: HeldAsk, Action: DeleteRecord}, Conflicts: []Conflict{{Open: true, Drift: true}}}
}

// Gone counts the records that a cycle deletes since their objects are gone.
type Gone map[GonePlace]int

// GonePlace is a table in a scope.
type GonePlace struct {
	Table string
	Scope modules.Scope
}

func (p GonePlace) String() string { return fmt.Sprintf("%s in %s", p.Table, p.Scope) }

// Unasked reports whether a step deletes a record for no better reason than that reads do not find its object:
// neither has a person said so, nor has the cloud shown the object as going, nor has this engine deleted what
// it belonged to.
func (step *Step) Unasked() bool {
	s := step.Subject
	return step.Decision.Action == DeleteRecord && s.RecordID != 0 && s.resolution() != "cloud" && !s.Cascaded &&
		!s.WentAway
}

// Add counts what steps delete.
func (g Gone) Add(steps []Step) {
	for i := range steps {
		if s := steps[i].Subject; steps[i].Unasked() {
			g[GonePlace{s.Table.Name, s.Scope}]++
		}
	}
}

// vanishedPlace is how many records a place has to have had for a person to be asked when none of them is left, however
// few deletions the ratio is not looked at: an answer that shows nothing is the likeliest of those that are wrong.
const vanishedPlace = 3

// Guard is R28: it returns why so much is gone that a person has to say so, "" if it is not. has tells how many
// records there are in a place; left is how many of those that are gone are no longer among them.
func (g Gone) Guard(limits DeleteLimits, left Gone, has func(GonePlace) int) string {
	all := 0
	for _, n := range g {
		all += n
	}
	if all == 0 {
		return ""
	}
	if all > limits.Max {
		return fmt.Sprintf("%d records are gone from the cloud at once, more than max_deletes (%d)", all, limits.Max)
	}
	places := make([]GonePlace, 0, len(g))
	for at := range g {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b GonePlace) int {
		return cmp.Compare(a.String(), b.String())
	})
	had := 0
	for _, at := range places {
		here := has(at) + left[at]
		had += here
		if n := g[at]; n == here && n >= vanishedPlace && limits.Ratio < 1 {
			return fmt.Sprintf("all %d records of %s are gone from the cloud at once", n, at)
		}
		if n := g[at]; n >= limits.Floor && float64(n) > limits.Ratio*float64(here) {
			return fmt.Sprintf("%d of %d records of %s are gone from the cloud at once, more than "+
				"max_delete_ratio (%g)",
				n, here, at, limits.Ratio)
		}
	}
	if all >= limits.Floor && float64(all) > limits.Ratio*float64(had) {
		return fmt.Sprintf("%d of %d records of %d places are gone from the cloud at once, more than "+
			"max_delete_ratio (%g)",
			all, had, len(places), limits.Ratio)
	}
	return ""
}
