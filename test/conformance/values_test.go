package conformance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"iasql/internal/aws"
)

// literal returns what an SQL literal says.
func literal(sql string) string {
	if n := len(sql); n >= 2 && sql[0] == '\'' && sql[n-1] == '\'' {
		return strings.ReplaceAll(sql[1:n-1], "''", "'")
	}
	return sql
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// same compares what the CLI prints with what is wanted: JSON where it is JSON,
// also within a string; tags as an object however an API spells them; scalars by
// their text; lists in any order.
func same(got, want string) bool {
	return reflect.DeepEqual(plain(parse(got)), plain(parse(want)))
}

func parse(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func plain(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			var inner any
			if json.Unmarshal([]byte(v), &inner) == nil {
				return plain(inner)
			}
		}
		return v
	case []any:
		tags := map[string]any{}
		var list []any
		for _, member := range v {
			if m, ok := member.(map[string]any); ok && len(m) == 2 {
				key, value := first(m, "Key", "key", "TagKey"), first(m, "Value", "value", "TagValue")
				if key != nil && value != nil {
					if text(key) != aws.TokenTag {
						tags[text(key)] = text(value)
					}
					continue
				}
			}
			list = append(list, plain(member))
		}
		if len(list) == 0 && len(v) > 0 {
			return tags
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return list
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			if key != aws.TokenTag {
				m[key] = plain(value)
			}
		}
		return m
	}
	return text(v)
}

func first(m map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := m[name]; ok {
			return v
		}
	}
	return nil
}
