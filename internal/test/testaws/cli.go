package testaws

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/devenv"
)

// CLI runs the aws command with the given arguments in this account and returns
// what it prints, as JSON. The test fails with the command's message if it fails.
func (a Account) CLI(t testing.TB, args ...string) string {
	t.Helper()
	out, err := a.TryCLI(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TryCLI is [Account.CLI] that returns the command's message as an error.
func (a Account) TryCLI(args ...string) (string, error) {
	env := map[string]string{}
	for _, kv := range a.Env() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	line, err := json.Marshal(map[string]any{"args": append([]string{"--endpoint-url", a.Endpoint, "--output", "json"},
		args...), "env": env})
	if err != nil {
		return "", err
	}
	pool, err := residents()
	if err != nil {
		return "", fmt.Errorf("testaws: %w", err)
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
		return "", errors.New("aws " + strings.Join(args, " ") + ": " + strings.TrimSpace(fmt.Sprint(answer[2])))
	}
	return fmt.Sprint(answer[1]), nil
}

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
// which take long to load, and what botocore finds out of its own handlers. The
// collector of garbage, which would look at all of those again and again, comes seldom.
const residentProgram = `
import contextlib, gc, io, json, os, sys
import awscli.clidriver, botocore.hooks

accepts, aliases = botocore.hooks.accepts_kwargs, {}
botocore.hooks.accepts_kwargs = lambda f: bool(f.__code__.co_flags & 8) if hasattr(f, "__code__") else accepts(f)
class Aliaser(botocore.hooks.EventAliaser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._alias_name_cache = aliases
botocore.session.EventAliaser = Aliaser

gc.set_threshold(50_000, 20, 100)
answers, loader = sys.stdout, awscli.clidriver.create_clidriver().session.get_component("data_loader")
for line in sys.stdin:
    command = json.loads(line)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
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
	interpreter, _, err := devenv.PythonProgram(path)
	if err != nil {
		return nil, err
	}
	process := exec.Command(interpreter, "-c", residentProgram)
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
