package cloudcontrol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// number makes a number within the bounds of a schema.
func (m *maker) number(schema map[string]any) (any, error) {
	bound := func(keyword string) (float64, bool) {
		number, ok := schema[keyword].(json.Number)
		f, err := number.Float64()
		return f, ok && err == nil
	}
	low, hasLow := bound("minimum")
	high, hasHigh := bound("maximum")
	if f, ok := bound("exclusiveMinimum"); ok && (!hasLow || f >= low) {
		low, hasLow = f+1, true
	}
	if f, ok := bound("exclusiveMaximum"); ok && (!hasHigh || f <= high) {
		high, hasHigh = f-1, true
	}
	step := 1.0
	if f, ok := bound("multipleOf"); ok && f > 0 {
		step = f
	}
	switch {
	case !hasLow && !hasHigh:
		low, high = 1, 100*step
	case !hasLow:
		low = min(1, high)
	case !hasHigh:
		high = low + 100*step
	}
	high = min(high, low+1000*step)
	first := math.Ceil(low/step) * step
	if first > high { // no multiple of the step, as between 0 and 0.5
		return json.Number(strconv.FormatFloat(low, 'f', -1, 64)), nil
	}
	made := first + step*float64(m.r.Int64N(int64((high-first)/step)+1))
	return json.Number(strconv.FormatFloat(made, 'f', -1, 64)), nil
}

// text makes a string: one that reads like what the property is named for where
// the schema accepts it, or else one made of the pattern.
func (m *maker) text(schema map[string]any, at path) (any, error) {
	switch schema["format"] {
	case "date-time":
		return time.Unix(1_700_000_000+m.r.Int64N(1e7), 0).UTC().Format(time.RFC3339), nil
	case "uri":
		return "https://example.com/" + m.hex(6), nil
	}
	least, most := integer(schema["minLength"], 0), integer(schema["maxLength"], 4096)
	expression, _ := schema["pattern"].(string)
	accepts := m.accept(expression)
	for _, candidate := range m.candidates(at, least, most) {
		if n := utf8.RuneCountInString(candidate); n >= least && n <= most && accepts(candidate) {
			return candidate, nil
		}
	}
	if made, ok := matching(expression, least, most, m.r, accepts); ok {
		return made, nil
	}
	return nil, fmt.Errorf("%s: no string found for pattern %q, %d to %d long", at.pointer(), expression, least, most)
}

// accept tells whether a string matches a pattern, as the validator sees it.
func (m *maker) accept(expression string) func(string) bool {
	if expression == "" {
		return func(string) bool { return true }
	}
	compiled, _ := pattern(expression)
	return compiled.MatchString
}

// candidates are strings that suit the name of a property.
func (m *maker) candidates(at path, least, most int) []string {
	word, name := m.word(at), ""
	if names := at.names(); len(names) > 0 {
		name = strings.ToLower(names[len(names)-1])
	}
	account := cmp.Or(m.account, "123456789012")
	var all []string
	if strings.HasSuffix(name, "arn") {
		service, kind := m.service()
		all = append(all, fmt.Sprintf("arn:aws:%s:%s:%s:%s/%s", service, cmp.Or(m.region, "us-east-1"), account,
			kind, m.hex(8)),
			"arn:aws:iam::"+account+":role/role-"+m.hex(6))
	}
	if strings.Contains(name, "role") {
		all = append(all, "arn:aws:iam::"+account+":role/role-"+m.hex(6))
	}
	if pad := least - len(word); pad > 0 {
		word += strings.Repeat("a", pad)
	}
	if len(word) > most {
		word = m.hex(max(most, 0))
	}
	return append(all, word)
}

// service is the service and the kind of thing that the type's name has.
func (m *maker) service() (service, kind string) {
	parts := strings.Split(strings.ToLower(m.t.Name), "::")
	if len(parts) < 3 {
		return "service", "thing"
	}
	return parts[1], parts[2]
}

// word is a word that tells the property it is for.
func (m *maker) word(at path) string {
	name := "value"
	if names := at.names(); len(names) > 0 {
		name = strings.ToLower(names[len(names)-1])
	}
	return name[:min(len(name), 12)] + "-" + m.hex(6)
}

// hex is n hexadecimal digits.
func (m *maker) hex(n int) string {
	digits := make([]byte, n)
	for i := range digits {
		digits[i] = "0123456789abcdef"[m.r.IntN(16)]
	}
	return string(digits)
}
