package declare

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Codec says how a column's values look in the API where that is not what their
// types say. Decode gets the member as it is, a pointer already followed;
// Encode returns what the member is set to.
type Codec struct {
	Decode func(member any) (modules.Value, error)
	Encode func(modules.Value) (any, error)

	readsOnly bool // it is written as a column without a codec
}

// Reads is a codec of what alone is read otherwise: it is written as a column without a codec.
func Reads(decode func(member any) (modules.Value, error)) Codec {
	return Codec{Decode: decode, readsOnly: true}
}

// Unless are texts of which some that AWS answers with mean none, such as "None".
func Unless(none func(text string) bool) Codec {
	return Reads(func(member any) (modules.Value, error) {
		text := reflect.ValueOf(member).String()
		if none(text) {
			return modules.Null, nil
		}
		return modules.NonEmpty(text), nil
	})
}

// UnlessIs is [Unless] for one such text.
func UnlessIs(none string) Codec { return Unless(func(text string) bool { return text == none }) }

// Millis are times that the API has as milliseconds since 1970.
var Millis = Codec{
	Decode: func(member any) (modules.Value, error) {
		at := time.UnixMilli(reflect.ValueOf(member).Int())
		return modules.TimePtr(&at), nil
	},
}

// Seconds are times that the API has as texts of seconds since 1970. Fractions are left out: AWS tells none.
var Seconds = Codec{
	Decode: func(member any) (modules.Value, error) {
		text := reflect.Indirect(reflect.ValueOf(member)).String()
		whole, _, _ := strings.Cut(text, ".")
		seconds, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return modules.Null, nil // it tells nothing, and what else the answer tells is true (R34)
		}
		at := time.Unix(seconds, 0)
		return modules.TimePtr(&at), nil
	},
}

// PolicyText are JSON documents that the API has as texts.
var PolicyText = Reads(func(member any) (modules.Value, error) {
	text := reflect.ValueOf(member).String()
	return aws.Policy(&text), nil
})

// LastPart are names of which the API has a longer form, such as an ARN or an
// address, that ends with separator and the name. They are written as names.
func LastPart(separator string) Codec {
	return Reads(func(member any) (modules.Value, error) {
		text := reflect.ValueOf(member).String()
		return modules.NonEmpty(text[strings.LastIndex(text, separator)+1:]), nil
	})
}

// Is are booleans: whether the API has one of these texts. They are written as
// booleans.
func Is(texts ...string) Codec {
	return Reads(func(member any) (modules.Value, error) {
		return modules.Bool(slices.Contains(texts, reflect.ValueOf(member).String())), nil
	})
}

// Each are lists of texts that the API has as lists of structures.
func Each[T any](text func(T) string, structure func(string) T) Codec {
	return Codec{
		Decode: func(member any) (modules.Value, error) {
			list := member.([]T)
			if list == nil {
				return modules.Null, nil
			}
			texts := make([]string, len(list))
			for i, member := range list {
				texts[i] = text(member)
			}
			return modules.Strings(texts), nil
		},
		Encode: func(v modules.Value) (any, error) {
			list := []T{}
			for _, text := range v.Strings() {
				list = append(list, structure(text))
			}
			return list, nil
		},
	}
}

// Pairs are objects of texts that the API has as lists of keys and values. They
// are only read: a call that changes them says so itself.
var Pairs = Codec{
	Decode: func(member any) (modules.Value, error) {
		list := reflect.ValueOf(member)
		if !isTags(list.Type()) {
			return modules.Null, fmt.Errorf("%s is no list of keys and values", list.Type())
		}
		return modules.StringMap(readTags(list)), nil
	},
}

// Trimmed are texts that the API has with a prefix, or a suffix, which the
// column does not have. They are written without.
func Trimmed(prefix, suffix string) Codec {
	return Reads(func(member any) (modules.Value, error) {
		text := strings.TrimPrefix(reflect.ValueOf(member).String(), prefix)
		return modules.NonEmpty(strings.TrimSuffix(text, suffix)), nil
	})
}

var timeType = reflect.TypeFor[time.Time]()

