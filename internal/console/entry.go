package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The ways in which a form shows a column.
const (
	asBool   = "bool"
	asChoice = "choice"
	asNumber = "number"
	asTime   = "time"
	asText   = "text"
	asLines  = "lines" // an array, one element a line
	asArray  = "array" // an array as PostgreSQL writes it, of what lines cannot show
	asMap    = "map"   // an object of texts, as rows of key and value
	asJSON   = "json"
	asRef    = "ref"
	asRefs   = "refs"
	asSecret = "secret"
)

// entry is what a form has in the input of a column.
type entry struct {
	as     string
	text   string
	box    bool // ticked: an empty input is an empty value, not NULL; of a secret: it is removed
	pairs  [][2]string
	items  []string
	was    string // what the form was made of: see seal
	set    bool   // of a secret: there is one
	large  bool   // too large for a form
	failed string
	now    *string // what somebody else has made of it meanwhile
	clash  bool
}

// mostValue is how long a value may be that a form shows.
const mostValue = 100_000

// ways are how the column may be shown, the usual one first.
func (f *field) ways() []string {
	switch {
	case f.secret:
		return []string{asSecret}
	case f.refers != nil && f.list:
		return []string{asRefs, asArray}
	case f.refers != nil:
		return []string{asRef}
	case len(f.allowed) > 0:
		return []string{asChoice}
	case f.kind == "boolean":
		return []string{asBool}
	case f.kind == "jsonb" && (f.name == "tags" || strings.HasSuffix(f.name, "_tags")):
		return []string{asMap, asJSON}
	case f.kind == "jsonb" || f.kind == "json":
		return []string{asJSON, asMap}
	case f.category == "A":
		return []string{asLines, asArray}
	case f.category == "N":
		return []string{asNumber, asText}
	case f.category == "D":
		return []string{asTime}
	}
	return []string{asText}
}

// boxed reports whether an input has a box by which an empty value is told from NULL: where
// both are possible.
func (f *field) boxed(as string) bool {
	empties := as == asText && f.category == "S" || as == asLines || as == asArray
	return empties && f.nullable && !f.required &&
		!strings.HasPrefix(f.hint, "It must be 1 to ") && !strings.Contains(f.hint, "not empty")
}

// entryOf is what the form shows of a value; elements are those of an array, as JSON.
func (f *field) entryOf(value, elements *string) entry {
	e := entry{as: f.ways()[0]}
	switch {
	case f.secret:
		e.set = value != nil
		return e
	case value == nil:
	case len(*value) > mostValue:
		e.large = true
	case f.kind == "jsonb" || f.kind == "json":
		if pairs, ok := textsOf(*value); ok && (e.as == asMap || len(pairs) > 0) {
			e.as, e.pairs = asMap, pairs
			break
		}
		e.as, e.text = asJSON, indented(*value)
	case f.category == "A":
		items, ok := linesOf(elements)
		switch {
		case !ok:
			e.as, e.text = asArray, *value
		case e.as == asRefs:
			e.items = items
		default:
			e.text = strings.Join(items, "\n")
		}
	case e.as == asBool:
		e.text = map[bool]string{true: "true", false: "false"}[*value == "true" || *value == "t"]
	case e.as == asNumber && !plainNumber.MatchString(*value): // NaN, which a browser would empty
		e.as, e.text = asText, *value
	default:
		e.text = *value
	}
	e.text = unixLines(e.text)
	e.box = f.boxed(e.as) && value != nil && e.text == ""
	e.was = seal(value) + "." + e.sum()
	return e
}

// plainNumber is what an input for numbers takes (HTML, "valid floating-point number").
var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// textsOf returns the pairs of an object that has nothing but texts.
func textsOf(document string) (pairs [][2]string, ok bool) {
	var texts map[string]*string
	if json.Unmarshal([]byte(document), &texts) != nil || texts == nil {
		return nil, false
	}
	for key, value := range texts {
		if key == "" || value == nil || strings.ContainsAny(key+*value, "\r\n") {
			return nil, false
		}
		pairs = append(pairs, [2]string{key, *value})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return pairs, true
}

// linesOf returns the elements of an array, unless lines cannot show them.
func linesOf(elements *string) (items []string, ok bool) {
	var list []*string
	if elements == nil || json.Unmarshal([]byte(*elements), &list) != nil {
		return nil, false
	}
	for _, item := range list {
		if item == nil || strings.TrimSpace(*item) != *item || *item == "" || strings.ContainsAny(*item, "\r\n") {
			return nil, false
		}
		items = append(items, *item)
	}
	return items, true
}

// indented keeps numbers and the order of keys as they are.
func indented(document string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(document), "", "  ") != nil {
		return document
	}
	return b.String()
}

