package cloudcontrol

import "slices"

// Includes reports whether a value of JSON has everything of another. Lists are as long, and
// have their elements in the same order where that is asked for.
func Includes(have, want any, inOrder bool) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for name, value := range want {
			ok = ok && Includes(object[name], value, inOrder)
		}
		return ok
	case []any:
		list, ok := have.([]any)
		ok = ok && len(list) == len(want)
		for i, value := range want {
			ok = ok && (inOrder && Includes(list[i], value, true) ||
				!inOrder && slices.ContainsFunc(list, func(other any) bool { return Includes(other, value, false) }))
		}
		return ok
	}
	return encode(have) == encode(want)
}
