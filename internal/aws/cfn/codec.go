package cfn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// decode reads JSON, its numbers as they are spelt.
func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}

// Separator is what stands between the parts of an identifier (Cloud Control API User
// Guide, "Identifying resources").
const Separator = "|"

// Identifier returns what Cloud Control calls the object of a row, false if the row does
// not say it.
func (t *Type) Identifier(row modules.Row) (string, bool) {
	parts := make([]string, len(t.id))
	for i, name := range t.id {
		v := row[name]
		if v.IsNull() {
			return "", false
		}
		parts[i] = v.String()
	}
	return strings.Join(parts, Separator), true
}

// Identity returns the columns of an identifier.
func (t *Type) Identity(identifier string) modules.Row {
	row := modules.Row{}
	parts := []string{identifier}
	if len(t.id) > 1 {
		if parts = strings.Split(identifier, Separator); len(parts) != len(t.id) {
			return row
		}
	}
	for i, name := range t.id {
		if canonical, err := t.byName[name].Type.Canonical(parts[i]); err == nil {
			row[name] = modules.Text(canonical)
		}
	}
	return row
}

// Row returns the row of an object, given its identifier and its properties. What cannot be
// read as the column's type is left out.
func (t *Type) Row(identifier, properties string) (modules.Row, error) {
	v, err := decode([]byte(properties))
	if err != nil {
		return nil, fmt.Errorf("the properties of %s %s are no JSON: %w", t.Name, identifier, err)
	}
	model, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the properties of %s %s are no JSON object", t.Name, identifier)
	}
	row := modules.Row{}
	for i := range t.columns {
		c := &t.columns[i]
		if c.WriteOnly || c.Local {
			continue
		}
		if v, known := c.read(model); known {
			row[c.Name] = v
		}
		if c.tags != nil {
			if marks := c.tags.marks(model[c.property]); len(marks) > 0 {
				row[aws.MarkTags] = modules.StringMap(marks)
			}
		}
	}
	for name, v := range t.Identity(identifier) { // by which it is found again
		row[name] = v
	}
	return row, nil
}

// read returns the column's value of an object.
func (c *column) read(model map[string]any) (modules.Value, bool) {
	value, there := model[c.property]
	for _, name := range c.path {
		object, _ := value.(map[string]any)
		value, there = object[name]
	}
	if !there || value == nil {
		if c.fallback != nil {
			return *c.fallback, true
		}
		return modules.Null, true
	}
	if c.tags != nil {
		return c.tags.read(value)
	}
	if c.record {
		return c.names(value)
	}
	return c.fromJSON(value)
}

// marks returns those of the tags that AWS keeps to itself.
func (f *tagForm) marks(value any) map[string]string {
	tags, _ := f.all(value)
	maps.DeleteFunc(tags, func(key, _ string) bool { return !ofAWS(key) })
	return tags
}

// read returns tags as an object of texts, without those that AWS keeps to itself.
func (f *tagForm) read(value any) (modules.Value, bool) {
	tags, known := f.all(value)
	if !known {
		return modules.Null, false
	}
	maps.DeleteFunc(tags, func(key, _ string) bool { return ofAWS(key) })
	return modules.StringMap(tags), true
}

// ofAWS reports whether a tag is one that AWS keeps to itself.
func ofAWS(key string) bool { return strings.HasPrefix(strings.ToLower(key), "aws:") }

// all returns all tags.
func (f *tagForm) all(value any) (tags map[string]string, known bool) {
	tags = map[string]string{}
	switch v := value.(type) {
	case map[string]any:
		for key, text := range v {
			tags[key], _ = text.(string)
		}
	case []any:
		for _, element := range v {
			tag, _ := element.(map[string]any)
			if key, ok := tag[f.key].(string); ok {
				tags[key], _ = tag[f.value].(string)
			}
		}
	default:
		return nil, false
	}
	return tags, true
}

// write returns tags as the type spells them.
func (f *tagForm) write(v modules.Value) any {
	tags := v.StringMap()
	if f.key == "" {
		out := map[string]any{}
		for key, text := range tags {
			out[key] = text
		}
		return out
	}
	out := []any{}
	for _, key := range sorted(tags) {
		out = append(out, map[string]any{f.key: key, f.value: tags[key]})
	}
	return out
}