// decodable reports why a member of type t cannot be read into a column.
func decodable(c *Column, t reflect.Type) error {
	if c.codec != nil && c.codec.Decode != nil || c.tagging != nil {
		return nil
	}
	return fits(c.Type, t)
}

// encodable reports why a column cannot be written to a member of type t.
func encodable(c *Column, t reflect.Type) error {
	if c.codec != nil && !c.codec.readsOnly {
		if c.codec.Encode == nil {
			return fmt.Errorf("its codec does not write")
		}
		return nil
	}
	return fits(c.Type, t)
}

func fits(column modules.Type, t reflect.Type) error {
	t = deref(t)
	ok := false
	switch column {
	case modules.TypeBool:
		ok = t.Kind() == reflect.Bool || t.Kind() == reflect.String
	case modules.TypeInteger, modules.TypeBigint:
		ok = t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64 || t.Kind() == reflect.String
		ok = ok || column == modules.TypeBigint // a reference: in the cloud's words, a text
	case modules.TypeDouble:
		ok = t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32 || t.Kind() == reflect.String
	case modules.TypeTime:
		ok = t == timeType || t.Kind() == reflect.String
	case modules.TypeTexts:
		ok = t.Kind() == reflect.Slice && deref(t.Elem()).Kind() == reflect.String
	case modules.TypeJSON:
		ok = t.Kind() == reflect.Struct || t.Kind() == reflect.Slice || t.Kind() == reflect.Map ||
			t.Kind() == reflect.String
	default:
		ok = t.Kind() == reflect.String
	}
	if !ok {
		return fmt.Errorf("a column of type %s is not what %s holds", column, t)
	}
	return nil
}

// said returns a member without its pointer, and whether AWS says anything there.
func said(c *Column, v reflect.Value, there bool) (reflect.Value, bool) {
	if there {
		v, there = indirect(v)
	}
	if there && v.Kind() == reflect.String && v.Len() == 0 && !c.keepEmpty {
		there = false // what the SDK has for an enumeration that AWS left out, and AWS for no text
	}
	return v, there
}

// decode returns a member's value as the column holds it.
func decode(c *Column, v reflect.Value, there bool) (modules.Value, error) {
	if v, there = said(c, v, there); !there {
		return c.absent(), nil
	}
	if c.codec != nil && c.codec.Decode != nil {
		return c.codec.Decode(v.Interface())
	}
	value, err := decodeKind(c.Type, v)
	if err == nil && c.Column.Same(value, modules.Null) {
		value = c.absent()
	}
	return value, err
}

func decodeKind(column modules.Type, v reflect.Value) (modules.Value, error) {
	switch v.Kind() {
	case reflect.String:
		return decodeText(column, v.String())
	case reflect.Bool:
		return modules.Bool(v.Bool()), nil
	case reflect.Int32, reflect.Int64:
		return modules.Int(v.Int()), nil
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		return modules.FloatPtr(&f), nil
	case reflect.Slice:
		if column == modules.TypeTexts {
			return decodeTexts(v), nil
		}
		if v.Len() == 0 {
			return modules.Null, nil
		}
	case reflect.Map:
		if v.Len() == 0 {
			return modules.Null, nil
		}
		if m, ok := v.Interface().(map[string]string); ok {
			return modules.StringMap(m), nil
		}
	}
	if v.Type() == timeType {
		at := v.Interface().(time.Time)
		return modules.TimePtr(&at), nil
	}
	return aws.Document(v.Interface())
}

func decodeText(column modules.Type, text string) (modules.Value, error) {
	switch column {
	case modules.TypeText:
		return modules.Text(text), nil
	case modules.TypeBigint, modules.TypeInteger:
		return modules.Text(text), nil // a number, or what the cloud calls a referenced object
	case modules.TypeJSON:
		return aws.Policy(&text), nil
	case modules.TypeBool:
		text = strings.ToLower(text)
	}
	canonical, err := column.Canonical(text)
	if err != nil {
		return modules.Null, err
	}
	return modules.Text(canonical), nil
}

