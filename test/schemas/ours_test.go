package schemas

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

// table is a table with where its columns live in the API, which is unknown of
// one that is not declared.
type table struct {
	*modules.Table
	members map[string][]declare.Member
	made    []string // columns that are made of what AWS publishes, and so cannot differ
}

func tables() []table {
	var list []table
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, r := range m.Resources {
			t := table{Table: r.Table()}
			if declared, ok := r.(interface {
				Members() map[string][]declare.Member
			}); ok {
				t.members = declared.Members()
			}
			if declared, ok := r.(interface{ Made() []string }); ok {
				t.made = declared.Made()
			}
			list = append(list, t)
		}
		for _, settings := range m.Settings {
			list = append(list, table{Table: settings})
		}
	}
	return list
}

var bracket = regexp.MustCompile(`\[([^\]]*)\]`)

// property returns the property that a column is, by its name in the schema.
func (t table) property(s *schema, c *modules.Column) (path string, p *property, required bool) {
	if to, ok := properties[t.Name+"."+c.Name]; ok {
		for to := range strings.SplitSeq(to, "|") {
			if path, p, required := s.find(to); p != nil {
				return path, p, required
			}
		}
		return "", nil, false
	}
	members := t.members[c.Name]
	if c.Name == modules.ColumnTags {
		members = append(members, declare.Member{Path: "Tags"}, declare.Member{Path: "HostedZoneTags"})
	}
	for _, m := range members {
		for _, candidate := range candidates(m.Path) {
			if path, p, required := s.find(candidate); p != nil {
				return path, p, required
			}
		}
	}
	return "", nil, false
}

// candidates are the paths of properties that a path of the API's may be.
// Attributes are properties of their own, and what AWS answers with in one
// structure has no name in a schema.
func candidates(member string) []string {
	if m := bracket.FindStringSubmatch(member); m != nil && m[1] != "" && m[1] != "0" {
		return []string{m[1]}
	}
	path := strings.ReplaceAll(bracket.ReplaceAllString(member, ""), ".", "/")
	list := []string{path}
	if path == "ResourceArn" {
		list = append(list, "Arn")
	}
	for _, whole := range []string{"Configuration/", "TaskDefinition/", "HostedZone/"} {
		if rest, ok := strings.CutPrefix(path, whole); ok {
			list = append(list, rest)
		}
	}
	return list
}

// bounds are the least and the most that a column may be, have characters, or
// have members.
type bounds struct{ least, most float64 }

var anything = bounds{math.Inf(-1), math.Inf(1)}

func (b bounds) String() string {
	side := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case b == anything:
		return "any"
	case math.IsInf(b.least, -1):
		return "up to " + side(b.most)
	case math.IsInf(b.most, 1):
		return "from " + side(b.least)
	}
	return side(b.least) + " to " + side(b.most)
}

const number = `(-?[0-9]+)`

// limits returns the bounds that a column's check sets for what, which is the
// column or the function of it that counts.
func limits(check, what string) bounds {
	b := anything
	what = regexp.QuoteMeta(what)
	parse := func(text string) float64 { f, _ := strconv.ParseFloat(text, 64); return f }
	for _, m := range regexp.MustCompile(`(?:^|[^a-z_(])`+what+` BETWEEN `+number+` AND `+
		number).FindAllStringSubmatch(check, -1) {
		b.least, b.most = max(b.least, parse(m[1])), min(b.most, parse(m[2]))
	}
	for _, m := range regexp.MustCompile(`(?:^|[^a-z_(])`+what+` (<=|<|>=|>) `+number).FindAllStringSubmatch(check,
		-1) {
		switch n := parse(m[2]); m[1] {
		case "<=":
			b.most = min(b.most, n)
		case "<":
			b.most = min(b.most, n-1)
		case ">=":
			b.least = max(b.least, n)
		case ">":
			b.least = max(b.least, n+1)
		}
	}
	return b
}

var (
	counted = regexp.MustCompile(`~ '\^\[[^\]]*\]\{([0-9]+),([0-9]+)\}\$'`)
	some    = regexp.MustCompile(`~ '\^\[[^\]]*\]\+`)
	filled  = regexp.MustCompile(` <> ''`)
	listed  = regexp.MustCompile(`^([a-z_]+) IN \(([0-9, ]+)\)$`)
)

