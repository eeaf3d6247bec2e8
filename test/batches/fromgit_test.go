package batches

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestFromGit types docs/from-git.md.
func TestFromGit(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_cloudwatch")
	w.Settled()
	page, err := os.ReadFile("../../docs/from-git.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(harness.Engine(), filepath.Join(dir, "engine")); err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\nexport PATH=" + dir + ":$PATH\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script += block[1] + "echo '-- block'\n"
	}
	cmd := exec.Command("bash", "-c", script) // #nosec G204 -- the page's
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.UserURL, "HOME="+dir, "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks := strings.Split(string(out), "-- block\n")
	for i, want := range [][]string{
		1: {"2 to create", "configuration shop: committed", "nothing to do"},
		2: {"orders", "1 to delete"},
		3: {"configuration shop: committed"},
		4: {"1 to create", "configuration shop: committed"},
		5: {"1 to update", "retention_in_days: 1 → 30", "configuration shop: committed"},
	} {
		for _, text := range want {
			if !strings.Contains(blocks[i], text) {
				t.Errorf("block %d does not say %q:\n%s", i, text, blocks[i])
			}
		}
	}
	if got := w.PSQL(`SELECT string_agg(log_group_name || ' ' || retention_in_days, ', ' ORDER BY log_group_name) FROM log_group`); got != "mails 7, orders 30" {
		t.Errorf("in the end there are %s", got)
	}
	groups := fmt.Sprint(w.CLI("logs", "describe-log-groups")["logGroups"])
	if !strings.Contains(groups, "mails") || !strings.Contains(groups, "retentionInDays:30") {
		t.Errorf("the cloud has %s", groups)
	}
}
