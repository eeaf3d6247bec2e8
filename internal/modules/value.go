package modules

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is one column's value in canonical text form, NULL, or a reference that
// dangles ([Outgoing], [Unrecorded]). Two values of the same column are equal when
// they are ==. The canonical form of each [Type] is what [Type.Canonical] returns.
type Value struct {
	text string
	kind kind
}

// Null is the SQL NULL.
var Null = Value{}

// Text returns a non-NULL value with that canonical text. NUL characters and
// each byte that is no UTF-8, which PostgreSQL cannot store in text (manual, sections
// 8.3 and 24.3), are replaced by U+FFFD, as encoding/json does.
func Text(s string) Value { return Value{storable(s), kindPlain} }

func storable(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return s
}

// TextPtr is Text, and NULL for nil.
func TextPtr(s *string) Value {
	if s == nil {
		return Null
	}
	return Text(*s)
}

// NonEmpty is Text, and NULL for the empty string: what SDK enumerations hold
// when the cloud did not send the field.
func NonEmpty[S ~string](s S) Value {
	if s == "" {
		return Null
	}
	return Text(string(s))
}

// Bool returns the value of a boolean column.
func Bool(b bool) Value { return Text(strconv.FormatBool(b)) }

// Bytes returns the value of a bytea column.
func Bytes(b []byte) Value { return Value{`\x` + hex.EncodeToString(b), kindPlain} }

// Int returns the value of an integer column.
func Int[I ~int | ~int32 | ~int64](i I) Value { return Text(strconv.FormatInt(int64(i), 10)) }

// IntPtr is Int, and NULL for nil.
func IntPtr[I ~int | ~int32 | ~int64](i *I) Value {
	if i == nil {
		return Null
	}
	return Int(*i)
}

// FloatPtr returns the value of a double precision column, and NULL for nil.
func FloatPtr(f *float64) Value {
	if f == nil {
		return Null
	}
	return Text(strconv.FormatFloat(*f, 'g', -1, 64))
}

// TimePtr returns the value of a timestamptz column, and NULL for nil.
func TimePtr(t *time.Time) Value {
	if t == nil {
		return Null
	}
	return Text(t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano))
}

// JSON returns the value of a jsonb column holding v, which is marshalled; a
// nil v is NULL.
func JSON(v any) (Value, error) {
	if v == nil {
		return Null, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return Null, fmt.Errorf("marshal json value: %w", err)
	}
	return JSONText(string(raw))
}

// JSONText returns the value of a jsonb column given as JSON text.
func JSONText(text string) (Value, error) {
	canonical, err := canonicalJSON(text)
	if err != nil {
		return Null, err
	}
	return Text(canonical), nil
}

// StringMap returns the value of a jsonb column holding a map of strings, such
// as tags; an empty map is NULL, since clouds do not tell "no tags" from "an
// empty set of tags".
func StringMap(m map[string]string) Value {
	if len(m) == 0 {
		return Null
	}
	members := make(map[string]any, len(m))
	for key, member := range m {
		members[key] = member
	}
	return stringsOnly(members)
}

// stringsOnly returns the value of a jsonb column holding an array or an object of
// strings.
func stringsOnly(v any) Value {
	text, err := printJSON(v)
	if err != nil { // strings always marshal
		panic(err)
	}
	return Text(text)
}

// Strings returns the value of a text[] column.
func Strings[S ~string](list []S) Value {
	if list == nil {
		return Null
	}
	elements := make([]any, len(list))
	for i, s := range list {
		elements[i] = string(s)
	}
	return stringsOnly(elements)
}

// IsNull reports whether the value is NULL.
func (v Value) IsNull() bool { return v.kind == kindNull }

// empty reports whether the value is NULL, an empty object or an empty list.
func (v Value) empty() bool { return v.IsNull() || v.text == "{}" || v.text == "[]" }

// String returns the canonical text, "" for NULL. A dangling reference has a form
// that no column holds.
func (v Value) String() string {
	if v.kind > kindPlain {
		return v.spell()
	}
	return v.text
}

// Ptr returns the canonical text, nil for NULL and for a dangling reference: the form
// SDK inputs take, and the form pgx sends as a nullable parameter.
func (v Value) Ptr() *string {
	if !v.isPlain() {
		return nil
	}
	return &v.text
}

// Bytes returns a bytea column's value; nil for NULL.
func (v Value) Bytes() []byte {
	if !v.isPlain() {
		return nil
	}
	b, _ := hex.DecodeString(strings.TrimPrefix(v.text, `\x`))
	return b
}

