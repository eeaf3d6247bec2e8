package aws

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"iasql/internal/modules"
)

// Document returns a structure of the SDK as a column of type jsonb holds it:
// in the words of the API, which are the names of the SDK's fields. What is
// null or empty is left out, as in the API's own answers.
func Document(v any) (modules.Value, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return modules.Null, err
	}
	var members any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&members); err != nil {
		return modules.Null, err
	}
	return modules.JSON(prune(members))
}

func prune(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = prune(v[key])
		}
		maps.DeleteFunc(v, func(_ string, member any) bool {
			switch m := member.(type) {
			case nil:
				return true
			case string:
				return m == ""
			case []any:
				return len(m) == 0
			case map[string]any:
				return len(m) == 0
			}
			return false
		})
	}
	return value
}

// ParseDocument reads what users write into a column in the words of the API
// into the SDK's structure. Members that the API does not have are refused,
// rather than ignored.
func ParseDocument(column string, v modules.Value, into any) error {
	if v.IsNull() {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(v.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidJSON",
			Message: column + ": " + err.Error(), Err: err}
	}
	return nil
}
