package docs

import (
	"os/exec"
	"strings"
	"testing"
)

// The imports that CONTRIBUTING.md says must not exist do not exist.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"iasql/...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const aModule = "iasql/internal/modules/"
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		from := imports[0]
		for _, to := range imports[1:] {
			why := ""
			switch {
			case within(from, "iasql/internal/sync") &&
				(within(to, "iasql/internal/aws") || strings.HasPrefix(to, "github.com/aws/")):
				why = "the cycle imports no cloud's package"
			case within(from, "iasql/internal/decide") &&
				(to == "context" || strings.Contains(to, ".") || strings.HasPrefix(to, "database/")):
				why = "decisions import no driver and no SDK, and use no context"
			case within(from, "iasql/internal/postgres") && within(to, "iasql/internal/sync"):
				why = "the store does not know the cycle"
			case strings.HasPrefix(from, aModule) && from != aModule+"all" &&
				(strings.HasPrefix(to, aModule) || within(to, "iasql/internal/sync")):
				why = "a module imports neither the insides of the cycle nor another module"
			case within(to, "iasql/cmd"):
				why = "nothing imports cmd"
			}
			if why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
}

// within reports whether a package is of that path or below it.
func within(path, of string) bool { return path == of || strings.HasPrefix(path, of+"/") }
