package main

import (
	"bytes"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// read has the command line read, with these variables, and returns the flags
// that the command would run with.
func read(t *testing.T, line string, env map[string]string) (*pflag.FlagSet, []string, error) {
	t.Helper()
	var log *slog.Logger
	root := engineCommand(&log)
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	var flags *pflag.FlagSet
	var rest []string
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		return environment(cmd.Flags(), func(name string) string { return env[name] })
	}
	for _, cmd := range root.Commands() {
		cmd.Run, cmd.RunE = nil, func(cmd *cobra.Command, args []string) error {
			flags, rest = cmd.Flags(), args
			return nil
		}
	}
	root.SetArgs(strings.Fields(line))
	err := root.Execute()
	return flags, rest, err
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line string
		env  map[string]string
		want string // flags and values, then arguments
	}{
		{"serve --database-url=x", nil,
			"database-url=x migrate=true no-migrate=false accounts=16 concurrency=16 aws-endpoint= log-level=info " +
				"log-format=text log-json=false"},
		{"--log-level error serve --no-migrate",
			map[string]string{"DATABASE_URL": "y", "IASQL_ACCOUNTS": "3", "AWS_ENDPOINT_URL": "http://z"},
			"database-url=y no-migrate=true accounts=3 aws-endpoint=http://z log-level=error"},
		{"serve --log-json --accounts 5 --migrate",
			map[string]string{"DATABASE_URL": "y", "IASQL_ACCOUNTS": "3", "IASQL_MIGRATE": "false",
				"IASQL_LOG_LEVEL": "warn", "IASQL_CONCURRENCY": ""},
			"accounts=5 concurrency=16 migrate=true log-json=true log-level=warn"},
		{"serve", map[string]string{"DATABASE_URL": "y", "IASQL_MIGRATE": "false"}, "migrate=false"},
		{"dev --aws real --pg-port=0", map[string]string{"IASQL_AWS_PORT": "7"}, "aws=real pg-port=0 aws-port=7"},
		{"dev", nil, "aws=moto pg-port=5433"},
		{"dev --log-format json", nil, "log-format=json"},
		{"dev", map[string]string{"IASQL_LOG_FORMAT": "json"}, "log-format=json"},
		{"iam-policy aws_vpc --read-only aws_ec2 --assume-role a,b --assume-role c", nil,
			"read-only=true assume-role=[a,b,c] aws_vpc aws_ec2"},
		{"docs -- -a b", nil, "-a b"},
		{"doctor", nil, "database-url= only=all regions=[] modules=[] hosts=[] sample=20 deadline=5m0s json=false accounts=16"},
		{"doctor --only database --regions a,b --modules aws_vpc --json",
			map[string]string{"DATABASE_URL": "y", "AWS_ENDPOINT_URL": "http://z"},
			"database-url=y aws-endpoint=http://z only=database regions=[a,b] modules=[aws_vpc] json=true"},
		{"support-bundle --output a.zip --show locks", map[string]string{"DATABASE_URL": "y"},
			"database-url=y output=a.zip yes=false show=locks metrics="},
	} {
		flags, args, err := read(t, test.line, test.env)
		if err != nil {
			t.Errorf("engine %s: %v", test.line, err)
			continue
		}
		var rest []string
		for word := range strings.FieldsSeq(test.want) {
			name, value, flag := strings.Cut(word, "=")
			if !flag {
				rest = append(rest, word)
			} else if got := flags.Lookup(name).Value.String(); got != value {
				t.Errorf("engine %s: %s is %s, want %s", test.line, name, got, value)
			}
		}
		if !slices.Equal(args, rest) {
			t.Errorf("engine %s: arguments %q, want %q", test.line, args, rest)
		}
	}
}

func TestCommandLineRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run":                      `unknown command "run"`,
		"serve":                    "missing flag: --database-url (or $DATABASE_URL)",
		"serve --foo":              "unknown flag: --foo",
		"version 7":                `unknown command "7"`,
		"docs a":                   "accepts 2 arg(s), received 1",
		"--log-level loud version": "must be one of info, debug, warn, error",
		"--log-format xml version": "must be one of text, json",
		"dev --pg-port x":          `invalid argument "x" for "--pg-port"`,
		"dev --aws":                "flag needs an argument: --aws",
		"doctor --only cloud":      "must be one of",
		"migrate --log-json=x":     `invalid argument "x" for "--log-json"`,
	} {
		if _, _, err := read(t, line, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("engine %s: %v, want %s", line, err, want)
		}
	}
	_, _, err := read(t, "version", map[string]string{"IASQL_LOG_LEVEL": "loud"})
	if err == nil || !strings.Contains(err.Error(), "$IASQL_LOG_LEVEL") {
		t.Errorf("a variable with a value that cannot be: %v", err)
	}
}

// Every flag says what it is for and, but for a few, has an environment variable
// that no other one has.
func TestFlags(t *testing.T) {
	t.Parallel()
	var log *slog.Logger
	root := engineCommand(&log)
	root.InitDefaultHelpCmd()
	without := []string{"help", "no-migrate", "read-only", "assume-role", "watch", "json", "only", "account", "regions",
		"modules", "hosts", "sample", "deadline", "preview", "exit-code", "preview-hash", "revision", "message", "on-error",
		"replace", "name", "linux", "output", "yes", "show", "metrics", "reader", "no-reader", "from"}
	for _, cmd := range append(root.Commands(), root) {
		seen := map[string]bool{}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if len(flag.Annotations[variable]) == 0 && !slices.Contains(without, flag.Name) {
				t.Errorf("%s --%s has no environment variable", cmd.Name(), flag.Name)
			}
			for _, env := range flag.Annotations[variable] {
				if seen[env] || !strings.Contains(flag.Usage, "$"+env) {
					t.Errorf("%s --%s: %s is another's or not in the help", cmd.Name(), flag.Name, env)
				}
				seen[env] = true
			}
			if flag.Usage == "" {
				t.Errorf("%s --%s has no help", cmd.Name(), flag.Name)
			}
		})
		if cmd.Short == "" {
			t.Errorf("%s has no help", cmd.Name())
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
	out, err := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "engine"), "-ldflags=-dumpdep",
		".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out[max(0, len(out)-2000):])
	}
	if !bytes.Contains(out, []byte("main.main")) {
		t.Fatal("the linker says nothing of what it keeps")
	}
	for line := range strings.Lines(string(out)) {
		if from, _, ok := strings.Cut(line, " <ReflectMethod>"); ok && !strings.Contains(from, " ") {
			t.Errorf("%s may call any method: the linker keeps all", from)
			break
		}
	}
}
