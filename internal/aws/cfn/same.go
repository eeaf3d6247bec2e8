package cfn

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sameText reports whether two texts mean the same to AWS: they are the same JSON, such as
// a policy that AWS has written anew.
func sameText(a, b string) bool {
	if !strings.HasPrefix(strings.TrimSpace(a), "{") || !strings.HasPrefix(strings.TrimSpace(b), "{") {
		return false
	}
	x, errX := modules.JSONText(a)
	y, errY := modules.JSONText(b)
	return errX == nil && errY == nil && (x == y || aws.SamePolicy(x.String(), y.String()))
}

// sameJSON reports whether two values of a column mean the same to AWS, but for what is at
// some paths, and for what is not read.
func (c *column) sameJSON(a, b string, but []Path) bool {
	x, errX := c.normal(a, but)
	y, errY := c.normal(b, but)
	if errX != nil || errY != nil {
		return false
	}
	return x == y || strings.Contains(x, `"Statement"`) && aws.SamePolicy(x, y)
}

// normal returns a value of the column in the one form that all have that mean the same.
func (c *column) normal(text string, but []Path) (string, error) {
	value, err := decode([]byte(text))
	if err != nil {
		return "", err
	}
	if s, is := value.(string); is && c.text {
		if inner, err := decode([]byte(s)); err == nil {
			value = inner
		}
	}
	for _, p := range but {
		value = without(value, p)
	}
	for _, p := range c.secrets {
		value = without(value, p)
	}
	value = pruned(value)
	for _, p := range slices.Backward(c.unsorted) { // what is within comes after it
		sortAt(value, p)
	}
	canonical, err := modules.JSON(value)
	return canonical.String(), err
}

// pruned returns a value without the members of objects that are null.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = pruned(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return value
}

// sortAt sorts the lists at a path.
func sortAt(value any, p Path) {
	switch v := value.(type) {
	case map[string]any:
		if len(p) > 0 {
			sortAt(v[p[0]], p[1:])
		}
	case []any:
		if len(p) > 0 {
			for _, element := range v {
				sortAt(element, p[1:])
			}
			return
		}
		slices.SortFunc(v, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return strings.Compare(string(x), string(y))
		})
	}
}

// at returns what is at a path of a value.
func at(value any, p Path) []any {
	if len(p) == 0 {
		return []any{value}
	}
	switch v := value.(type) {
	case map[string]any:
		if p[0] != "*" {
			if member, there := v[p[0]]; there {
				return at(member, p[1:])
			}
			return nil
		}
		var out []any
		for _, name := range sorted(v) {
			out = append(out, at(v[name], p[1:])...)
		}
		return out
	case []any:
		rest := p
		if p[0] == "*" {
			rest = p[1:]
		}
		var out []any
		for _, element := range v {
			out = append(out, at(element, rest)...)
		}
		return out
	}
	return nil
}
