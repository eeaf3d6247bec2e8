package declare

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/modules"
)

// part is a part of a list, with a name and something that can differ.
type part struct {
	Name, Says string
}

func TestParts(t *testing.T) {
	t.Parallel()
	var calls []string
	put := func(p part, had *part) error {
		if had == nil {
			had = &part{}
		}
		calls = append(calls, "put "+p.Name+" "+had.Says+">"+p.Says)
		return nil
	}
	removed := error(&modules.Error{Class: modules.NotFound})
	remove := func(p part) error {
		calls = append(calls, "remove "+p.Name)
		return removed
	}
	change := func() error {
		return Parts([]part{{"gone", ""}, {"same", "a"}, {"other", "a"}},
			[]part{{"other", "b"}, {"same", "a"}, {"new", "c"}},
			func(p part) string { return p.Name }, func(a, b part) bool { return a == b }, put, remove)
	}
	if err := change(); err != nil {
		t.Errorf("a part that was gone already: %v", err)
	}
	if want := []string{"put other a>b", "put new >c", "remove gone"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	removed = errors.New("refused")
	if err := change(); !errors.Is(err, removed) {
		t.Errorf("got %v, want what the API refused", err)
	}
}

func TestShaped(t *testing.T) {
	t.Parallel()
	type told struct{ Name, Says, State string } // as AWS answers
	byName := func(list []part) {
		slices.SortFunc(list, func(a, b part) int { return strings.Compare(a.Name, b.Name) })
	}
	codec := Shaped("parts", byName)
	v, err := codec.Decode([]told{{"b", "2", "on"}, {"a", "1", "on"}})
	if want := `[{"Name":"a","Says":"1"},{"Name":"b","Says":"2"}]`; err != nil || strings.ReplaceAll(v.String(), " ",
		"") != want {
		t.Errorf("read %s, %v, want %s", v, err, want)
	}
	if v, err := codec.Decode([]told{}); err != nil || !v.IsNull() {
		t.Errorf("none is %s, %v, want NULL", v, err)
	}
	sent, err := codec.Encode(modules.Text(`[{"Name": "b"}, {"Name": "a"}]`))
	if want := []part{{Name: "a"}, {Name: "b"}}; err != nil || !reflect.DeepEqual(sent, want) {
		t.Errorf("sends %v, %v, want %v", sent, err, want)
	}
	if _, err := codec.Encode(modules.Text(`[{"State": "on"}]`)); err == nil || !strings.Contains(err.Error(), "parts") {
		t.Errorf("what calls do not take: %v, want an error that names the column", err)
	}
}

func TestBoth(t *testing.T) {
	t.Parallel()
	s := &Step{Have: modules.Row{"part": modules.Text(`{"Name": "a"}`), "names": modules.Strings([]string{"a", "b"})},
		Want: modules.Row{"part": modules.Null, "names": modules.Strings([]string{"b", "c"})}}
	have, want, err := Both(s, "part", func(p *part) { p.Says += "!" })
	if err != nil || have != (part{"a", "!"}) || want != (part{Says: "!"}) {
		t.Errorf("has %v, wants %v, %v", have, want, err)
	}
	if added, gone := s.Added("names"); !slices.Equal(added, []string{"c"}) || !slices.Equal(gone, []string{"a"}) {
		t.Errorf("adds %q and removes %q", added, gone)
	}
	s.Want["part"] = modules.Text(`{"Nmae": "a"}`)
	if _, _, err := Both[part](s, "part", nil); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a member that there is not: %v", err)
	}
}

func TestUnless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]modules.Value{"None": modules.Null, "": modules.Null, "a": modules.Text("a")} {
		if v, err := UnlessIs("None").Decode(text); err != nil || v != want {
			t.Errorf("%q is read as %v, %v, want %v", text, v, err, want)
		}
	}
	c := Text("policy", "Name", "").As(UnlessIs("None"))
	if v, err := encode(&c, modules.Text("a"), reflect.TypeFor[*string]()); err != nil ||
		awssdk.ToString(v.Interface().(*string)) != "a" {
		t.Errorf("is written as %v, %v", v, err)
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	row := modules.Row{"is_default": modules.Bool(true), "of": modules.Text("EKS"), "none": modules.Null}
	for why, want := range map[string]string{
		IfTrue("is_default", "it is the default")(row): "it is the default",
		IfTrue("none", "it is the default")(row):       "",
		IfSet("of", "%s made it")(row):                 "EKS made it",
	} {
		if why != want {
			t.Errorf("kept because %q, want %q", why, want)
		}
	}
	if why := IfSet("none", "%s made it")(row); why != "" {
		t.Errorf("kept because %q", why)
	}
}

func TestPageSize(t *testing.T) {
	t.Parallel()
	type listed struct {
		Within     *string
		MaxResults *int32
	}
	type unpaged struct{ Within *string }
	paged := Call(func(string, context.Context, *listed, ...func(*int)) (*part, error) { return nil, nil },
		With(&listed{Within: awssdk.String("a")}), PageSize(7))
	in := paged.input().Interface().(*listed)
	if awssdk.ToInt32(in.MaxResults) != 7 || awssdk.ToString(in.Within) != "a" {
		t.Errorf("asks for %v of %v", in.MaxResults, in.Within)
	}
	none := Call(func(string, context.Context, *unpaged, ...func(*int)) (*part, error) { return nil, nil }, PageSize(7))
	if err := none.check(reflect.TypeFor[string](), nil); err == nil || !strings.Contains(err.Error(), "size of pages") {
		t.Errorf("an input without: %v", err)
	}
}
