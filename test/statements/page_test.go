package statements

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/modules"
)

// block is a piece of SQL in a page.
type block struct {
	line   int
	shell  bool
	info   string // what follows sql in the line of the fence: recipe=NAME, refused=TEXT, …
	before []string
	notRun string // why it is not run; "" if it is
	fails  string // why its last statement fails in the demo; "" if it works
	text   string
}

// As administrator, says the first line of a block that the demo's own login may not run.
const asAdministrator = "-- as administrator"

var (
	fence = regexp.MustCompile("(?ms)((?:^<!--(?:[^>]|[^-]>)*-->\n)*)^```([^\n]*)\n(.*?)^```$")
	// What a statement needs that the page does not make. Readers have it: their own objects.
	before = regexp.MustCompile(`(?s)<!-- before:\s*(.*?)\s*-->`)
	// A statement with placeholders, or of another configuration than the demo's.
	notRun = regexp.MustCompile(`(?s)<!-- not run here: (.*?)\s*-->`)
	isSQL  = regexp.MustCompile(`(?m)^(SELECT|INSERT|UPDATE|DELETE|CALL|GRANT|ALTER|CREATE|LISTEN|BEGIN;) ?`)
	raises = regexp.MustCompile(`-- ERROR (IA\d\d\d)`)
)

// blocks returns the SQL of a page in its order.
func blocks(t *testing.T, page, text string) []block {
	t.Helper()
	var all []block
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		part := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		line := 1 + strings.Count(text[:m[4]], "\n")
		language, info, _ := strings.Cut(part(2), " ")
		b := block{line: line, info: info, text: part(3)}
		// Of what is for a shell: psql on the demo's database.
		if b.shell = language == "sh" && strings.HasPrefix(b.text, "psql ") &&
			strings.Count(b.text, "$") == strings.Count(b.text, "$DATABASE_URL"); b.shell {
			all = append(all, b)
			continue
		}
		if language != "sql" {
			if language == "" && isSQL.MatchString(part(3)) {
				t.Errorf("%s:%d is SQL and does not say so", page, line)
			}
			continue
		}
		for _, c := range before.FindAllStringSubmatch(part(1), -1) {
			b.before = append(b.before, c[1])
		}
		if c := notRun.FindStringSubmatch(part(1)); c != nil {
			b.notRun = c[1]
		} else if strings.Contains(bare(b.text), "…") {
			b.notRun = "… stands for a value of the reader's"
		}
		if _, after, ok := strings.Cut(last(text[:m[0]]), modules.FailsInDemo); ok {
			b.fails = after
		}
		all = append(all, b)
	}
	return all
}

// last returns the last paragraph of a text.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n\n")+1:]
}

// statement is one of a block, with the error that the page says it ends with.
type statement struct{ text, raises string }

// split cuts SQL into statements. What follows one in its line is about it.
func split(text string) []statement {
	var all []statement
	begin := 0
	each(text, func(i int) {
		remark, _, _ := strings.Cut(text[i+1:], "\n")
		s := statement{text: strings.TrimSpace(text[begin:i])}
		if m := raises.FindStringSubmatch(remark); m != nil {
			s.raises = m[1]
		}
		all = append(all, s)
		begin = i + 1
	}, nil)
	// The page shows a single statement without its end.
	if rest := strings.TrimSpace(bare(text[begin:])); rest != "" {
		all = append(all, statement{text: rest})
	}
	return all
}

// bare returns SQL without its remarks.
func bare(text string) string {
	var b strings.Builder
	begin := 0
	each(text, func(int) {}, func(from, to int) {
		b.WriteString(text[begin:from])
		begin = to
	})
	return b.String() + text[begin:]
}

// each tells where statements end, and where remarks are.
func each(text string, end func(at int), remark func(from, to int)) {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "--"):
			to := i + strings.IndexByte(rest+"\n", '\n')
			if remark != nil {
				remark(i, to)
			}
			i = to - 1
		case rest[0] == '\'':
			for i++; i < len(text) && text[i] != '\''; i++ {
			}
		case strings.HasPrefix(rest, "$$"):
			if end := strings.Index(rest[2:], "$$"); end >= 0 {
				i += end + 3
			}
		case rest[0] == ';':
			end(i)
		}
	}
}

func TestSplit(t *testing.T) {
	got := fmt.Sprintf("%q", split(
		"SELECT 'a;''b'; -- ERROR IA050: no; really\nDO $$ BEGIN; END $$;\n-- it; is\nSELECT 1;\nSELECT 2 -- end\n"))
	want := `[{"SELECT 'a;''b'" "IA050"} {"-- ERROR IA050: no; really\nDO $$ BEGIN; END $$" ""} {"-- it; is\nSELECT 1" ""} {"SELECT 2" ""}]`
	if got := bare("SELECT '-----…'; -- and …\n"); got != "SELECT '-----…'; \n" {
		t.Errorf("bare: %q", got)
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
