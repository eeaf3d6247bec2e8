package modules

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var types = []Type{TypeText, TypeBool, TypeInteger, TypeBigint, TypeDouble, TypeTime, TypeJSON, TypeTexts,
	TypeCIDR, TypeInet, TypeBytes}

// A canonical text is its own canonical text, and can be stored.
func FuzzCanonical(f *testing.F) {
	for i, text := range []string{"a\x00b", "t", "-0042", "9223372036854775807", "1e400",
		"2026-01-02 03:04:05.123456+00", `{"a": [1.50, 1e2, -0.0], "b\u0000": "\ud800"}`,
		`["b", "a"]`, "10.1.2.3/8", "fe80::1%eth0", "infinity", "9999-12-31T23:59:59-23:59", "0x1p-2",
		"::ffff:10.0.0.1/120", "1.2.3.4/32", `\x00FF`, `\x0`} {
		f.Add(uint8(i), text)
		f.Add(uint8(i+5), text)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		kind := types[int(which)%len(types)]
		once, err := kind.Canonical(text)
		if err != nil {
			return
		}
		twice, err := kind.Canonical(once)
		if err != nil || twice != once {
			t.Errorf("%s: %q becomes %q, which becomes %q (%v)", kind, text, once, twice, err)
		}
		v := Text(once)
		if !utf8.ValidString(v.String()) || strings.ContainsRune(v.String(), 0) {
			t.Errorf("%q cannot be stored", v)
		}
		if kind == TypeJSON && (!json.Valid([]byte(once)) || v.String() != once ||
			strings.Contains(strings.ReplaceAll(once, `\\`, ""), `\u0000`)) {
			t.Errorf("%q is no JSON that can be stored", once)
		}
		// What is read of it does not panic either.
		_, _, _, _, _, _ = v.Bool(), v.Int(), v.Int32Ptr(), v.Float64Ptr(), v.StringMap(), v.Strings()
	})
}

// Numbers that are equal have equal texts, and others have not.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{"0", "-0.00", "1e2", "100", "1.50", "-1.5E-30", "123456789012345678901234567890",
		"1e20", "1e21", "0.00000000000000000001", "9e-21", "1e999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.Trim(text, "-+.eE0123456789") != "" {
			return
		}
		once := canonicalNumber(text)
		if !json.Valid([]byte(once)) || canonicalNumber(once) != once {
			t.Fatalf("%s becomes %s, which becomes %s", text, once, canonicalNumber(once))
		}
		var a, b float64
		if json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal([]byte(once), &b) == nil && a != b {
			t.Errorf("%s becomes %s", text, once)
		}
		mantissa, exponent, has := strings.Cut(strings.ToLower(once), "e")
		if !has && strings.Contains(mantissa, ".") {
			if padded := canonicalNumber(mantissa + "000"); padded != once {
				t.Errorf("%s000 becomes %s", mantissa, padded)
			}
		}
		_ = exponent
	})
}

// Sameness is an equivalence, whatever a column's flags.
func FuzzSame(f *testing.F) {
	f.Add(`[1,2]`, `[2,1]`, `[2,1.0]`, uint8(3))
	f.Add(`{}`, `[]`, ``, uint8(2))
	f.Add(`[[],{}]`, `[{},[]]`, `null`, uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c string, flags uint8) {
		col := &Column{Name: "c", Type: TypeJSON, Unordered: flags&1 != 0, EmptyIsNull: flags&2 != 0}
		value := func(text string) Value {
			v, err := JSONText(text)
			if err != nil {
				return Null
			}
			return v
		}
		x, y, z := value(a), value(b), value(c)
		if !col.Same(x, x) || col.Same(x, y) != col.Same(y, x) || col.Same(x, y) && col.Same(y, z) && !col.Same(x, z) {
			t.Errorf("%+v: %q %q %q", col, x, y, z)
		}
	})
}

// Keys of different identities differ, as long as only the last of their
// columns can hold the separator.
func FuzzKey(f *testing.F) {
	f.Add("bucket", "key", "bucket", "k\x1fey")
	f.Add("", "a", "a", "")
	table := &Table{Name: "t", Columns: []Column{{Name: "a", Type: TypeText, Identity: true},
		{Name: "b", Type: TypeText, Identity: true}}}
	f.Fuzz(func(t *testing.T, a1, b1, a2, b2 string) {
		if strings.Contains(a1+a2, "\x1f") {
			return
		}
		one, two := Row{"a": Text(a1), "b": Text(b1)}, Row{"a": Text(a2), "b": Text(b2)}
		x, ok1 := table.Key(one)
		y, ok2 := table.Key(two)
		if !ok1 || !ok2 || (x == y) != (one["a"] == two["a"] && one["b"] == two["b"]) {
			t.Errorf("%q and %q: %q %q", one, two, x, y)
		}
		delete(one, "a")
		if _, ok := table.Key(one); ok {
			t.Error("a key of half an identity")
		}
	})
}

// Maps and lists of strings come back as they were, as far as they can be
// stored.
func FuzzStrings(f *testing.F) {
	f.Add("a", "b", "c\x00")
	f.Add("\xff", "<&>", "\u2028")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		list := []string{a, b, c}
		got := Strings(list).Strings()
		for i := range list {
			if got[i] != jsonStorable(list[i]) {
				t.Errorf("%q becomes %q", list[i], got[i])
			}
		}
		m := StringMap(map[string]string{a: b}).StringMap()
		if m[jsonStorable(a)] != jsonStorable(b) {
			t.Errorf("%q: %q becomes %q", a, b, m)
		}
	})
}

// jsonStorable is what becomes of a text on its way through JSON, whose encoder
// replaces each byte that is no UTF-8.
func jsonStorable(s string) string {
	raw, _ := json.Marshal(s)
	var out string
	_ = json.Unmarshal(raw, &out)
	return storable(out)
}
