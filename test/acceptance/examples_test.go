package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// Every worked example runs as it stands, and leaves nothing undone.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/modules/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			w := harness.Start(t, []string{"us-east-1"}, module)
			if _, err := os.Stat(file); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", "-f", file,
				w.UserURL).CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			w.Settled()
		})
	}
}
