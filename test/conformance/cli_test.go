package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/devenv"
	"iasql/internal/testaws"
)

// cli is the aws command in one account. It takes most of a second to start and
// some milliseconds to work, so that one process, which lives as long as the
// test, runs all commands.
type cli struct {
	account testaws.Account
	lock    sync.Mutex
	in      io.WriteCloser
	out     *bufio.Reader
	process *exec.Cmd
}

// resident does what the program aws does, again and again: it reads commands,
// as lists, and answers with how they ended and what they said. What the
// commands share are the descriptions of the services, which take long to load.
const resident = `
import contextlib, io, json, sys
import awscli.clidriver
answers, loader = sys.stdout, awscli.clidriver.create_clidriver().session.get_component("data_loader")
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            driver = awscli.clidriver.create_clidriver()
            driver.session.register_component("data_loader", loader)
            code = driver.main(json.loads(line))
        except SystemExit as e:
            code = e.code
    answers.write(json.dumps([code or 0, out.getvalue(), err.getvalue()]) + "\n")
    answers.flush()
`

func startCLI(t *testing.T, account testaws.Account) *cli {
	t.Helper()
	program, err := devenv.FindTool("aws")
	if err != nil {
		t.Fatal(err)
	}
	interpreter, err := interpreterOf(program)
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{account: account, process: exec.Command(interpreter, "-c", resident)}
	c.process.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	c.process.Env = append(c.process.Env, account.Env()...)
	c.process.Stderr = os.Stderr
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if c.in, err = c.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.in.Close()
		_ = c.process.Wait()
	})
	return c
}

// interpreterOf returns the Python that the program aws runs with: what its
// first line names, unless that is a stand-in for one of several installations.
func interpreterOf(program string) (string, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if interpreter, ok := strings.CutPrefix(first, "#!"); ok && strings.Contains(filepath.Base(interpreter), "python") {
		return strings.TrimSpace(interpreter), nil
	}
	if behind, err := exec.Command("pyenv", "which", "aws").Output(); err == nil && strings.TrimSpace(string(behind)) != program {
		return interpreterOf(strings.TrimSpace(string(behind)))
	}
	return "", fmt.Errorf("%s is no program in Python: make deps installs one", program)
}

// run runs a command and returns what it prints.
func (c *cli) run(command string) (string, error) {
	args := append([]string{"--endpoint-url", c.account.Endpoint, "--output", "json"}, split(command)...)
	line, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return "", err
	}
	text, err := c.out.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	var answer [3]any
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	if answer[0] != float64(0) {
		return "", fmt.Errorf("aws %s: %s", command, strings.TrimSpace(fmt.Sprint(answer[2])))
	}
	return strings.TrimSpace(fmt.Sprint(answer[1])), nil
}

// split splits a command at spaces outside of single quotes. A quote itself is
// written \\'.
func split(command string) []string {
	var (
		args   []string
		arg    strings.Builder
		quoted bool
		some   bool
		taken  bool // as it is: it follows a backslash
	)
	for _, r := range command + " " {
		switch {
		case r == '\\' && !quoted:
			taken = true
			continue
		case r == '\'' && !taken:
			quoted, some = !quoted, true
		case !quoted && (r == ' ' || r == '\n' || r == '\t'):
			if some {
				args = append(args, arg.String())
			}
			arg.Reset()
			some = false
		default:
			arg.WriteRune(r)
			some = true
		}
		taken = false
	}
	return args
}
