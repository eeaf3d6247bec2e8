package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"iasql/internal/aws/cfn"
)

var update = flag.Bool("update", false, "write the table of names in docs/every-type.md")

// TestNamesThatPeopleKnow: docs/every-type.md has all names of types, as the file says them.
// To write them: go test ./test/docs -run TestNamesThatPeopleKnow -args -update
func TestNamesThatPeopleKnow(t *testing.T) {
	t.Parallel()
	const (
		page  = "../../docs/every-type.md"
		begin = "<!-- names: made by go test ./test/docs -run TestNamesThatPeopleKnow -args -update -->\n"
		end   = "<!-- end of names -->\n"
	)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the names", page)
	}
	var b strings.Builder
	b.WriteString("| name | type | |\n|---|---|---|\n")
	for _, n := range cfn.Known() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", n.Name, n.Type, n.Doc)
	}
	want := before + begin + b.String() + end + after
	switch {
	case want == string(text):
	case !*update:
		t.Errorf("%s has other names than internal/aws/cfn/names.txt: go test ./test/docs -run TestNamesThatPeopleKnow "+
			"-args -update", page)
	default:
		// #nosec G306 -- a page for everybody to read
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
