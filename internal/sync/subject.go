package sync

import (
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// complete fills in what a subject has from the registry and from this
// engine's own calls.
func (c *cycle) complete(s *decide.Subject) {
	s.Can = modules.Can(c.Registry.Resource(s.Table.Name))
	identity, named := s.Identity()
	if named {
		s.Scope = s.Table.Scope(identity)
	} else if s.Record != nil {
		s.Scope = s.Table.Scope(s.Record.Row)
	} else if s.Change != nil && s.Change.Last != nil {
		s.Scope = s.Table.Scope(s.Change.Last)
	}
	s.Own, s.WentBack = c.recent.Of(s, identity), c.settings.WentBack
	key, _ := s.Table.Key(identity)
	s.RoomInDoubt = named && !s.Deposed && c.doubts.makesRoom(s.Ref(), key)
	s.Doubt = s.Table.ComputedIdentity() && c.doubts.holds(s.Table.Name, s.Scope)
}

// fillScope gives a row the columns that say where it is.
func fillScope(t *modules.Table, scope modules.Scope, row modules.Row) {
	if _, ok := row[modules.ColumnAccount]; !ok {
		row[modules.ColumnAccount] = modules.Text(scope.Account)
	}
	if t.Reach == modules.PerRegion {
		if _, ok := row[modules.ColumnRegion]; !ok {
			row[modules.ColumnRegion] = modules.Text(scope.Region)
		}
	}
}
