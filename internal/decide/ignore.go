package decide

import (
	"encoding/json"
	"fmt"
	"strings"

	"iasql/internal/modules"
)

// What others manage is left to them: what a user has forgotten (iasql_forget), and
// what matches a rule of iasql_ignore. It is not imported, and ENFORCE does not touch
// it, unless a user has adopted it (iasql_adopt).

// IgnoreRule is a row of iasql_ignore. Tags and the name must all match; in each of
// them * stands for any characters.
type IgnoreRule struct {
	ID    int64
	Table string            // "" for every table
	Tags  map[string]string // patterns of keys, and of their values
	Name  string            // a pattern; "" for any
}

// ParseIgnoreRule reads a rule as the column match of iasql_ignore has it.
func ParseIgnoreRule(id int64, table string, match []byte) (IgnoreRule, error) {
	var m struct {
		Tags map[string]string `json:"tags"`
		Name string            `json:"name"`
	}
	if err := json.Unmarshal(match, &m); err != nil {
		return IgnoreRule{}, fmt.Errorf("rule %d of iasql_ignore: %w", id, err)
	}
	return IgnoreRule{ID: id, Table: table, Tags: m.Tags, Name: m.Name}, nil
}

// matches reports whether an object of the table is meant.
func (r *IgnoreRule) matches(t *modules.Table, object modules.Row) bool {
	if r.Table != "" && r.Table != t.Name || len(r.Tags) == 0 && r.Name == "" {
		return false
	}
	tags := object[modules.ColumnTags].StringMap()
	for key, value := range r.Tags {
		found := false
		for k, v := range tags {
			found = found || like(key, k) && like(value, v)
		}
		if !found {
			return false
		}
	}
	if r.Name == "" {
		return true
	}
	for _, c := range t.NameColumns() {
		if v := object[c]; !v.IsNull() && like(r.Name, v.String()) {
			return true
		}
	}
	return false
}

// like reports whether a text matches a pattern, in which * stands for any characters.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) || len(text) < len(parts[0])+len(parts[last]) ||
		!strings.HasSuffix(text, parts[last]) {
		return false
	}
	text = text[len(parts[0]) : len(text)-len(parts[last])]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// ObjectName names an object as the cloud does.
type ObjectName struct {
	Table string
	Scope modules.Scope
	Key   string
}

// Exclusions is what users have said about objects without a record.
type Exclusions struct {
	Rules     []IgnoreRule
	Forgotten map[ObjectName]bool
	// Adopted are objects that are asked for, by table and key, wherever they are.
	Adopted map[ObjectName]bool
}

// Any reports whether anything has been said.
func (l *Exclusions) Any() bool { return len(l.Rules)+len(l.Forgotten)+len(l.Adopted) > 0 }

// IsAdopted reports whether a user has asked for the object of that key.
func (l *Exclusions) IsAdopted(t *modules.Table, key string) bool {
	return l.Adopted[ObjectName{Table: t.Name, Key: key}]
}

// Ignores returns by which word of a user's an object (cloud terms) is left to others,
// "" if it is not.
func (l *Exclusions) Ignores(t *modules.Table, scope modules.Scope, key string, object modules.Row) string {
	switch {
	case l.IsAdopted(t, key):
		return ""
	case l.Forgotten[ObjectName{t.Name, scope, key}]:
		return "it was forgotten"
	}
	for i := range l.Rules {
		if l.Rules[i].matches(t, object) {
			return fmt.Sprintf("rule %d of iasql_ignore", l.Rules[i].ID)
		}
	}
	return ""
}
