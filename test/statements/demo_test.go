package statements

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// demo is what scripts/demo.sh starts: engine dev with nothing set, but for places and ports.
type demo struct {
	url, admin string
}

func startDemo(t *testing.T) demo {
	t.Helper()
	cmd := exec.Command(harness.Engine(), "dev", "--data-dir", filepath.Join(harness.Temporary(t), "data"), "--pg-port",
		"0", "--http", "none")
	log := &harness.Buffer{}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines, d := bufio.NewScanner(stdout), demo{}
	for d.admin == "" && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "ready: "); ok {
			d.url = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "administrator: "); ok {
			d.admin = url
		}
	}
	if d.url == "" || d.admin == "" {
		t.Fatalf("engine dev did not start:\n%s", log)
	}
	return d
}

// session is one psql in the demo.
type session struct {
	t    *testing.T
	conn *pgx.Conn
}

func open(t *testing.T, url string) *session {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &session{t, conn}
}

// run sends a statement as psql does.
func (s *session) run(statement string) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	_, err := s.conn.PgConn().Exec(ctx, statement).ReadAll()
	return err
}

// code returns the SQLSTATE of an error.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// said is what a person sees of an error.
func said(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code + ": " + pg.Message + " " + pg.Detail + " " + pg.Hint
	}
	return err.Error()
}

// follow types what the page says, from its top to its end.
func follow(t *testing.T, d demo, page string) {
	t.Helper()
	user, admin := open(t, d.url), open(t, d.admin)
	ran := 0
	for _, b := range blocks(t, page, read(t, page)) {
		if b.notRun != "" {
			t.Logf("%s:%d is not run: %s", page, b.line, b.notRun)
			continue
		}
		if b.shell {
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", b.text)
			cmd.Dir, cmd.Env = "../..", append(os.Environ(), "DATABASE_URL="+d.url)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s", page, b.line, err, out)
			}
			ran++
			continue
		}
		who := user
		if strings.HasPrefix(b.text, asAdministrator+"\n") {
			who = admin
		}
		for _, prepare := range b.before {
			who := user
			if rest, ok := strings.CutPrefix(prepare, "as administrator: "); ok {
				who, prepare = admin, rest
			}
			for _, s := range split(prepare) {
				if err := who.run(s.text); err != nil {
					t.Errorf("%s:%d: before it, %s: %s", page, b.line, s.text, said(err))
				}
			}
		}
		refused, expected := strings.CutPrefix(b.info, "refused=")
		var failed error
		statements := split(b.text)
		for i, s := range statements {
			ran++
			err := who.run(s.text)
			switch {
			case expected && err != nil:
				failed = err
			case b.fails != "" && i == len(statements)-1:
				if err == nil {
					t.Errorf("%s:%d: %s works in the demo; the page says that it does not", page, b.line, s.text)
				}
			case err != nil && code(err) != s.raises:
				t.Errorf("%s:%d: %s\n%s", page, b.line, s.text, said(err))
			case err == nil && s.raises != "":
				t.Errorf("%s:%d: %s does not raise %s", page, b.line, s.text, s.raises)
			}
		}
		if expected && (failed == nil || !strings.Contains(said(failed), refused)) {
			t.Errorf("%s:%d is not refused for %s: %v", page, b.line, refused, failed)
		}
	}
	if ran == 0 {
		t.Errorf("%s has no statement", page)
	}
}

// demos are the pages that are followed, one after the other in one demo. What policies and
// permissions set up lasts, and is not for others.
var demos = [][]string{
	{"README.md", "docs/coming-from-iasql.md", "docs/batches.md", "docs/configurations.md", "docs/compositions.md", "docs/taking-back.md", "docs/coming-from-terraform.md", "docs/protecting.md",
		"docs/operating.md", "docs/alerts.md", "docs/watch.md", "docs/console.md"},
	{"docs/policies.md"},
	{"docs/costs.md"},
	{"docs/permissions.md"},
}

// What the documentation says works in the demo as it is.
func TestPages(t *testing.T) {
	t.Parallel()
	followed := map[string]bool{"docs/runbook.md": true} // by test/runbook, after the faults that it is about
	for _, pages := range demos {
		d := startDemo(t)
		for _, page := range pages {
			followed[page] = true
			t.Run(filepath.Base(page), func(t *testing.T) { follow(t, d, page) })
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		page = strings.TrimPrefix(page, "../../")
		for _, b := range blocks(t, page, read(t, page)) {
			if b.notRun == "" && !followed[page] {
				t.Errorf("%s:%d is followed by nobody", page, b.line)
			}
		}
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pages of the modules, one after the other in one demo.
func TestModules(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/modules/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	// That of accounts leaves two regions enabled: the others come first, and have all.
	accounts := "../../docs/modules/aws_account.md"
	pages = append(slices.DeleteFunc(pages, func(page string) bool { return page == accounts }), accounts)
	d := startDemo(t)
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			follow(t, d, strings.TrimPrefix(page, "../../"))
			// The next page begins with what a new demo has, and its cycles read no more than it needs.
			if err := open(t, d.url).run(`SELECT iasql_uninstall(VARIADIC array_agg(module_name)) FROM iasql_modules_installed() WHERE module_name <> 'aws_account' HAVING count(*) > 0`); err != nil {
				t.Error(said(err))
			}
		})
	}
}
