package sync

import "iasql/internal/decide"

// decide says what to do about a subject.
func (c *cycle) decide(s *decide.Subject) decide.Step {
	return decide.Step{Subject: s, Decision: decide.Decide(s, c.policy(s))}
}

// policy returns what a decision depends on besides the subject. What has no record, in
// a region that was never listed completely before, is not there against anybody's
// will: the region may have been enabled, or permitted, a moment ago, or somebody has
// named what it is within.
func (c *cycle) policy(s *decide.Subject) decide.Policy {
	imported := c.settings.Imported[s.Table.Name]
	if s.RecordID == 0 && !s.Deposed {
		at := place{s.Table.Name, s.Scope}
		imported = imported && c.resync.known[at].Complete && c.looksAsBefore(at)
	}
	p := decide.Policy{
		Rules:         c.settings.Rules,
		HoldConflicts: c.settings.HoldConflicts,
		Imported:      imported,
		Protection:    c.settings.Protection,
		AskDrift:      c.settings.AskDrift,
	}
	if len(c.settings.Exclusions.Adopted) > 0 && s.RecordID == 0 && s.Object != nil {
		key, _ := s.Table.Key(s.Object)
		p.Adopted = c.settings.Exclusions.IsAdopted(s.Table, key)
	}
	return p
}
