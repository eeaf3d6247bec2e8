package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The document that comments of the code cite.
const design = "docs/design.md"

var (
	ruleHeading    = regexp.MustCompile(`(?m)^### R([0-9]+)\. `)
	sectionHeading = regexp.MustCompile(`(?m)^## ([0-9]+)\. `)

	// A rule is cited as R7, (R2, R13), R2/R3 or R1…R15: a word of its own. With
	// a size after it, it is an instance type as AWS's texts sometimes write it
	// (R5.large); with letters, digits, a dash or an underscore next to it, it is
	// part of another name.
	ruleCited  = regexp.MustCompile(`(^|[^\w.-])R([0-9]+)(\.[0-9]*[a-z]|-|\b)`)
	ruleRange  = regexp.MustCompile(`R[0-9]+(?:…|\.\.\.?)R[0-9]+`)
	designPart = regexp.MustCompile(`§\s?([0-9]+)`)

	uncited   = regexp.MustCompile(`(?m)^- No comment in the code cites this rule`)
	testNamed = regexp.MustCompile("`(Test\\w+)`")
)

// notCited are the files that are not searched for citations, and why.
var notCited = map[string]string{
	design:                      "it speaks of its own rules, which is checked apart",
	"test/docs/design_test.go":  "it has examples of what is no citation",
	"docs/first-change/rule.md": "its rule is an example",
}

// rule is a rule as docs/design.md has it.
type rule struct {
	number int
	text   string
}

func rulesOf(t *testing.T, text string) []rule {
	t.Helper()
	var rules []rule
	for _, m := range ruleHeading.FindAllStringSubmatchIndex(text, -1) {
		number, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil {
			t.Fatal(err)
		}
		end := len(text)
		if next := strings.Index(text[m[1]:], "\n##"); next >= 0 {
			end = m[1] + next
		}
		rules = append(rules, rule{number, text[m[0]:end]})
	}
	return rules
}

// What the design calls by its name in the code is there under that name.
func TestDesignNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	word := regexp.MustCompile(`\w+`)
	known := map[string]bool{}
	walk(t, root, []string{".go", ".sql"}, func(path, text string) {
		for _, w := range word.FindAllString(path, -1) {
			known[w] = true
		}
		for _, w := range word.FindAllString(text, -1) {
			known[w] = true
		}
	})
	// iasql_wait_for_all(), State.Identity, sql/internal/vault.sql
	name := regexp.MustCompile("`([A-Za-z_][\\w./]*)(?:\\(\\))?`")
	for _, m := range name.FindAllStringSubmatch(read(t, filepath.Join(root, design)), -1) {
		for _, w := range word.FindAllString(m[1], -1) {
			if !known[w] {
				t.Errorf("%s names %s: the code has no %s", design, m[1], w)
			}
		}
		if strings.Contains(m[1], "/") {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", design, m[1])
			}
		}
	}
}

// citations are the rules that a text cites. With single, ranges do not count:
// they say nothing about the rules between.
func citations(text string, single bool) []int {
	if single {
		text = ruleRange.ReplaceAllString(text, "")
	}
	var cited []int
	for line := range strings.Lines(text) {
		for rest := line; ; {
			m := ruleCited.FindStringSubmatchIndex(rest)
			if m == nil {
				break
			}
			if tail := rest[m[6]:m[7]]; tail == "" {
				number, _ := strconv.Atoi(rest[m[4]:m[5]])
				cited = append(cited, number)
			}
			rest = rest[m[5]:] // what ends one may begin the next: R2/R3
		}
	}
	return cited
}

