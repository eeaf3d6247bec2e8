package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"iasql/internal/devenv"
	"iasql/internal/test/testaws"
)

// cli is the aws command in one account, and in another for commands that begin
// with "stranger ".
type cli struct{ account, stranger testaws.Account }

// resident is the aws command as a process. The command takes most of a second
// to start and some milliseconds to work, so that few processes run all
// commands of all accounts.
type resident struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// residents are as many as work at the same time.
var residents = sync.OnceValues(func() (chan *resident, error) {
	pool := make(chan *resident, runtime.GOMAXPROCS(0))
	for range cap(pool) {
		r, err := startResident()
		if err != nil {
			return nil, err
		}
		pool <- r
	}
	return pool, nil
})

// program does what the program aws does, again and again: it reads commands,
// as lists, with the environment of each, and answers with how they ended and
// what they said. What the commands share are the descriptions of the services,
// which take long to load, and what botocore finds out of its own handlers.
const program = `
import contextlib, io, json, os, sys
import awscli.clidriver, botocore.hooks

accepts, aliases = botocore.hooks.accepts_kwargs, {}
botocore.hooks.accepts_kwargs = lambda f: bool(f.__code__.co_flags & 8) if hasattr(f, "__code__") else accepts(f)
class Aliaser(botocore.hooks.EventAliaser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._alias_name_cache = aliases
botocore.session.EventAliaser = Aliaser

answers, loader = sys.stdout, awscli.clidriver.create_clidriver().session.get_component("data_loader")
for line in sys.stdin:
    command = json.loads(line)
    os.environ.update(command["env"])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            driver = awscli.clidriver.create_clidriver()
            driver.session.register_component("data_loader", loader)
            code = driver.main(command["args"])
        except SystemExit as e:
            code = e.code
    answers.write(json.dumps([code or 0, out.getvalue(), err.getvalue()]) + "\n")
    answers.flush()
`

// startResident starts a process that ends when the tests do, with its input.
func startResident() (*resident, error) {
	path, err := devenv.FindTool("aws")
	if err != nil {
		return nil, err
	}
	interpreter, err := interpreterOf(path)
	if err != nil {
		return nil, err
	}
	process := exec.Command(interpreter, "-c", program)
	process.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &resident{in, bufio.NewReader(out)}, process.Start()
}

// run runs a command and returns what it prints.
func (c *cli) run(command string) (string, error) {
	account := c.account
	if of, ok := strings.CutPrefix(command, "stranger "); ok {
		account, command = c.stranger, of
	}
	env := map[string]string{}
	for _, kv := range account.Env() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	line, err := json.Marshal(map[string]any{
		"args": append([]string{"--endpoint-url", account.Endpoint, "--output", "json"}, split(command)...), "env": env,
	})
	if err != nil {
		return "", err
	}
	pool, err := residents()
	if err != nil {
		return "", err
	}
	r := <-pool
	defer func() { pool <- r }()
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return "", err
	}
	text, err := r.out.ReadBytes('\n')
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
