package adversary

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestHostileText: what somebody calls a batch or himself is no command to the
// terminals that it is shown in, and what he writes into a tag is no markup in a
// review.
func TestHostileText(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	for what, name := range map[string]string{"escape": "a\x1b]0;owned\x07", "line feed": "a\nNOTICE: b",
		"C1": "a\u009b2J", "direction": "a\u202eb", "delete": "a\x7f"} {
		if got := w.Refused(`CALL iasql_begin('` + name + `')`); !strings.Contains(got, "IA007") ||
			strings.ContainsAny(got, "\x1b\x07\u009b\u202e\x7f") || strings.Contains(got, "\nNOTICE: b") {
			t.Errorf("a name with %s: %q", what, got)
		}
	}
	// One from before, of a role whose name is no better.
	const hostile = "Mallory \x1b[2J"
	w.Admin(`CREATE ROLE "` + hostile + `" IN ROLE iasql_user`)
	defer w.Admin(`DROP OWNED BY "`+hostile+`"`, `DROP ROLE "`+hostile+`"`)
	w.Admin(`GRANT "`+hostile+`" TO `+w.PSQL(`SELECT current_user`), `SET SESSION AUTHORIZATION "`+hostile+
		`"; CALL iasql_begin('good'); SELECT iasql_console_token(); RESET SESSION AUTHORIZATION`,
		`UPDATE iasql_internal.batch SET name = E'bad\x1b]0;owned\x07'`)
	for _, args := range [][]string{
		{"psql", "-X", w.UserURL, "-c", `CALL iasql_join('1')`},
		{"psql", "-X", w.UserURL, "-c", `CALL iasql_join('1')`, "-c", `CALL iasql_begin('another')`},
		{"psql", "-X", w.UserURL, "-c", `CALL iasql_join('1')`, "-c", `CALL iasql_rollback()`},
		{"psql", "-X", w.UserURL, "-c", `SELECT * FROM iasql_engines()`},
		{harness.Engine(), "batch", "status", "--database-url", w.UserURL},
		{harness.Engine(), "batch", "status", "--database-url", w.UserURL, "1"},
		{harness.Engine(), "status", "--database-url", w.AdminURL},
	} {
		out, _ := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if bytes.ContainsAny(out, "\x1b\x07") || len(out) == 0 {
			t.Errorf("%v prints %q", args, out)
		}
	}

	for text, want := range map[string]string{
		`plain vpc 1 of network_acl, 10.0.0.0/16`: `plain vpc 1 of network_acl, 10.0.0.0/16`,
		`[link](http://e.vil)`:                    `\[link](http:<!-- -->//e.vil)`,
		`\[link](http://e.vil)`:                   `\\\[link](http:<!-- -->//e.vil)`,
		`![i](x) <img src=x> &lt;`:                `!\[i](x) &lt;img src=x> &amp;lt;`,
		"`code` **bold** _it_ ~~no~~ a|b":         "\\`code\\` \\*\\*bold\\*\\* \\_it\\_ \\~\\~no\\~\\~ a\\|b",
		`\| x`:                                    `\\\| x`,
		`@team #12 org/r#3 a@b.c`:                 `@<!-- -->team #<!-- -->12 org/r#<!-- -->3 a@b.c`,
		`www.e.vil WWW.e.vil https://e.vil`:       `www<!-- -->.e.vil WWW<!-- -->.e.vil https:<!-- -->//e.vil`,
		"$`x`$ \x1b[1m a\nb":                      "\\$\\`x\\`\\$ �\\[1m a b",
	} {
		if got := w.PSQL(`SELECT iasql_internal.cell($hostile$` + text + `$hostile$)`); got != want {
			t.Errorf("%q becomes\n%s, want\n%s", text, got, want)
		}
	}
}
