package protection

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

var exampleBlock = regexp.MustCompile("(?s)```sql *([^\n]*)\n(.*?)```")

// The examples of docs/coming-from-terraform.md, one after the other.
func TestComingFromTerraform(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/coming-from-terraform.md")
	if err != nil {
		t.Fatal(err)
	}
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	var plain []string // of one session, in which a batch goes on from one block to the next
	flush := func() {
		if len(plain) > 0 {
			w.PSQL(plain...)
		}
		plain = nil
	}
	for _, block := range exampleBlock.FindAllStringSubmatch(string(text), -1) {
		var statements []string
		for _, s := range strings.SplitAfter(block[2], ";\n") {
			if s = strings.TrimSpace(s); s != "" {
				statements = append(statements, s)
			}
		}
		switch kind, about, _ := strings.Cut(block[1], "="); kind {
		case "admin":
			flush()
			w.Admin(statements...)
		case "refused":
			flush()
			refused(t, w, []string{about}, statements...)
		default:
			plain = append(plain, statements...)
		}
	}
	flush()
	if got := w.PSQL(`SELECT string_agg(DISTINCT cidr_block::text, ',') FROM vpc WHERE tags ->> 'Name' = 'lab'`); got != "10.8.0.0/16" {
		t.Errorf("the VPC is %s", got)
	}
	for _, habit := range []string{"plan", "apply", "-target", "import", "moved", "removed", "ignore_changes",
		"prevent_destroy", "create_before_destroy", "workspaces", "-refresh-only", "policy checks", "state surgery"} {
		if !strings.Contains(string(text), "\n## "+habit+"\n") {
			t.Errorf("nothing is said of %s", habit)
		}
	}
}
