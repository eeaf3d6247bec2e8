package cfn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wI2L/jsondiff"

	"iasql/internal/modules"
)

// Patch returns the JSON patch (RFC 6902) that makes the named columns of an object have
// what they have in want; "" if they have it already.
//
// A list is replaced as a whole: AWS applies the patch to the object as it reads it at that
// moment, in which the elements of a list may have other places.
func (t *Type) Patch(have, want modules.Row, columns []string) (string, error) {
	source, target := map[string]any{}, map[string]any{}
	for _, name := range columns {
		c := t.byName[name]
		if c == nil || c.Local || c.Computed {
			return "", fmt.Errorf("column %s of %s is none that can be written", name, t.Table.Name)
		}
		if c.final {
			return "", &modules.Error{Class: modules.Invalid, Code: "FixedSecret",
				Message: fmt.Sprintf("column %s is fixed when the object is made, and cannot be read: to have "+
					"another value, delete the record and insert it again", name)}
		}
		if c.overlay && slices.ContainsFunc(columns, func(other string) bool {
			return other != name && t.byName[other] != nil && t.byName[other].property == c.property
		}) {
			continue // with the property itself
		}
		if err := t.sides(c, have, want, source, target); err != nil {
			return "", err
		}
	}
	from, err := json.Marshal(source)
	if err != nil {
		return "", err
	}
	to, err := json.Marshal(target)
	if err != nil {
		return "", err
	}
	operations, err := jsondiff.CompareJSON(from, to)
	if err != nil {
		return "", fmt.Errorf("compare the properties: %w", err)
	}
	if operations = wholeLists(operations, source, target); len(operations) == 0 {
		return "", nil
	}
	// Of a member that is there, add does the same (RFC 6902, section 4.1), and it does not
	// fail of one that AWS, as it reads the object at that moment, does not have.
	for i := range operations {
		if operations[i].Type == jsondiff.OperationReplace {
			operations[i].Type = jsondiff.OperationAdd
		}
	}
	patch, err := json.Marshal(operations)
	return string(patch), err
}

// sides adds the property of a column to what there is and to what there is to be.
func (t *Type) sides(c *column, have, want modules.Row, source, target map[string]any) error {
	main := c
	if c.overlay || c.record {
		main = c.main
	}
	if v := have[main.Name]; !v.IsNull() && !main.WriteOnly {
		value, err := main.toJSON(v)
		if err != nil {
			return err
		}
		source[c.property] = value
	}
	if v := want[main.Name]; !v.IsNull() {
		value, err := main.toJSON(v)
		if err != nil {
			return err
		}
		target[c.property] = value
	}
	for i := range t.columns {
		if o := &t.columns[i]; o.overlay && o.property == c.property && !want[o.Name].IsNull() {
			value, err := o.toJSON(want[o.Name])
			if err != nil {
				return err
			}
			target[c.property] = overlaid(target[c.property], value)
		}
		if o := &t.columns[i]; o.record && o.property == c.property && !want[o.Name].IsNull() {
			target[c.property] = want[o.Name].String()
		}
	}
	return nil
}

// main returns the column of a property itself.
func (t *Type) main(property string) *column {
	for i := range t.columns {
		if c := &t.columns[i]; c.property == property && !c.overlay && !c.record && len(c.path) == 0 && !c.gone {
			return c
		}
	}
	return nil
}

// wholeLists makes the operations within a list one that replaces the list.
func wholeLists(operations jsondiff.Patch, source, target map[string]any) jsondiff.Patch {
	var out jsondiff.Patch
	done := map[string]bool{}
	for _, op := range operations {
		path, list := listAbove(op.Path, source, target)
		if !list {
			out = append(out, op)
			continue
		}
		if !done[path] {
			done[path] = true
			value, _ := pointed(target, path)
			out = append(out, jsondiff.Operation{Type: jsondiff.OperationReplace, Path: path, Value: value})
		}
	}
	return out
}

// listAbove returns the outermost list that a pointer leads through, if there is one.
func listAbove(pointer string, source, target map[string]any) (string, bool) {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := 1; i < len(tokens); i++ {
		if _, err := strconv.Atoi(tokens[i]); err != nil && tokens[i] != "-" {
			continue
		}
		above := "/" + strings.Join(tokens[:i], "/")
		from, _ := pointed(source, above)
		to, _ := pointed(target, above)
		_, was := from.([]any)
		_, is := to.([]any)
		if was && is {
			return above, true
		}
	}
	return "", false
}

// pointed returns what a pointer leads to (RFC 6901).
func pointed(value any, pointer string) (any, bool) {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := value.(type) {
		case map[string]any:
			member, there := v[token]
			if !there {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// requiresReplacement returns a function that tells whether two values differ at one of the paths.
func requiresReplacement(fixed []Path) func(from, to string) bool {
	return func(from, to string) bool {
		x, errX := decode([]byte(from))
		y, errY := decode([]byte(to))
		if errX != nil || errY != nil {
			return false
		}
		for _, p := range fixed {
			a, _ := modules.JSON(at(x, p))
			b, _ := modules.JSON(at(y, p))
			if a != b {
				return true
			}
		}
		return false
	}
}

// fixedDoc says which parts are fixed.
func fixedDoc(fixed []Path) string {
	names := make([]string, len(fixed))
	for i, p := range fixed {
		names[i] = strings.Join(p, ".")
	}
	return text1("Changing " + strings.Join(names, ", ") + " in it replaces the object.")
}
