package cfn

import (
	"encoding/json"
	"fmt"

	"iasql/internal/modules"
)

// Asked returns the row by which somebody asks for an object with these properties, as a
// template or a creation spells them: what can be written, secrets included.
func (t *Type) Asked(properties []byte) (modules.Row, error) {
	v, err := decode(properties)
	if err != nil {
		return nil, err
	}
	model, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the properties of %s are no JSON object", t.Name)
	}
	row := modules.Row{}
	for i := range t.columns {
		c := &t.columns[i]
		value, there := model[c.property]
		if c.Computed || c.Local || c.record || !there || value == nil {
			continue
		}
		v, err := c.asked(value)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		if !v.IsNull() {
			row[c.Name] = v
		}
	}
	return row, nil
}

// asked returns the column's value for a property that is to have that value.
func (c *column) asked(value any) (modules.Value, error) {
	switch {
	case c.overlay:
		secrets, some := only(value, c.main.secrets)
		if !some {
			return modules.Null, nil
		}
		return spelled(secrets)
	case c.WriteOnly:
		if text, is := value.(string); is && c.kind == kindText {
			return modules.Text(text), nil
		}
		return spelled(value)
	case c.tags != nil:
		v, _ := c.tags.read(value)
		return v, nil
	case len(c.secrets) > 0:
		value = copied(value)
		for _, p := range c.secrets {
			value = without(value, p)
		}
	}
	v, ok := c.fromJSON(value)
	if !ok {
		return v, fmt.Errorf("%v is no value of type %s", value, c.Type)
	}
	return v, nil
}

// spelled returns a value as a text of JSON.
func spelled(value any) (modules.Value, error) {
	text, err := json.Marshal(value)
	return modules.Text(string(text)), err
}

func copied(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	again, err := decode(text)
	if err != nil {
		return value
	}
	return again
}

// only returns what a value has at some paths, in a value of the same shape; false for
// nothing.
func only(value any, paths []Path) (any, bool) {
	for _, p := range paths {
		if len(p) == 0 {
			return value, true
		}
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if kept, some := only(member, below(paths, name)); some {
				out[name] = kept
			}
		}
		return out, len(out) > 0
	case []any:
		out, any := make([]any, len(v)), false
		for i := range v {
			kept, some := only(v[i], below(paths, "*"))
			if !some {
				kept = map[string]interface{}{}
			}
			out[i], any = kept, any || some
		}
		return out, any
	}
	return nil, false
}

// below returns what paths have below a member.
func below(paths []Path, name string) []Path {
	var out []Path
	for _, p := range paths {
		if p[0] == name || p[0] == "*" {
			out = append(out, p[1:])
		}
	}
	return out
}