// count returns what of a column the bounds are of, and the bounds.
func count(c *modules.Column) (what string, b bounds) {
	switch c.Type {
	case modules.TypeInteger, modules.TypeBigint, modules.TypeDouble:
		if c.References != nil {
			return "", anything
		}
		return "range", limits(c.Check, c.Name)
	case modules.TypeText:
		b := limits(c.Check, "length("+c.Name+")")
		if m := counted.FindStringSubmatch(c.Check); m != nil {
			least, _ := strconv.ParseFloat(m[1], 64)
			most, _ := strconv.ParseFloat(m[2], 64)
			b.least, b.most = max(b.least, least), min(b.most, most)
		}
		if filled.MatchString(c.Check) || some.MatchString(c.Check) {
			b.least = max(b.least, 1)
		}
		return "length", b
	case modules.TypeTexts:
		return "members", limits(c.Check, "cardinality("+c.Name+")")
	case modules.TypeJSON:
		return "members", limits(c.Check, "jsonb_array_length("+c.Name+")")
	}
	return "", anything
}

var matched = regexp.MustCompile(`([a-z_]+) ~ '((?:[^']|'')*)'`)

// pattern is the regular expression that a column's check asks for, "" if there
// is none.
func pattern(c *modules.Column) string {
	if m := matched.FindStringSubmatch(c.Check); m != nil && m[1] == c.Name {
		return strings.ReplaceAll(m[2], "''", "'")
	}
	return ""
}

// values are a column's values, nil if it has no enumeration.
func values(c *modules.Column) []string {
	if m := listed.FindStringSubmatch(c.Check); m != nil {
		return strings.Split(strings.ReplaceAll(m[2], " ", ""), ",")
	}
	return c.Enum
}

// enumeration returns the values of the SDK's enumeration that a column has, and
// its type; nil if it has none.
func (t table) enumeration(c *modules.Column) (values []string, of reflect.Type) {
	if of, ok := enumerations[t.Name+"."+c.Name]; ok {
		return valuesOf(of)
	}
	members := t.members[c.Name]
	for _, m := range members {
		if values, of := valuesOf(m.Type); values != nil {
			return values, of
		}
	}
	return nil, nil
}

// valuesOf are the values of one of the SDK's enumerations, or of what a list has
// members of; nil of any other type.
func valuesOf(t reflect.Type) (values []string, of reflect.Type) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.String {
		return nil, nil
	}
	method := reflect.Zero(t).MethodByName("Values")
	if !method.IsValid() || method.Type().NumIn() != 0 {
		return nil, nil
	}
	all := method.Call(nil)[0]
	for i := range all.Len() {
		values = append(values, all.Index(i).String())
	}
	return values, t
}

// without returns the members of a that b lacks, sorted.
func without(a, b []string) []string {
	var rest []string
	for _, v := range a {
		if !slices.Contains(b, v) {
			rest = append(rest, v)
		}
	}
	slices.Sort(rest)
	return rest
}

// What a check says of a column's size is understood.
func TestCount(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for _, c := range []struct {
		column declare.Column
		what   string
		want   bounds
	}{
		{declare.Integer("n", "", "").Between(-1, 5), "range", bounds{-1, 5}},
		{declare.Integer("n", "", "").Check("n > 0"), "range", bounds{1, inf}},
		{declare.Integer("n", "", ""), "range", anything},
		{declare.Text("a", "", "").Length(2, 9), "length", bounds{2, 9}},
		{declare.Text("a", "", "").Matches("^[a-z]{1,64}$"), "length", bounds{1, 64}},
		{declare.Text("a", "", "").Check("a ~ '^[a-z]+$' AND length(a) <= 80"), "length", bounds{1, 80}},
		{declare.Text("a", "", "").Check("a <> ''"), "length", bounds{1, inf}},
		{declare.Texts("l", "", "").Check("cardinality(l) <= 50"), "members", bounds{-inf, 50}},
		{declare.JSON("j", "", "").Check("jsonb_typeof(j) = 'array' AND jsonb_array_length(j) <= 5"), "members",
			bounds{-inf, 5}},
	} {
		if what, got := count(&c.column.Column); what != c.what || got != c.want {
			t.Errorf("%q is %s %v, want %s %v", c.column.Column.Check, what, got, c.what, c.want)
		}
	}
}