// Bool returns a boolean column's value; NULL is false.
func (v Value) Bool() bool { return v.text == "true" }

// Int returns an integer column's value; NULL is 0. Of a reference it is the record's
// id, also if that is on its way out, and 0 without a record.
func (v Value) Int() int64 {
	if v.IsUnrecorded() {
		return 0
	}
	i, _ := strconv.ParseInt(v.text, 10, 64)
	return i
}

// Int32Ptr returns an integer column's value as SDK inputs take it; nil for
// NULL, the nearest for one that does not fit.
func (v Value) Int32Ptr() *int32 {
	if !v.isPlain() {
		return nil
	}
	i := int32(max(math.MinInt32, min(v.Int(), math.MaxInt32))) // #nosec G115 -- bounded
	return &i
}

// Float64Ptr returns a number column's value as SDK inputs take it; nil for
// NULL.
func (v Value) Float64Ptr() *float64 {
	f, err := strconv.ParseFloat(v.text, 64)
	if !v.isPlain() || err != nil {
		return nil
	}
	return &f
}

// StringMap returns a jsonb column's value as a map of strings; nil for NULL.
// Members that are not strings are given as their JSON text.
func (v Value) StringMap() map[string]string {
	if !v.isPlain() {
		return nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(v.text), &raw) != nil {
		return nil
	}
	m := make(map[string]string, len(raw))
	for k, r := range raw {
		var s string
		if json.Unmarshal(r, &s) != nil {
			s = string(r)
		}
		m[k] = s
	}
	return m
}

// Strings returns a text[] column's value; nil for NULL.
func (v Value) Strings() []string {
	if !v.isPlain() {
		return nil
	}
	var list []string
	if json.Unmarshal([]byte(v.text), &list) != nil {
		return nil
	}
	return list
}

// Elements returns the value of a text[] column; [Null] stands for an element that is NULL.
func Elements(list []Value) Value {
	elements := make([]any, len(list))
	for i, v := range list {
		if !v.IsNull() {
			elements[i] = v.text
		}
	}
	return stringsOnly(elements)
}

// Elements returns the elements of a text[] column's value, [Null] for those that are NULL; nil for NULL.
func (v Value) Elements() []Value {
	var raw []*string
	if !v.isPlain() || json.Unmarshal([]byte(v.text), &raw) != nil {
		return nil
	}
	list := make([]Value, len(raw))
	for i, s := range raw {
		list[i] = TextPtr(s)
	}
	return list
}

// IDs returns the value of a bigint[] column; 0 stands for an element that is NULL.
func IDs(list []int64) Value {
	elements := make([]any, len(list))
	for i, id := range list {
		if id != 0 {
			elements[i] = json.Number(strconv.FormatInt(id, 10))
		}
	}
	return stringsOnly(elements)
}

// IDs returns the elements of a bigint[] column's value, 0 for those that are NULL; nil for NULL.
func (v Value) IDs() []int64 {
	var raw []*int64
	if !v.isPlain() || json.Unmarshal([]byte(v.text), &raw) != nil {
		return nil
	}
	list := make([]int64, len(raw))
	for i, id := range raw {
		if id != nil {
			list[i] = *id
		}
	}
	return list
}

// Type is the PostgreSQL type of a column, as it is spelt in DDL.
type Type string

// The types a managed column can have.
const (
	TypeText    Type = "text"
	TypeBool    Type = "boolean"
	TypeInteger Type = "integer"
	TypeBigint  Type = "bigint"
	TypeDouble  Type = "double precision"
	TypeTime    Type = "timestamptz"
	TypeJSON    Type = "jsonb"
	TypeTexts   Type = "text[]"
	TypeIDs     Type = "bigint[]"
	TypeCIDR    Type = "cidr"
	TypeInet    Type = "inet"
	// TypeBytes has values in hexadecimal, as PostgreSQL prints them with bytea_output = hex: \x00ff.
	TypeBytes Type = "bytea"
)

