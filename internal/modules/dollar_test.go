package modules

import (
	"regexp"
	"strings"
	"testing"
)

// Whatever a table says of itself ends no body that it stands in.
func TestDollarQuoting(t *testing.T) {
	for _, text := range []string{"", "plain", "$$", "ends in $", "$renew$", "$body1$ and $$", "$body1",
		"$$ $body1$ $body2$"} {
		quoted := dollar(text)
		tag := regexp.MustCompile(`^\$[a-z0-9]*\$`).FindString(quoted)
		// The server takes what stands before the first tag that is the same (manual, section 4.1.2.4).
		if inside := quoted[len(tag):]; inside[:strings.Index(inside, tag)] != text {
			t.Errorf("%q is quoted as %s", text, quoted)
		}
	}
	table := &Table{Name: "thing",
		Columns: []Column{{Name: "code", Type: TypeText, WriteOnly: true, Check: "code ~ '$$|$renew$|$plain$|$body1$'"},
			{Name: "kind", Type: TypeText, Enum: []string{"$renew$", "$$"}}}}
	for _, statement := range append(table.DDL(func(string) *Table {
		return nil
	}), table.renewDDL(check{"c", table.Columns[0].Check}), table.renewDDL(table.checks(&table.Columns[1])[1])) {
		for _, m := range regexp.MustCompile(`(?:AS|DO) (\$[a-z0-9]*\$)`).FindAllStringSubmatch(statement, -1) {
			body := statement[strings.Index(statement, m[0])+len(m[0]):]
			end := strings.Index(body, m[1])
			if rest := strings.TrimSpace(body[end+len(m[1]):]); end < 0 || rest != "" && !strings.HasPrefix(rest, ";") {
				t.Errorf("a body ends early: %s", statement)
			}
		}
	}
}
