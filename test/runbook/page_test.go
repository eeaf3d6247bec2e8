package runbook

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	page  = "../../docs/runbook.md"
	rules = "../../deploy/prometheus/iasql.rules.yml"
)

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	blocks   = regexp.MustCompile("(?s)```(sql|sh) recipe=([a-z.]+)\n(.*?)```")
	headings = regexp.MustCompile(`(?m)^## (.*)$`)
	alerts   = regexp.MustCompile("`(Iasql[A-Za-z]+)`")
)

// sections returns the sections of the page by their anchors, as GitHub makes them of headings.
func sections(t testing.TB) map[string]string {
	t.Helper()
	text, found := read(t, page), map[string]string{}
	at := headings.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		found[strings.ReplaceAll(strings.ToLower(text[m[2]:m[3]]), " ", "-")] = text[m[0]:end]
	}
	return found
}

// TestAlertsHaveSections: each alert leads to a section that names it, and each that a section names is there.
func TestAlertsHaveSections(t *testing.T) {
	t.Parallel()
	there, all := map[string]bool{}, sections(t)
	text := read(t, rules)
	names := regexp.MustCompile(`- alert: (\S+)`).FindAllStringSubmatch(text, -1)
	links := regexp.MustCompile(`(?s)- alert: (\S+)\n(?:\s{8}[^\n]*\n)*?\s+runbook_url: \S+/docs/runbook\.md#(\S+)`).
		FindAllStringSubmatch(text, -1)
	if len(names) < 15 || len(links) != len(names) {
		t.Fatalf("%d alerts, and %d have a runbook_url", len(names), len(links))
	}
	for _, m := range links {
		there[m[1]] = true
		if !strings.Contains(all[m[2]], "`"+m[1]+"`") {
			t.Errorf("%s leads to %q, which is no section that names it", m[1], m[2])
		}
	}
	for anchor, section := range all {
		seen := section[strings.Index(section, "**What you see.**"):]
		for _, m := range alerts.FindAllStringSubmatch(seen, -1) {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is no alert", anchor, m[1])
			}
		}
		for _, part := range []string{"What you see.", "What it means.", "What to type.", "What it does.",
			"What it does not do."} {
			if strings.Count(section, "**"+part+"**") != 1 {
				t.Errorf("%s has no one %q", anchor, part)
			}
		}
	}
}

// TestEveryBlockIsPlayed: a block that nobody types may say anything.
func TestEveryBlockIsPlayed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		code.WriteString(read(t, file))
	}
	for _, m := range blocks.FindAllStringSubmatch(read(t, page), -1) {
		if !strings.Contains(code.String(), `"`+m[2]+`"`) {
			t.Errorf("nobody plays %s", m[2])
		}
	}
	plain := regexp.MustCompile("(?ms)^```(?:sql|sh)\n(.*?)^```").FindAllStringSubmatch(read(t, page), -1)
	for _, m := range plain {
		if !strings.Contains(m[1], "…") { // the reader's own value
			t.Errorf("this block has no name, so that nobody plays it:\n%s", m[1])
		}
	}
}

// night is a world in which something goes wrong.
type night struct {
	*harness.World
	cloud  *faultproxy.Proxy
	world  *harness.World // of the whole test: its engines outlive a section
	engine *running
}

// running is the engine that runs now.
type running struct{ *harness.Process }

// start makes a world that is well.
func start(t *testing.T, modules ...string) *night {
	t.Helper()
	w := harness.NewWorld(t)
	n := &night{World: w, world: w, cloud: faultproxy.Start(t, w.AWS.Endpoint), engine: &running{}}
	n.Endpoint = n.cloud.URL
	n.Args = []string{"--http", "127.0.0.1:0"}
	n.serves()
	n.Install([]string{"us-east-1"}, modules...)
	// What was made a moment ago may just not show; nobody waits for that here.
	n.Admin(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	n.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`) // a test says when
	return n
}

// in has a subtest of its own look at the same world.
func (n *night) in(t *testing.T) *night {
	world := *n.World
	world.T = t
	return &night{World: &world, cloud: n.cloud, world: n.world, engine: n.engine}
}

// serves starts an engine.
func (n *night) serves() {
	n.Helper()
	n.world.AWS, n.world.Args = n.AWS, n.Args
	n.engine.Process = n.world.Serve()
}

// tried types a block of the page as its reader does, and returns what is printed.
func (n *night) tried(name string) (string, error) {
	n.Helper()
	return n.triedAs(n.UserURL, name)
}

func (n *night) triedAs(user, name string) (string, error) {
	n.Helper()
	for _, m := range blocks.FindAllStringSubmatch(read(n.T, page), -1) {
		if m[2] != name {
			continue
		}
		var cmd *exec.Cmd
		if m[1] == "sh" {
			bin := n.TempDir()
			if err := os.Symlink(harness.Engine(), filepath.Join(bin, "engine")); err != nil {
				n.Fatal(err)
			}
			cmd = exec.CommandContext(n.Context(), "sh", "-ec", m[3])
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "DATABASE_URL="+n.EngineURL)
		} else {
			if strings.HasPrefix(m[3], "-- as administrator\n") {
				user = n.AdminURL
			}
			cmd = exec.CommandContext(n.Context(), "psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", user)
			cmd.Stdin = strings.NewReader(m[3])
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return out.String(), fmt.Errorf("%s: %w:\n%s", name, err, &out)
		}
		return out.String(), nil
	}
	n.Fatalf("the page has no block %s", name)
	return "", nil
}

// types types a block that must work.
func (n *night) types(name string) string {
	n.Helper()
	out, err := n.tried(name)
	if err != nil {
		n.Fatal(err)
	}
	return out
}

// typesAndSees types a block that must print something.
func (n *night) typesAndSees(name string, parts ...string) {
	n.Helper()
	out := n.types(name)
	for _, part := range parts {
		if !strings.Contains(out, part) {
			n.Errorf("%s has no %q:\n%s", name, part, out)
		}
	}
}

// logs waits for a line of the engine's log.
func (n *night) logs(parts ...string) {
	n.Helper()
	n.Eventually(patience, "the log has "+strings.Join(parts, ", "), func() bool {
		for line := range strings.Lines(n.engine.Log()) {
			all := true
			for _, part := range parts {
				all = all && strings.Contains(line, part)
			}
			if all {
				return true
			}
		}
		return false
	})
}