// fromJSON returns a value of the column, false for one that is none.
func (c *column) fromJSON(value any) (modules.Value, bool) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = fmt.Sprint(v)
	}
	switch c.Type {
	case modules.TypeJSON:
		if s, is := value.(string); is && c.text { // an object that is shown as a text
			if inner, err := decode([]byte(s)); err == nil {
				if _, object := inner.(map[string]any); object {
					value = inner
				}
			}
		}
		v, err := modules.JSON(value)
		return v, err == nil
	case modules.TypeTexts:
		list, ok := value.([]any)
		if !ok {
			return modules.Null, false
		}
		out := make([]string, len(list))
		for i, element := range list {
			if s, is := element.(string); is {
				out[i] = s
				continue
			}
			raw, err := json.Marshal(element)
			if err != nil {
				return modules.Null, false
			}
			out[i] = string(raw)
		}
		return modules.Strings(out), true
	case modules.TypeText:
		switch value.(type) {
		case map[string]any, []any:
			raw, err := json.Marshal(value)
			return modules.Text(string(raw)), err == nil
		}
		return modules.Text(text), true
	case modules.TypeBigint:
		text = strings.TrimSuffix(text, ".0")
	}
	canonical, err := c.Type.Canonical(text)
	return modules.Text(canonical), err == nil
}

// toJSON returns the value of a property as AWS takes it.
func (c *column) toJSON(v modules.Value) (any, error) {
	if c.tags != nil {
		return c.tags.write(v), nil
	}
	text := v.String()
	switch {
	case c.WriteOnly && c.kind == kindText, c.WriteOnly && c.kind == kindTime:
		return text, nil
	case c.WriteOnly, c.Type == modules.TypeJSON, c.Type == modules.TypeTexts:
		value, err := decode([]byte(text))
		if err != nil {
			return nil, &modules.Error{Class: modules.Invalid, Code: "JSON",
				Message: fmt.Sprintf("column %s takes JSON, and what it was given is none", c.Name)}
		}
		for _, p := range c.readOnly {
			value = without(value, p)
		}
		return value, nil
	case c.Type == modules.TypeBool:
		return v.Bool(), nil
	case c.Type == modules.TypeBigint, c.Type == modules.TypeDouble:
		return json.Number(text), nil
	}
	return text, nil
}

// Properties returns the properties with which an object is made that is to be as want
// says.
func (t *Type) Properties(want modules.Row) (map[string]any, error) {
	model := map[string]any{}
	var overlays []*column
	for i := range t.columns {
		c := &t.columns[i]
		v := want[c.Name]
		switch {
		case c.Computed || c.Local || c.record || v.IsNull():
		case c.overlay:
			overlays = append(overlays, c)
		default:
			value, err := c.toJSON(v)
			if err != nil {
				return nil, err
			}
			model[c.property] = value
		}
	}
	for _, c := range overlays {
		value, err := c.toJSON(want[c.Name])
		if err != nil {
			return nil, err
		}
		model[c.property] = overlaid(model[c.property], value)
	}
	t.named(want, model)
	return model, nil
}

// overlaid returns a value with what another of the same shape adds to it.
func overlaid(value, over any) any {
	switch o := over.(type) {
	case map[string]any:
		v, ok := value.(map[string]any)
		if !ok {
			return over
		}
		for name, member := range o {
			v[name] = overlaid(v[name], member)
		}
		return v
	case []any:
		v, ok := value.([]any)
		if !ok {
			return over
		}
		for i, element := range o {
			if i < len(v) {
				v[i] = overlaid(v[i], element)
			}
		}
		return v
	}
	return over
}

// without returns a value without what is at a path.
func without(value any, p Path) any {
	if len(p) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		if p[0] == "*" {
			for name := range v {
				v[name] = without(v[name], p[1:])
			}
			return v
		}
		if member, there := v[p[0]]; there {
			if len(p) == 1 {
				delete(v, p[0])
			} else {
				v[p[0]] = without(member, p[1:])
			}
		}
	case []any:
		rest := p
		if p[0] == "*" {
			rest = p[1:]
		}
		for i := range v {
			v[i] = without(v[i], rest)
		}
	}
	return value
}
