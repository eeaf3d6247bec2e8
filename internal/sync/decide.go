package sync

import "iasql/internal/decide"

// decide says what to do about a subject.
func (c *cycle) decide(s *decide.Subject) decide.Step {
	return decide.Step{Subject: s, Decision: decide.Decide(s, c.policy(s))}
}

// policy returns what a decision depends on besides the subject.
func (c *cycle) policy(s *decide.Subject) decide.Policy {
	return decide.Policy{
		Rules:         c.settings.Rules,
		HoldConflicts: c.settings.HoldConflicts,
		Imported:      c.settings.Imported[s.Table.Name],
	}
}