func TestCitationsAreTold(t *testing.T) {
	for text, want := range map[string][]int{
		"keeps it (R7).":                      {7},
		"R2/R3, see R10":                      {2, 3, 10},
		`w.violate("R14", "what")`:            {14},
		"rules R1…R15":                        {1, 15},
		"ends with R9.\n":                     {9},
		"an R5.large, R5.24xlarge, R5-series": nil,
		"VAR1, R2D2, x.R1, ISO-R3, r5.large":  nil,
	} {
		if got := citations(text, false); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := citations("R1…R15 and R3", true); !slices.Equal(got, []int{3}) {
		t.Errorf("a range: %v", got)
	}
}

// What is cited exists, and what exists is cited or says why it is not.
func TestDesignIsCited(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text := read(t, filepath.Join(root, design))
	rules := rulesOf(t, text)
	if len(rules) < 24 {
		t.Fatalf("%s has only %d rules", design, len(rules))
	}
	known, cited := map[int]bool{}, map[int]bool{}
	for i, r := range rules {
		known[r.number] = true
		if r.number != i+1 {
			t.Errorf("%s: R%d comes where R%d is due", design, r.number, i+1)
		}
	}
	sections := map[string]bool{}
	for _, m := range sectionHeading.FindAllStringSubmatch(text, -1) {
		sections[m[1]] = true
	}
	tests := map[string]bool{}
	walk(t, root, []string{".go", ".sql", ".md", ".sh"}, func(path, text string) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
		if notCited[path] != "" {
			return
		}
		for _, number := range citations(text, false) {
			if !known[number] {
				t.Errorf("%s cites R%d, which is not in %s", path, number, design)
			}
		}
		for _, m := range designPart.FindAllStringSubmatch(text, -1) {
			if !sections[m[1]] {
				t.Errorf("%s cites §%s, which is not in %s", path, m[1], design)
			}
		}
		if !strings.HasSuffix(path, ".md") {
			for _, number := range citations(text, true) {
				cited[number] = true
			}
		}
	})
	for _, number := range citations(text, false) {
		if !known[number] {
			t.Errorf("%s speaks of R%d, which it does not have", design, number)
		}
	}
	for _, m := range designPart.FindAllStringSubmatch(text, -1) {
		if !sections[m[1]] {
			t.Errorf("%s speaks of §%s, which it does not have", design, m[1])
		}
	}
	for _, r := range rules {
		switch says := uncited.MatchString(r.text); {
		case !cited[r.number] && !says:
			t.Errorf("no code and no test cites R%d; cite it where it is kept, or say in %s why not (\"- No comment "+
				"in the code cites this rule…\")", r.number, design)
		case cited[r.number] && says:
			t.Errorf("%s says that nothing cites R%d, and something does: take the sentence out", design, r.number)
		}
		if !testNamed.MatchString(r.text) {
			t.Errorf("%s names no test of R%d", design, r.number)
		}
	}
	for _, m := range testNamed.FindAllStringSubmatch(text, -1) {
		if !tests[m[1]] {
			t.Errorf("%s names the test %s, which is not there", design, m[1])
		}
	}
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code     = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noSlug   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Relative links of the documentation lead somewhere, down to the heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	anchors := map[string]map[string]bool{}
	walk(t, root, []string{".md"}, func(path, text string) { anchors[path] = anchorsOf(text) })
	walk(t, root, []string{".md"}, func(path, text string) {
		text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // a URL
				continue
			}
			to := path
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if fragment != "" && !anchors[to][fragment] {
				t.Errorf("%s links to %s: there is no such heading", path, m[1])
			}
		}
	})
}

// anchorsOf returns the names that GitHub gives the headings of a page.
func anchorsOf(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := linked.ReplaceAllString(m[1], "$1")
		name = strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(name), ""), " ", "-")
		for n, base := 1, name; anchors[name]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		anchors[name] = true
	}
	return anchors
}

// walk gives every file of the repository with one of the endings, except what
// is built, downloaded or test data.
func walk(t *testing.T, root string, endings []string, each func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "testdata" ||
				name == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(endings, filepath.Ext(name)) {
			return nil
		}
		short, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		each(filepath.ToSlash(short), read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
