package sync

import (
	gosync "sync"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// ignored are the objects without a record that a cycle has seen and that are left to
// others. What cannot be without one of them is left to them too.
type ignored struct {
	lock  gosync.Mutex
	named map[decide.ObjectName]bool // by each column that others may name it by
}

func nameBy(t *modules.Table, column string, scope modules.Scope, v modules.Value) decide.ObjectName {
	return decide.ObjectName{Table: t.Name + "." + column, Scope: scope, Key: v.String()}
}

// ignores finds out whether an object that was listed, and has no record, is left to
// others.
func (c *cycle) ignores(s *decide.Subject, key string) {
	excluded := &c.settings.Exclusions
	if !excluded.Any() {
		return
	}
	c.ignored.lock.Lock()
	defer c.ignored.lock.Unlock()
	s.Ignored = excluded.Ignores(s.Table, s.Scope, key, s.Cloud)
	if s.Ignored == "" && !excluded.IsAdopted(s.Table, key) {
		s.Ignored = c.ignored.whole(c.Registry, s)
	}
	if s.Ignored == "" {
		return
	}
	if c.ignored.named == nil {
		c.ignored.named = map[decide.ObjectName]bool{}
	}
	for i := range s.Table.Columns {
		if col := &s.Table.Columns[i]; (col.Identity || col.Computed) && !s.Cloud[col.Name].IsNull() {
			c.ignored.named[nameBy(s.Table, col.Name, s.Scope, s.Cloud[col.Name])] = true
		}
	}
}

// whole returns that what the object belongs to is left to others, "" if it is not.
func (i *ignored) whole(registry *modules.Registry, s *decide.Subject) string {
	for n := range s.Table.Columns {
		col := &s.Table.Columns[n]
		ref := col.References
		if ref == nil || !col.Required && ref.Part == modules.NotPart || col.Name == modules.ColumnAccount ||
			col.Name == modules.ColumnRegion || s.Cloud[col.Name].IsNull() {
			continue
		}
		owner := registry.Table(ref.Table)
		if owner == nil {
			continue
		}
		scope := s.Scope
		if owner.Reach == modules.PerAccount {
			scope.Region = ""
		}
		if i.named[nameBy(owner, ref.Key, scope, s.Cloud[col.Name])] {
			return "it belongs to a " + ref.Table + " that is left to others"
		}
	}
	return ""
}