func decodeTexts(v reflect.Value) modules.Value {
	if v.IsNil() {
		return modules.Null
	}
	texts := make([]string, 0, v.Len())
	for i := range v.Len() {
		if member, ok := indirect(v.Index(i)); ok {
			texts = append(texts, member.String())
		}
	}
	return modules.Strings(texts)
}

// encode returns what a member of type t is set to for a value that is not NULL.
func encode(c *Column, value modules.Value, t reflect.Type) (reflect.Value, error) {
	if c.codec != nil && !c.codec.readsOnly {
		raw, err := c.codec.Encode(value)
		if err != nil {
			return reflect.Value{}, refuse(c.Name, err)
		}
		return conform(reflect.ValueOf(raw), t)
	}
	out := reflect.New(t).Elem()
	target := out
	for target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	if err := encodeKind(c, value, target); err != nil {
		return reflect.Value{}, refuse(c.Name, err)
	}
	return out, nil
}

func encodeKind(c *Column, value modules.Value, target reflect.Value) error {
	switch target.Kind() {
	case reflect.String:
		target.SetString(value.String())
		return nil
	case reflect.Bool:
		target.SetBool(value.Bool())
		return nil
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(value.String(), 10, target.Type().Bits())
		target.SetInt(n)
		return err
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(value.String(), target.Type().Bits())
		target.SetFloat(f)
		return err
	case reflect.Map:
		if target.Type() == reflect.TypeFor[map[string]string]() {
			target.Set(reflect.ValueOf(value.StringMap()))
			return nil
		}
	case reflect.Slice:
		if c.Type == modules.TypeTexts {
			texts := value.Strings()
			list := reflect.MakeSlice(target.Type(), len(texts), len(texts))
			for i, text := range texts {
				member := list.Index(i)
				for member.Kind() == reflect.Pointer {
					member.Set(reflect.New(member.Type().Elem()))
					member = member.Elem()
				}
				member.SetString(text)
			}
			target.Set(list)
			return nil
		}
	}
	if target.Type() == timeType {
		at, err := time.Parse(time.RFC3339Nano, value.String())
		target.Set(reflect.ValueOf(at))
		return err
	}
	return aws.ParseDocument(c.Name, value, target.Addr().Interface())
}

// conform makes what a codec returned the type of a member.
func conform(v reflect.Value, t reflect.Type) (reflect.Value, error) {
	switch {
	case !v.IsValid():
		return reflect.Zero(t), nil
	case v.Type().AssignableTo(t):
		return v, nil
	case t.Kind() == reflect.Pointer && v.Kind() != reflect.Pointer:
		inner, err := conform(v, t.Elem())
		if err != nil {
			return inner, err
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(inner)
		return p, nil
	case v.Type().ConvertibleTo(t) && v.Kind() == t.Kind():
		return v.Convert(t), nil
	}
	return reflect.Value{}, fmt.Errorf("a codec returned %s for a member of type %s", v.Type(), t)
}

// refuse returns the error of a value that the API has no form for.
func refuse(column string, err error) error {
	var known *modules.Error
	if errors.As(err, &known) {
		return err
	}
	return &modules.Error{Class: modules.Invalid, Code: "InvalidValue", Message: column + ": " + err.Error(), Err: err}
}

// Newer reports whether to is a later version than from, for [Column.OneWay]: part
// by part, by number where both parts are numbers.
func Newer(from, to string) bool {
	parts := func(version string) []string {
		return strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	}
	return slices.CompareFunc(parts(from), parts(to), func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	}) < 0
}

// SameVersion reports whether one version is the other or a less exact name of it, for
// [Column.Same]: asked for "15", RDS installs, and tells, "15.8".
func SameVersion(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// Larger reports whether to is a larger number than from, for [Column.OneWay].
func Larger(from, to string) bool {
	x, errX := strconv.ParseInt(from, 10, 64)
	y, errY := strconv.ParseInt(to, 10, 64)
	return errX == nil && errY == nil && x < y
}

// SameKey reports whether two names of KMS keys can be of the same, for
// [Column.Same]: AWS answers with the ARN where it was given an id or an alias.
func SameKey(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || strings.HasPrefix(b, "arn:") && (strings.HasSuffix(b, "/"+a) || strings.HasSuffix(b, ":"+a))
}
