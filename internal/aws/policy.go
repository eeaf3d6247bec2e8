package aws

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/modules"
)

// PolicyColumn describes a column that holds a resource's policy.
func PolicyColumn(doc string) modules.Column {
	return modules.Column{
		Name: "policy", Type: modules.TypeJSON, Equal: SamePolicy, Doc: doc,
		Check: `jsonb_typeof(policy) = 'object'`,
	}
}

// Policy returns the value of a policy that AWS sent as a text; nil and "" are
// NULL. A text that is not JSON, which AWS never sends, becomes a JSON string: the
// column's CHECK refuses it, and the record says so, rather than the listing
// that it came with.
func Policy(text *string) modules.Value {
	if awssdk.ToString(text) == "" {
		return modules.Null
	}
	value, err := modules.JSONText(*text)
	if err != nil {
		value, _ = modules.JSON(*text) // a text marshals
	}
	return value
}

// SamePolicy reports whether two policy documents grant the same. AWS may
// return another document than it was given: it writes lists of one as a string
// and the other way round, and an account's id as the ARN of its root user (IAM
// User Guide, "IAM JSON policy elements": Statement, Principal, Action,
// Resource, Condition).
func SamePolicy(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := normalPolicy(a)
	y, okY := normalPolicy(b)
	return okX && okY && x == y
}

// normalPolicy returns a document in the one form all its equals have.
func normalPolicy(text string) (string, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var policy map[string]any
	if dec.Decode(&policy) != nil {
		return "", false
	}
	statements, ok := policy["Statement"].([]any)
	if !ok {
		statements = []any{policy["Statement"]}
	}
	for _, s := range statements {
		statement, ok := s.(map[string]any)
		if !ok {
			return "", false
		}
		for element, value := range statement {
			switch element {
			case "Action", "NotAction": // names of actions have no case
				statement[element] = normalList(value, strings.ToLower)
			case "Resource", "NotResource":
				statement[element] = normalList(value, nil)
			case "Principal", "NotPrincipal":
				statement[element] = normalPrincipal(value)
			case "Condition":
				statement[element] = normalCondition(value)
			}
		}
	}
	policy["Statement"] = statements
	out, err := json.Marshal(policy)
	return string(out), err == nil
}

var rootARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):root$`)

// "Principal": "*" and {"AWS": "*"} are the same, and so are an account's id and
// the ARN of its root.
func normalPrincipal(value any) any {
	if value == "*" {
		value = map[string]any{"AWS": "*"}
	}
	principals, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for kind, list := range principals {
		principals[kind] = normalList(list, func(s string) string { return rootARN.ReplaceAllString(s, "$1") })
	}
	return principals
}

// {"Bool": {"aws:SecureTransport": false}} and {…: ["false"]} are the same.
func normalCondition(value any) any {
	operators, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for _, keys := range operators {
		keys, ok := keys.(map[string]any)
		if !ok {
			return value
		}
		for key, list := range keys {
			keys[key] = normalList(list, nil)
		}
	}
	return operators
}

// normalList returns a scalar or a list as a sorted list of strings without
// repetitions.
func normalList(value any, normal func(string) string) []string {
	members, ok := value.([]any)
	if !ok {
		members = []any{value}
	}
	list := make([]string, 0, len(members))
	for _, member := range members {
		s, ok := member.(string)
		if !ok {
			raw, _ := json.Marshal(member) // decoded from JSON: it marshals
			s = string(raw)
		}
		if normal != nil {
			s = normal(s)
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
