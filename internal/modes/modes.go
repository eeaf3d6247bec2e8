// Package modes resolves the rules of the table iasql_mode: who wins, for a
// record or a column, when database and cloud differ.
//
// Resolution is pure. The engine resolves with [Rules.Of]; the SQL function
// iasql_mode_of resolves the same way, and a test holds the two together.
package modes

import "slices"

// Mode says who wins.
type Mode string

// The modes. No rule at all means Normal.
const (
	Normal  Mode = "NORMAL"  // two-way: the audit log decides
	Enforce Mode = "ENFORCE" // the database always wins
	Track   Mode = "TRACK"   // the cloud always wins; nothing is ever pushed
	Pause   Mode = "PAUSE"   // nobody wins: nothing is pushed, and nothing is pulled
)

// All are the modes. Of two rules with the same target the one whose mode comes
// later here wins. (The function iasql_internal.modes of the database has the same
// list.)
var All = []Mode{Enforce, Normal, Track, Pause}

// Pauses reports whether both sides are left as they are.
func (m Mode) Pauses() bool { return m == Pause }

// Pushes reports whether the mode lets changes go out to the cloud.
func (m Mode) Pushes() bool { return m != Track && m != Pause }

// CloudWins reports whether the cloud's value always wins, and nothing is pushed.
func (m Mode) CloudWins() bool { return m == Track }

// DatabaseWins reports whether the database's value always wins.
func (m Mode) DatabaseWins() bool { return m == Enforce }

// LogDecides reports whether the audit log tells who wins: a change that was made
// here and is not settled yet, or else the cloud.
func (m Mode) LogDecides() bool { return m == Normal }

// Rule is one row of iasql_mode. A zero field is the wildcard.
type Rule struct {
	ID       int64
	Table    string
	RecordID int64
	Column   string
	Mode     Mode
}

// Rules are all rows of iasql_mode, ready for resolution.
type Rules struct{ exact map[target]Rule }

type target struct {
	table  string
	record int64
	column string
}

// New indexes the rules. Of two rules with the same target the more careful mode
// wins (see [All]), so that the outcome never depends on their order.
func New(rules []Rule) Rules {
	r := Rules{exact: make(map[target]Rule, len(rules))}
	for _, rule := range rules {
		t := target{rule.Table, rule.RecordID, rule.Column}
		if old, ok := r.exact[t]; !ok || rank(rule.Mode) > rank(old.Mode) {
			r.exact[t] = rule
		}
	}
	return r
}

func rank(m Mode) int { return slices.Index(All, m) }

// Explain returns the rule that decides for a column of a record, and false
// when none does. The more specific rule wins: record and column, record,
// table and column, table, everything. recordID 0 asks about a record that
// does not exist yet, column "" about the record as a whole.
func (r Rules) Explain(table string, recordID int64, column string) (Rule, bool) {
	if len(r.exact) == 0 {
		return Rule{}, false
	}
	candidates := [...]target{
		{table, recordID, column}, {table, recordID, ""}, {table, 0, column}, {table, 0, ""}, {},
	}
	for _, t := range candidates {
		if rule, ok := r.exact[t]; ok {
			return rule, true
		}
	}
	return Rule{}, false
}

// Of returns the mode that holds for a column of a record (see Explain).
func (r Rules) Of(table string, recordID int64, column string) Mode {
	if rule, ok := r.Explain(table, recordID, column); ok {
		return rule.Mode
	}
	return Normal
}

// Any reports whether there are any rules; with none, everything is Normal.
func (r Rules) Any() bool { return len(r.exact) > 0 }