// Canonical returns the canonical text of a value of this type, given either
// as PostgreSQL prints it (arrays: as to_jsonb prints them) or as the cloud
// sends it. Equal values have equal canonical texts. The error says why the
// text is no value of the type.
func (t Type) Canonical(text string) (string, error) {
	switch t {
	case TypeBool:
		switch text {
		case "true", "t":
			return "true", nil
		case "false", "f":
			return "false", nil
		}
		return "", fmt.Errorf("%q is not a boolean", text)
	case TypeInteger, TypeBigint:
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not an integer", text)
		}
		return strconv.FormatInt(i, 10), nil
	case TypeDouble:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not a number", text)
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case TypeTime:
		for _, layout := range timeLayouts {
			// A year of five digits could not be read again (RFC 3339, section 1).
			if at, err := time.Parse(layout, text); err == nil && at.UTC().Year() <= 9999 && at.UTC().Year() >= 0 {
				return at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano), nil
			}
		}
		return "", fmt.Errorf("%q is not a time", text)
	case TypeJSON, TypeTexts, TypeIDs:
		return canonicalJSON(text)
	case TypeCIDR, TypeInet:
		if !strings.Contains(text, "/") {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return "", fmt.Errorf("%q is not an IP network", text)
			}
			if t == TypeInet {
				return addr.String(), nil
			}
			return netip.PrefixFrom(addr, addr.BitLen()).String(), nil
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return "", fmt.Errorf("%q is not an IP network", text)
		}
		if t == TypeInet && prefix.Bits() == prefix.Addr().BitLen() {
			return prefix.Addr().String(), nil
		}
		if t == TypeCIDR {
			prefix = prefix.Masked()
		}
		return prefix.String(), nil
	case TypeBytes:
		raw, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
		if err != nil || !strings.HasPrefix(text, `\x`) {
			return "", fmt.Errorf("%.40q is not bytea: two hexadecimal digits for each byte, after \\x", text)
		}
		return Bytes(raw).String(), nil
	default:
		return text, nil
	}
}

// Both spellings PostgreSQL uses with DateStyle ISO and TimeZone UTC, the one
// to_jsonb uses, and RFC 3339.
var timeLayouts = []string{
	"2006-01-02 15:04:05.999999Z07", "2006-01-02T15:04:05.999999Z07:00", time.RFC3339Nano,
}

// canonicalJSON prints a JSON text with sorted keys, no spaces and numbers as
// [canonicalNumber] has them. NULs, which jsonb cannot hold (manual, section
// 8.14), are replaced as [Text] does.
func canonicalJSON(text string) (string, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("invalid json: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", fmt.Errorf("invalid json: more than one value")
	}
	return printJSON(v)
}

// printJSON prints a decoded JSON value as [canonicalJSON] does; it may change v.
func printJSON(v any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain(v)); err != nil {
		return "", fmt.Errorf("invalid json: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// plain returns a decoded JSON value with its texts storable and its numbers
// canonical; it may change v.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return storable(v)
	case json.Number:
		return json.Number(canonicalNumber(string(v)))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		var odd []string
		for key, member := range v {
			v[key] = plain(member)
			if storable(key) != key {
				odd = append(odd, key)
			}
		}
		slices.Sort(odd) // of two that become the same, always the same is kept
		for _, key := range odd {
			v[storable(key)] = v[key]
			delete(v, key)
		}
	}
	return v
}

// canonicalNumber spells a JSON number (RFC 8259, section 6) so that equal
// numbers are equal texts: PostgreSQL prints 1e2 as 100 and keeps the zeros of
// 1.50. Without exponent up to 20 places on either side of the point, with
// beyond.
func canonicalNumber(text string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "-", rest
	}
	mantissa, exponent := text, int64(0)
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		n, err := strconv.ParseInt(text[at+1:], 10, 32)
		if err != nil {
			return sign + text // beyond what PostgreSQL takes, too
		}
		mantissa, exponent = text[:at], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	exponent -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(trimmed))
	digits = strings.TrimLeft(trimmed, "0")
	if digits == "" {
		return "0"
	}
	point := int64(len(digits)) + exponent // how many digits stand before the point
	switch {
	case point > 20 || point < -20:
		out := sign + digits[:1]
		if len(digits) > 1 {
			out += "." + digits[1:]
		}
		return out + "e" + strconv.FormatInt(point-1, 10)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", int(-point)) + digits
	case exponent >= 0:
		return sign + digits + strings.Repeat("0", int(exponent))
	}
	return sign + digits[:point] + "." + digits[point:]
}

// sortJSONArray returns the canonical text of a JSON array with its members
// sorted by their own canonical texts; any other text is returned as it is.
func sortJSONArray(text string) string {
	var members []json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil {
		return text
	}
	slices.SortFunc(members, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	out, err := json.Marshal(members)
	if err != nil {
		return text
	}
	return string(out)
}

// Row is a record or an object by column name. A column that is missing from a
// row is unknown, which is not the same as [Null].
type Row map[string]Value

// Clone returns a copy that can be changed without changing r.
func (r Row) Clone() Row {
	c := make(Row, len(r))
	for k, v := range r {
		c[k] = v
	}
	return c
}
