package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"iasql/internal/hosts/runner"
)

// TestHostileContents: what a host says of contents and attributes is bounded, and shown without harm.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	text, many := "text", map[string]*string{}
	for n := range runner.MaxXattrs + 1 {
		many[fmt.Sprint("user.", n)] = &text
	}
	long := strings.Repeat("x", 1<<20)
	for what, e := range map[string]runner.Entry{
		"a large content":   {Bytes: make([]byte, runner.MaxBytes+1)},
		"no sum":            {SHA256: "0123"},
		"two contents":      {Content: &text, Bytes: []byte{0}},
		"many attributes":   {Xattrs: many},
		"a large attribute": {Xattrs: map[string]*string{"user.a": &long}},
		"a long name":       {Xattrs: map[string]*string{long: &text}},
	} {
		e.Path, e.Kind = "/f", runner.File
		_, err := entries("web", func(each func(runner.Answer) error) error {
			return each(runner.Answer{Files: []runner.Entry{e}})
		}, func(string) bool { return true })
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	f := File{Entry: runner.Entry{Xattrs: map[string]*string{"user.a\x1b[31m": &text, "user.a\u202eb": nil}}}
	names := slices.Sorted(maps.Keys(f.Attributes()))
	if got := strings.Join(names, " "); got != `user.a\u001b[31m user.a\u202eb` {
		t.Errorf("the names are %s", got)
	}
}
