package recorded

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// account and region are what stands in for those placeholders.
const (
	account = "111111111111"
	region  = "us-east-1"
)

// moment stands in for times, which the recordings do not have.
var moment = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

var placeholder = regexp.MustCompile(`<([A-Za-z][^<>\s]*)>`)

// lengths are placeholders that stand for long texts: <a:len(129)>.
var lengths = regexp.MustCompile(`^(.):len\((\d+)\)$`)

// fill replaces the placeholders in a text by texts that have the letters, digits
// and hyphens that AWS lets names have.
func fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(whole string) string {
		name := whole[1 : len(whole)-1]
		if m := lengths.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[2])
			return strings.Repeat(m[1], n)
		}
		switch name {
		case "partition":
			return "aws"
		case "region", "region:1":
			return region
		case "region:2":
			return "eu-west-1"
		case "path", "path:1": // of IAM
			return "/path/"
		case "account-id", "account", "owner-id":
			return account
		}
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '-'
		}, name)
	})
}

// isPlaceholder reports whether a text says nothing but what kind of value there
// was.
func isPlaceholder(text string) bool {
	return placeholder.FindString(text) == text && text != "" ||
		slices.Contains([]string{"datetime", "timestamp", "date"}, text)
}

// decoder reads recorded members into the SDK's structures.
type decoder struct {
	// encoded: documents within texts are URL-encoded, as IAM has them (API page
	// GetRolePolicy, "compliant with RFC 3986").
	encoded bool
}

// read reads a recorded value into one of the SDK's types, all of it: a member
// that the type does not have is an error.
func (d decoder) read(v any, into reflect.Value) error {
	if v == nil {
		return nil
	}
	if into.Type() == reflect.TypeFor[time.Time]() {
		into.Set(reflect.ValueOf(instant(v)))
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return d.read(v, into.Elem())
	case reflect.Struct:
		return d.structure(v, into)
	case reflect.Slice:
		return d.list(v, into)
	case reflect.Map:
		return d.dictionary(v, into)
	case reflect.String:
		return d.text(v, into)
	case reflect.Bool:
		b, ok := v.(bool)
		if !ok {
			return fmt.Errorf("%v is no boolean", v)
		}
		into.SetBool(b)
		return nil
	case reflect.Int32, reflect.Int64:
		n, err := number(v)
		into.SetInt(int64(n))
		return err
	case reflect.Float32, reflect.Float64:
		n, err := number(v)
		into.SetFloat(n)
		return err
	}
	return fmt.Errorf("the recording does not have %s", into.Type()) // such as a body
}

func (d decoder) structure(v any, into reflect.Value) error {
	members, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no structure", v)
	}
	for name, member := range members {
		field, ok := into.Type().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
		if !ok || !field.IsExported() || field.Name == "ResultMetadata" {
			return fmt.Errorf("%s has no member %s", into.Type(), name)
		}
		if err := d.read(member, into.FieldByIndex(field.Index)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (d decoder) list(v any, into reflect.Value) error {
	if into.Type() == reflect.TypeFor[[]byte]() {
		into.SetBytes([]byte(fmt.Sprint(v)))
		return nil
	}
	members, ok := v.([]any)
	if whole, isText := v.(string); isText && isPlaceholder(whole) { // of a list of which nothing else was kept
		members, ok = []any{v}, true
	}
	if !ok {
		return fmt.Errorf("%v is no list", v)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(members), len(members)))
	for i, member := range members {
		if err := d.read(member, into.Index(i)); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (d decoder) dictionary(v any, into reflect.Value) error {
	members, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no map", v)
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(members)))
	for name, member := range members {
		value := reflect.New(into.Type().Elem()).Elem()
		if err := d.read(member, value); err != nil {
			return fmt.Errorf("[%s]: %w", name, err)
		}
		into.SetMapIndex(reflect.ValueOf(fill(name)).Convert(into.Type().Key()), value)
	}
	return nil
}

// text reads a text. One that was JSON has been expanded in the recording, and is
// a text again.
func (d decoder) text(v any, into reflect.Value) error {
	switch v := v.(type) {
	case string:
		if values := enumeration(into.Type()); values != nil && isPlaceholder(v) {
			into.SetString(usual(values))
			return nil
		}
		into.SetString(fill(v))
	case map[string]any, []any:
		document := fill(unescaped(v))
		if d.encoded {
			document = url.PathEscape(document)
		}
		into.SetString(document)
	default:
		return fmt.Errorf("%v is no text", v)
	}
	return nil
}

// unescaped is a JSON text in which placeholders can be found.
func unescaped(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// enumeration returns the values of one of the SDK's enumerations, nil of any
// other type.
func enumeration(t reflect.Type) []string {
	method, ok := t.MethodByName("Values")
	if !ok || t.Kind() != reflect.String {
		return nil
	}
	all := method.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
	values := make([]string, all.Len())
	for i := range values {
		values[i] = all.Index(i).String()
	}
	return values
}

// usual is the value of an enumeration that a recorded object most likely had.
func usual(values []string) string {
	for _, value := range values {
		if strings.EqualFold(value, "active") || strings.EqualFold(value, "default") {
			return value
		}
	}
	return values[0]
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case string:
		if isPlaceholder(v) {
			return 1, nil
		}
		return strconv.ParseFloat(v, 64)
	}
	return 0, fmt.Errorf("%v is no number", v)
}

func instant(v any) time.Time {
	if s, ok := v.(string); ok {
		for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05-07:00"} {
			if at, err := time.Parse(layout, s); err == nil {
				return at
			}
		}
	}
	return moment
}
