package hosts

import (
	"strings"
	"testing"
)

// TestSources: the command line names each source once, by a name that a row can have.
func TestSources(t *testing.T) {
	t.Parallel()
	sources := Sources{}
	for text, want := range map[string]string{
		"artifacts=/srv/artifacts": "", "a.b_C-1=relative": "",
		"":               "has no name",
		"=/srv":          "has no name",
		"a/b=/srv":       "has no name",
		"..=/srv":        "has no name",
		"a b=/srv":       "has no name",
		"name":           "names no directory",
		"name=":          "names no directory",
		"/srv/artifacts": "has no name",
		"ä=/srv":         "has no name",
	} {
		err := sources.Add(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := sources.Add("artifacts=/elsewhere"); err == nil || !strings.Contains(err.Error(), "the name of another") {
		t.Errorf("twice: %v", err)
	}
	if sources["artifacts"] != "/srv/artifacts" || !strings.HasSuffix(sources["a.b_C-1"], "/relative") || len(sources) != 2 {
		t.Errorf("there are %v", sources)
	}
}
