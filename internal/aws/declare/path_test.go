package declare

import (
	"reflect"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

type pairOf struct{ Key, Value *string }

type inner struct {
	Name  *string
	Count int32
}

type shape struct {
	Plain      string
	Inner      *inner
	Deep       struct{ Inner *inner }
	Attributes map[string]string
	Pairs      []pairOf
	List       []inner
	Pointers   []*inner
	Texts      []string
}

func TestPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path string
		set  any
	}{
		{"Plain", "x"},
		{"Inner.Name", awssdk.String("x")},
		{"Inner.Count", int32(3)},
		{"Deep.Inner.Name", awssdk.String("x")},
		{"Attributes[a.b/c]", "x"},
		{"Pairs[stickiness.enabled]", awssdk.String("true")},
		{"List[0].Count", int32(7)},
		{"List[].Name", []*string{awssdk.String("a"), awssdk.String("b")}},
		{"Pointers[].Count", []int32{1, 2}},
		{"Texts", []string{"a"}},
	} {
		p, err := resolve(reflect.TypeFor[shape](), c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if p.leaf != reflect.TypeOf(c.set) {
			t.Errorf("%s leads to %s, want %T", c.path, p.leaf, c.set)
			continue
		}
		empty := reflect.ValueOf(new(shape))
		if found, ok := p.get(empty); ok && !found.IsZero() {
			t.Errorf("%s: nothing has %v there", c.path, found)
		}
		p.set(empty, reflect.ValueOf(c.set))
		if found, ok := p.get(empty); !ok || !reflect.DeepEqual(found.Interface(), c.set) {
			t.Errorf("%s: got %v, %t, want %v", c.path, found, ok, c.set)
		}
	}
}

func TestPathRefused(t *testing.T) {
	t.Parallel()
	for path, why := range map[string]string{
		"Nowhere":       "has no member Nowhere",
		"Inner.Nowhere": "has no member Nowhere",
		"Plain.Inner":   "has no members",
		"Inner[0]":      "neither a list nor a map",
		"List[key]":     "no list of keys and values",
		"Attributes[a":  "not closed",
		"Attributes[]":  "neither a list nor a map",
		"List[].Naem":   "has no member Naem",
	} {
		if p, err := resolve(reflect.TypeFor[shape](), path); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, %v, want an error that says %q", path, p, err, why)
		}
	}
}

// Whatever a path says, resolving it ends, and what resolves can be set and
// read.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"Inner.Name", "Attributes[a.b]", "List[].Name", "List[0]", "[", "]", "..", "Inner.",
		"Pairs[x].y"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := resolve(reflect.TypeFor[shape](), text)
		if err != nil {
			return
		}
		into := reflect.ValueOf(new(shape))
		p.set(into, reflect.Zero(p.leaf))
		p.get(into)
	})
}

// What is filled in one input is not in another, nor in the template.
func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	template := shape{Inner: &inner{}, Attributes: map[string]string{"a": "b"}, List: []inner{{Count: 1}}}
	copied := clone(reflect.ValueOf(template))
	for path, x := range map[string]any{"Inner.Name": awssdk.String("x"), "Attributes[c]": "d",
		"List[0].Count": int32(9)} {
		p, err := resolve(reflect.TypeFor[shape](), path)
		if err != nil {
			t.Fatal(err)
		}
		addressable := reflect.New(copied.Type())
		addressable.Elem().Set(copied)
		p.set(addressable, reflect.ValueOf(x))
	}
	if template.Inner.Name != nil || len(template.Attributes) != 1 || template.List[0].Count != 1 {
		t.Errorf("the template has become %+v", template)
	}
}
