package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	serve := func(c command) *serveCmd { return c.(*serveCmd) }
	for _, test := range []struct {
		line string
		env  map[string]string
		want func(c command, g *globals) bool
	}{
		{"serve --database-url=x", nil, func(c command, g *globals) bool {
			s := serve(c)
			return s.DatabaseURL == "x" && s.Migrate && s.Accounts == 16 && s.Concurrency == 16 && s.AWSEndpoint == "" && g.LogLevel == "info" && !g.LogJSON
		}},
		{"--log-level error serve --no-migrate", map[string]string{"DATABASE_URL": "y", "IASQL_ACCOUNTS": "3", "AWS_ENDPOINT_URL": "http://z"}, func(c command, g *globals) bool {
			s := serve(c)
			return s.DatabaseURL == "y" && !s.Migrate && s.Accounts == 3 && s.AWSEndpoint == "http://z" && g.LogLevel == "error"
		}},
		{"serve --log-json --accounts 5 --migrate", map[string]string{"DATABASE_URL": "y", "IASQL_ACCOUNTS": "3", "IASQL_MIGRATE": "false", "IASQL_LOG_LEVEL": "warn", "IASQL_CONCURRENCY": ""}, func(c command, g *globals) bool {
			s := serve(c)
			return s.Accounts == 5 && s.Concurrency == 16 && s.Migrate && g.LogJSON && g.LogLevel == "warn"
		}},
		{"serve", map[string]string{"DATABASE_URL": "y", "IASQL_MIGRATE": "false"}, func(c command, _ *globals) bool { return !serve(c).Migrate }},
		{"dev --aws real --pg-port=0", map[string]string{"IASQL_AWS_PORT": "7"}, func(c command, _ *globals) bool {
			d := c.(*devCmd)
			return d.AWS == "real" && d.PGPort == 0 && d.AWSPort == 7
		}},
		{"dev", nil, func(c command, _ *globals) bool { d := c.(*devCmd); return d.AWS == "moto" && d.PGPort == 5433 }},
		{"iam-policy aws_vpc --read-only aws_ec2 --assume-role a,b --assume-role c", nil, func(c command, _ *globals) bool {
			p := c.(*iamPolicyCmd)
			return strings.Join(p.Modules, " ") == "aws_vpc aws_ec2" && p.ReadOnly && strings.Join(p.AssumeRole, " ") == "a b c"
		}},
		{"docs -- -a b", nil, func(c command, _ *globals) bool { return strings.Join(c.(*docsCmd).args, " ") == "-a b" }},
	} {
		c, g, err := parse(strings.Fields(test.line), func(name string) string { return test.env[name] })
		if err != nil {
			t.Errorf("engine %s: %v", test.line, err)
		} else if !test.want(c, g) {
			t.Errorf("engine %s: %+v, %+v", test.line, c, g)
		}
	}
}

func TestCommandLineRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                         "expected one of dev, serve, migrate, status, version, iam-policy",
		"run":                      "there is no command run",
		"serve":                    "missing flags: --database-url=URL (or $DATABASE_URL)",
		"serve --foo":              "not defined: -foo",
		"version 7":                "unexpected argument 7",
		"docs a":                   "missing arguments: <dir> <examples>",
		"--log-level loud version": "must be one of info, debug, warn, error",
		"dev --pg-port x":          "must be a number",
		"dev --aws":                "flag needs an argument",
		"migrate --log-json=x":     "must be true or false",
	} {
		_, _, err := parse(strings.Fields(line), func(string) string { return "" })
		var wrong usageError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(wrong.usage, "Usage: engine") {
			t.Errorf("engine %s: %v", line, err)
		}
	}
	_, _, err := parse([]string{"version"}, func(name string) string { return map[string]string{"IASQL_LOG_LEVEL": "loud"}[name] })
	if err == nil || !strings.Contains(err.Error(), "IASQL_LOG_LEVEL") {
		t.Errorf("a variable with a value that cannot be: %v", err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--help":            "iam-policy    Print the IAM policy",
		"help":              "Commands:",
		"serve --help":      "--[no-]migrate",
		"-h serve":          "Usage: engine serve --database-url=URL [flags]",
		"iam-policy --help": "Usage: engine iam-policy [<module> ...] [flags]",
	} {
		_, _, err := parse(strings.Fields(line), func(string) string { return "" })
		var help helpWanted
		if !errors.As(err, &help) || !strings.Contains(help.text, want) {
			t.Errorf("engine %s: %v: %s", line, err, help.text)
		}
		for text := range strings.Lines(help.text) {
			if len(strings.TrimSuffix(text, "\n")) > 80 {
				t.Errorf("engine %s: a line is too long: %s", line, text)
			}
		}
	}
}

// Nothing in the engine finds methods by name, which would have the linker keep
// all of the SDKs; see commandline.go.
func TestLinkerLeavesOutWhatIsNotUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("links the engine")
	}
	t.Parallel()
	// The linker marks the functions that may call any method (cmd/link, -dumpdep).
	out, err := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "engine"), "-ldflags=-dumpdep", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out[max(0, len(out)-2000):])
	}
	for line := range strings.Lines(string(out)) {
		if from, _, ok := strings.Cut(line, " <ReflectMethod>"); ok && !strings.Contains(from, " ") {
			t.Errorf("%s may call any method: the linker keeps all", from)
			break
		}
	}
}