func unixLines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// seal stands for a value in a form: whoever sends the form back tells by it what he
// has seen, and does not need to send all of it.
func seal(value *string) string {
	text := "NULL"
	if value != nil {
		text = "=" + *value
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// sum stands for what the input has: equal where nothing was typed.
func (e entry) sum() string {
	var b strings.Builder
	switch e.as {
	case asMap:
		pairs := slices.Clone(e.pairs)
		slices.SortStableFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		for _, p := range pairs {
			if p[0] != "" {
				fmt.Fprintf(&b, "%q=%q\n", p[0], p[1])
			}
		}
	case asRefs:
		for _, item := range e.items {
			if item != "" {
				fmt.Fprintf(&b, "%q\n", item)
			}
		}
	case asText, asLines, asArray:
		fmt.Fprintf(&b, "%v %s", e.box && e.text == "", e.text)
	default:
		b.WriteString(strings.TrimSpace(e.text))
	}
	text := e.as + " " + b.String()
	return seal(&text)
}

// touched reports whether somebody has changed the input.
func (e entry) touched() bool {
	if e.as == asSecret {
		return e.text != "" || e.box
	}
	_, was, _ := strings.Cut(e.was, ".")
	return e.sum() != was
}

// seen reports whether a value is what the form was made of.
func (e entry) seen(value *string) bool {
	was, _, _ := strings.Cut(e.was, ".")
	return seal(value) == was
}

// entryIn reads the input of a column from a form that was sent; ok is false where the
// form has none.
func (f *field) entryIn(form url.Values) (e entry, ok bool, err error) {
	e.as = form.Get("m." + f.name)
	if e.as == "" {
		return e, false, nil
	}
	if !slices.Contains(f.ways(), e.as) {
		return e, false, fmt.Errorf("column %s is not written as %q", f.name, shorten(e.as, 20))
	}
	e.was, e.box, e.set = form.Get("w."+f.name), form.Get("b."+f.name) != "", form.Get("s."+f.name) != ""
	values := form["v."+f.name]
	switch e.as {
	case asMap:
		for i, key := range form["k."+f.name] {
			if i < len(values) && strings.TrimSpace(key) != "" {
				e.pairs = append(e.pairs, [2]string{key, values[i]})
			}
		}
		return e, true, nil
	case asRefs:
		for _, item := range values {
			if item = strings.TrimSpace(item); item != "" {
				e.items = append(e.items, item)
			}
		}
		return e, true, nil
	}
	e.text = unixLines(form.Get("v." + f.name))
	return e, true, nil
}

// columnOf is the column of an input's name, "" for a name of another kind.
func columnOf(name string) string {
	if len(name) > 2 && strings.Contains("mvkbws", name[:1]) && name[1] == '.' {
		return name[2:]
	}
	return ""
}

// fault is what is wrong with an input, as a sentence of the page.
type fault string

func (f fault) Error() string { return string(f) }

const errEmpty = fault("It needs a value.")

// value is what the statement writes. given is false for an input of a new record that was
// left empty: the default counts.
func (f *field) value(e entry, fresh bool) (value *string, given bool, err error) {
	write := func(text string) (*string, bool, error) { return &text, true, nil }
	blank := func() (*string, bool, error) {
		switch {
		case fresh && f.required:
			return nil, false, errEmpty
		case fresh:
			return nil, false, nil
		case !f.nullable || f.required:
			return nil, false, errEmpty
		}
		return nil, true, nil
	}
	switch e.as {
	case asMap:
		return f.mapValue(e, fresh)
	case asRefs:
		if len(e.items) == 0 {
			return blank()
		}
		return write(arrayText(e.items))
	case asJSON:
		if strings.TrimSpace(e.text) == "" {
			return blank()
		}
		if err := jsonFault(e.text); err != nil {
			return nil, false, err
		}
		return write(e.text)
	case asSecret:
		switch {
		case e.text != "":
			return write(e.text)
		case e.box:
			return nil, true, nil
		}
		return blank()
	case asText, asLines, asArray:
		if e.text == "" && !e.box && (fresh || f.nullable) {
			return blank()
		}
		if e.as == asLines {
			var items []string
			for line := range strings.SplitSeq(e.text, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					items = append(items, line)
				}
			}
			return write(arrayText(items))
		}
		return write(e.text)
	}
	if text := strings.TrimSpace(e.text); text != "" {
		return write(text)
	}
	return blank()
}

func (f *field) mapValue(e entry, fresh bool) (value *string, given bool, err error) {
	texts := map[string]string{}
	for _, p := range e.pairs {
		if _, twice := texts[p[0]]; twice {
			return nil, false, fault(fmt.Sprintf("The key %q is there twice.", shorten(p[0], 100)))
		}
		texts[p[0]] = p[1]
	}
	if len(texts) == 0 && fresh {
		if f.required {
			return nil, false, errEmpty
		}
		return nil, false, nil
	}
	text, err := jsonText(texts)
	return &text, true, err
}

// jsonText writes JSON as people do, without escapes for HTML.
func jsonText(value any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(b.String()), err
}

// jsonFault says where a text is no JSON.
func jsonFault(text string) error {
	var any json.RawMessage
	err := json.Unmarshal([]byte(text), &any)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line := strings.Count(before, "\n") + 1
	column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	return fault(fmt.Sprintf("This is no JSON: %s (line %d, column %d).", syntax, line, column))
}

// arrayText is a list as PostgreSQL reads it (manual, section 8.15.2).
func arrayText(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(item) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
