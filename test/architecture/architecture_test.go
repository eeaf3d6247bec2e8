// Package architecture keeps what the folders promise: who may know whom, and which words.
package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// core are the folders that know worlds by their descriptions alone. Below modules are the
// worlds' own.
var core = []string{"internal/archive", "internal/auditlog", "internal/cells", "internal/console", "internal/decide",
	"internal/engine", "internal/focus", "internal/metrics", "internal/modes", "internal/modules", "internal/platform",
	"internal/postgres", "internal/simulate", "internal/store", "internal/support", "internal/sync", "internal/tracing"}

// besides are the other folders of internal, each with the reason why it may know a world.
var besides = map[string]string{
	"internal/aws":    "all that is AWS's, but for its modules",
	"internal/hosts":  "all that is the hosts', but for their modules",
	"internal/doctor": "one report about an AWS account and the database, and what other worlds give to it",
	"internal/devenv": "starts the AWS emulator, and PostgreSQL",
	"internal/test":   "what tests use",
}

// words are AWS's and the hosts', in names and texts; comments may give it as an example.
var words = regexp.MustCompile(
	`(?i)aws|amazon|cloudtrail|cloudformation|cloudcontrol|(^|[^a-z])(arns?|vpcs?|ec2|s3|iam|sqs|lambda|sshd?)([^a-z]|$)|host_(file|scope)`)

// mayImport says which folders of internal each of the core may import, in the order in which
// data travels: deciding knows of no store, the store of no cycle, and none of a world.
var mayImport = map[string]string{
	"archive": "", "focus": "", "modes": "", "modules": "", "metrics": "", "tracing": "",
	"auditlog": "modules",
	"decide":   "auditlog modes modules",
	"store":    "decide modes modules",
	"sync":     "decide modules store",
	"simulate": "auditlog decide modes modules store sync",
	"postgres": "auditlog decide modes modules store",
	"platform": "modules postgres",
	"engine":   "auditlog decide modules platform postgres store sync",
	"console":  "modules",
	"support":  "metrics postgres",
	"cells":    "postgres",
}

// TestImports: nothing knows more than it may, and no part of the core a world.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, folder := range core {
		name := strings.TrimPrefix(folder, "internal/")
		may, listed := mayImport[name]
		if !listed {
			t.Errorf("%s is not listed", folder)
		}
		each(t, folder, func(path string, set *token.FileSet, file *ast.File) {
			for _, spec := range file.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				own, internal := strings.CutPrefix(imported, "iasql/internal/")
				// storetest tests the store, and knows what does
				inside := filepath.Dir(path) != filepath.Join(root, folder)
				if strings.HasPrefix(imported, "github.com/aws/") || internal && !inside &&
					!slices.Contains(strings.Fields(may), own) {
					t.Errorf("%s imports %s", set.Position(spec.Pos()), imported)
				}
			}
		})
	}
}

// TestFolders: every folder of internal is a part of the core, or has a reason to know a world.
func TestFolders(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(root, "internal/*"))
	if err != nil || len(folders) < len(core) {
		t.Fatalf("%d folders: %v", len(folders), err)
	}
	for _, folder := range folders {
		name := strings.TrimPrefix(folder, root+"/")
		reason, known := besides[name]
		switch inCore := slices.Contains(core, name); {
		case inCore && known:
			t.Errorf("%s is a part of the core, and yet may know a world: %s", name, reason)
		case !inCore && !known:
			t.Errorf("%s is not listed: what is AWS's lies under internal/aws, what is the hosts' under internal/hosts", name)
		}
	}
	for name := range besides {
		if !slices.Contains(folders, filepath.Join(root, name)) {
			t.Errorf("%s is listed, and is not there", name)
		}
	}
}

// TestModules: a module imports neither another nor what runs it, and nothing imports cmd.
func TestModules(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(root, "internal/modules/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if name := filepath.Base(folder); name == "all" || strings.HasSuffix(name, ".go") {
			continue
		}
		each(t, strings.TrimPrefix(folder, root+"/"), func(_ string, set *token.FileSet, file *ast.File) {
			for _, spec := range file.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				for _, none := range []string{"iasql/internal/modules/", "iasql/internal/sync", "iasql/internal/engine",
					"iasql/internal/platform", "iasql/internal/postgres", "iasql/internal/console"} {
					if strings.HasPrefix(imported, none) {
						t.Errorf("%s imports %s", set.Position(spec.Pos()), imported)
					}
				}
			}
		})
	}
	each(t, "internal", func(_ string, set *token.FileSet, file *ast.File) {
		for _, spec := range file.Imports {
			if strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), "iasql/cmd") {
				t.Errorf("%s imports %s", set.Position(spec.Pos()), spec.Path.Value)
			}
		}
	})
}

// TestDecidingIsPure: deciding has no context and no clock, and no way to any system.
func TestDecidingIsPure(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"internal/decide", "internal/modes", "internal/auditlog"} {
		each(t, folder, func(_ string, set *token.FileSet, file *ast.File) {
			for _, spec := range file.Imports {
				switch imported := strings.Trim(spec.Path.Value, `"`); {
				case imported == "context", imported == "os", strings.HasPrefix(imported, "net"),
					strings.Contains(imported, "/sql"), strings.HasPrefix(imported, "github.com/jackc"):
					t.Errorf("%s imports %s", set.Position(spec.Pos()), imported)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok &&
					(s.Sel.Name == "Now" || s.Sel.Name == "Since" || s.Sel.Name == "Until") {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
						t.Errorf("%s asks what time it is", set.Position(n.Pos()))
					}
				}
				return true
			})
		})
	}
}

// TestWords: what the core says and is called is of no world.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, folder := range core {
		each(t, folder, func(path string, set *token.FileSet, file *ast.File) {
			say := func(at token.Pos, what string) {
				if words.MatchString(what) {
					t.Errorf("%s: %.120s", set.Position(at), what)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					say(n.Pos(), n.Name)
				case *ast.BasicLit:
					say(n.Pos(), n.Value)
				}
				return true
			})
		})
	}
}

// samples are the only lines of the platform's SQL that may name a world's tables and modules: iasql_help() shows them
// as statements that can be typed, so that they take a table that there is, and a test types them into the
// demo.
var samples = regexp.MustCompile(`^Sample: SELECT .*\$\$;$`)

// TestWordsOfSQL: neither do the platform's functions and views know a world, nor do their comments.
func TestWordsOfSQL(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "sql"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sql") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if words.MatchString(line) && !samples.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s:%d: %.120s", path, n, line)
			}
		}
		return err
	})
	if err != nil || files < 50 {
		t.Fatalf("%d files: %v", files, err)
	}
}

// each parses the sources of a folder, and of those below it but for worlds' modules.
func each(t *testing.T, folder string, look func(path string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() && folder == "internal/modules" && path != filepath.Join(root, folder):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		look(path, set, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
