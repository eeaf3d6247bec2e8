package hosts

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

//go:embed embedded
var embedded embed.FS

// embeddedRunner returns the runner that is built in.
func embeddedRunner(arch string) ([]byte, error) {
	packed, err := embedded.ReadFile("embedded/runner-linux-" + arch + ".gz")
	if err != nil {
		return nil, fmt.Errorf("this engine was built without the runner for linux/%s: build it with make "+
			"build, which makes the runners first", arch)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked) // #nosec G110 -- our own
}

// architectures are what uname -m calls those that there may be runners for, and what Go calls them.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Bounds of what a host answers.
const (
	maxLine  = 32 << 20
	maxTotal = 256 << 20 // of one request
	maxNoise = 64 << 10  // before the runner's first line
)

// remote is a connection to a host, with a runner at the other end.
type remote struct {
	client *ssh.Client
	in     io.WriteCloser
	said   string
	home   string   // of the login, as the host says
	keys   []string // by which the login may have been let in, as signIn.keys says
	// armed are the trials that were under way when this connection was made, which proves that they lock nobody out.
	armed   []string
	proving sync.Mutex
	launch  func(arguments string) string // the script that starts the runner
	dead    chan struct{}

	writing sync.Mutex
	lock    sync.Mutex
	err     error // why it is dead
	last    int64
	calls   map[int64]*call
}

// call is a request that is under way.
type call struct {
	answers chan runner.Answer
	left    chan struct{} // closed when nobody listens any more
	bytes   int
}

// openSSH connects by dial, logs in, puts the runner there if it is not, and starts it.
func openSSH(ctx context.Context, settings *Settings, dial dialer, options *Options) (_ session, err error) {
	limit, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	row := settings
	if settings, err = resolved(limit, row, options); err != nil {
		return nil, &modules.Error{Class: modules.Denied, Code: "Login",
			Message: fmt.Sprintf("host %s (%s): %s", row.Name, row.Address, clean(err.Error()))}
	}
	address := net.JoinHostPort(settings.Address, strconv.Itoa(settings.Port))
	denied := func(format string, args ...any) error {
		return &modules.Error{Class: modules.Denied, Code: "Login",
			Message: fmt.Sprintf("host %s (%s@%s): %s", settings.Name, settings.User, address,
				clean(fmt.Sprintf(format, args...)))}
	}
	unreachable := func(err error) error {
		by := ""
		if settings.JumpHost != "" {
			by = ", by way of " + settings.JumpHost + ","
		}
		return &modules.Error{Class: modules.Transient, Code: "Unreachable", Err: err,
			Message: fmt.Sprintf("host %s (%s)%s does not answer: %s", settings.Name, address, by, clean(err.Error()))}
	}
	login, err := newSignIn(limit, settings, cmp.Or(settings.Agent, options.AgentSocket))
	if err != nil {
		return nil, denied("%v", err)
	}
	defer login.close()
	key, err := newHostKey(settings)
	if err != nil {
		return nil, denied("%v", err)
	}
	conn, err := dial(limit, "tcp", address)
	if err != nil {
		return nil, unreachable(err)
	}
	patience := newPatience(conn, dialWithin)
	defer patience.end()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	config := &ssh.ClientConfig{User: settings.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(login.signers...)},
		Timeout: dialWithin, HostKeyAlgorithms: key.algorithms(), HostKeyCallback: key.check}
	transport, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close()
		if why := key.refused(err); why != "" {
			return nil, &modules.Error{Class: modules.Denied, Code: CodeHostKey,
				Message: fmt.Sprintf("host %s (%s): %s", settings.Name, address, clean(why))}
		}
		if text := strings.ToLower(err.Error()); strings.Contains(text, "unable to authenticate") ||
			strings.Contains(text, "too many authentication failures") {
			return nil, denied("%s", login.letIn(settings.User))
		}
		return nil, unreachable(patience.why(err))
	}
	if !patience.extend(startWithin) {
		return nil, unreachable(patience.why(net.ErrClosed))
	}
	r := &remote{client: ssh.NewClient(transport, channels, requests), dead: make(chan struct{}),
		calls: map[int64]*call{}}
	who, lines, err := r.start(settings.Become, options.Runner)
	if err != nil {
		_ = r.client.Close()
		if ctx.Err() != nil || errors.Is(err, io.EOF) || patience.over.Load() {
			return nil, unreachable(patience.why(err))
		}
		return nil, notStarted(denied("%v%s", err, advice(err.Error(), settings.User)), settings)
	}
	if !patience.end() {
		return nil, unreachable(patience.why(net.ErrClosed))
	}
	r.said = key.said
	if who.Machine != "" {
		r.said += ", machine id " + clean(who.Machine)
	}
	r.home, r.keys, r.armed = who.Home, login.keys(), who.Armed[:min(len(who.Armed), maxArmed)]
	go r.receive(lines)
	return r, nil
}

// The codes of errors of signing in: of a login that is let in and may not become root without a password, and of a
// host whose certificate is not believed.
const CodeBecome, CodeHostKey = "Become", "HostKey"

// notStarted says of the error of a runner that did not start whether that was sudo.
func notStarted(err error, settings *Settings) error {
	if known := new(modules.Error); settings.Become && errors.As(err, &known) &&
		strings.Contains(known.Message, "sudo") && !strings.Contains(known.Message, "unable to execute") {
		known.Code = CodeBecome
	}
	return err
}

// advices are what to do about what a host says, or a shell on it, when the runner does not start, by all parts of
// that. %s is the login.
var advices = []struct {
	says   []string
	advice string
}{
	{[]string{"sudo", "must have a tty"}, "let it use sudo without one: visudo -f /etc/sudoers.d/iasql, with the " +
		"line Defaults:%s !requiretty"},
	{[]string{"sudo: a password is required"}, "let it use sudo without one: visudo -f /etc/sudoers.d/iasql, with " +
		"the line %s ALL=(root) NOPASSWD: ALL. Or have the engine do without: UPDATE host SET become = false"},
	{[]string{"exec: sudo:"}, "install sudo, and let %s run it. Or have the engine do without: UPDATE host SET " +
		"become = false"},
	{[]string{".iasql-runner/", "ermission denied"}, "the home of %s lets nobody run programs: mount it " +
		"without noexec"},
	{[]string{".iasql-runner", "No space left"}, "make room in the home of %s: 64 MiB are enough"},
	{[]string{"Unmatched '"}, "%s needs a shell that reads quotes as POSIX has it, such as /bin/sh"},
	{[]string{"mkdir: "}, "%s needs a home that it may write to: the runner lies there"},
}

// advice returns what to do about what was said when the runner did not start, "" if that is not known.
func advice(said, login string) string {
	for _, a := range advices {
		if !slices.ContainsFunc(a.says, func(part string) bool { return !strings.Contains(said, part) }) {
			return "; " + strings.ReplaceAll(a.advice, "%s", login)
		}
	}
	return ""
}

// patience closes a connection when its time is over: one by way of a jump host takes no deadline.
type patience struct {
	timer  *time.Timer
	within time.Duration
	over   atomic.Bool
}

func newPatience(conn net.Conn, within time.Duration) *patience {
	p := &patience{within: within}
	p.timer = time.AfterFunc(within, func() {
		p.over.Store(true)
		_ = conn.Close()
	})
	return p
}

// extend has the time begin anew, and reports whether it was not over.
func (p *patience) extend(within time.Duration) bool {
	if !p.end() {
		return false
	}
	p.within = within
	p.timer.Reset(within)
	return true
}

// end has the time never be over, and reports whether it was not.
func (p *patience) end() bool { return p.timer.Stop() || !p.over.Load() }

// why is the error of a connection, or that its time was over.
func (p *patience) why(err error) error {
	if p.over.Load() {
		return fmt.Errorf("it has not let us in within %s", p.within)
	}
	return err
}

// folder is where runners are on a host, below the home of the login.
const folder = `"$HOME/.iasql-runner"`

// quoted quotes a text for a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// start starts the runner, and returns who the host says it is.
func (r *remote) start(become bool, runners func(arch string) ([]byte, error)) (who *runner.Host, lines *bufio.Reader,
	err error) {
	built, sums := map[string][]byte{}, map[string]string{}
	var missing error
	var cases strings.Builder
	for name, arch := range architectures {
		program, err := runners(arch)
		if err != nil {
			missing = err
			continue
		}
		sum := sha256.Sum256(program)
		built[name], sums[name] = program, hex.EncodeToString(sum[:])
		fmt.Fprintf(&cases, "\"Linux %s\") sum=%s;;\n", name, sums[name])
	}
	sudo := ""
	if become {
		sudo = "sudo -n -- "
	}
	r.launch = func(arguments string) string {
		return `case "$(uname -s) $(uname -m)" in
` + cases.String() + `*) echo "iasql-runner none $(uname -s) $(uname -m)"; exit 0;;
esac
umask 077
mkdir -p ` + folder + ` && chmod 700 ` + folder + ` || exit 1
file=` + folder + `/$sum
echo "$sum  $file" | sha256sum -c --status 2>/dev/null || { echo "iasql-runner needed $(uname -m)"; exit 0; }
exec ` + sudo + `"$file"` + arguments + "\n"
	}
	for again := false; ; again = true {
		line, in, rest, err := r.run(r.launch(""))
		if err != nil {
			return nil, nil, err
		}
		if r.in = in; !strings.HasPrefix(line, "{") {
			in.end()
		}
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "{"):
			var hello runner.Answer
			if err := json.Unmarshal([]byte(line), &hello); err != nil || hello.Host == nil ||
				hello.Host.Version != runner.Version || len(hello.Host.Machine) > 100 || len(hello.Host.Home) > 4096 {
				return nil, nil, errors.New("its runner does not say who it is")
			}
			return hello.Host, rest, nil
		case len(fields) == 3 && fields[1] == "needed" && !again && built[fields[2]] != nil:
			if err := r.put(built[fields[2]], sums[fields[2]]); err != nil {
				return nil, nil, err
			}
		case len(fields) == 4 && fields[1] == "none" && fields[2] == "Linux" && architectures[fields[3]] != "" &&
			missing != nil:
			return nil, nil, missing
		case len(fields) == 4 && fields[1] == "none":
			return nil, nil, fmt.Errorf("there is no runner for its kind of machine, %s %s: there are those for "+
				"Linux on x86_64 and aarch64", fields[2], fields[3])
		default:
			return nil, nil, errors.New("the runner cannot be put there")
		}
	}
}

// session opens a session.
func (r *remote) session() (*ssh.Session, error) {
	s, err := r.client.NewSession()
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		err = fmt.Errorf("its SSH server opens no more sessions (%s): MaxSessions of its sshd_config has to be "+
			"larger, as its default of 10 is", refused.Message)
	}
	return s, err
}

// run starts a script of the shell, whose input stays open, and returns the line with which the runner, or its absence,
// begins.
func (r *remote) run(script string) (line string, in *input, lines *bufio.Reader, err error) {
	s, err := r.session()
	if err != nil {
		return "", nil, nil, err
	}
	to, err := s.StdinPipe()
	if err != nil {
		return "", nil, nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return "", nil, nil, err
	}
	said := &bounded{}
	s.Stderr = said
	if err := s.Start("exec sh -c " + quoted(script)); err != nil {
		return "", nil, nil, err
	}
	lines = bufio.NewReaderSize(out, 64<<10)
	last := "" // what was no line of the runner's
	for noise := 0; noise < maxNoise; noise += len(line) {
		text, err := readLine(lines, maxNoise)
		if line = string(text); err != nil {
			if !errors.Is(err, io.EOF) {
				return "", nil, nil, err
			}
			ended := s.Wait() // also for the rest of what it says on the side
			if text := strings.TrimSpace(said.String()); text != "" {
				return "", nil, nil, fmt.Errorf("the runner cannot be started: %s", text)
			}
			if lost := new(ssh.ExitMissingError); errors.As(ended, &lost) {
				return "", nil, nil, err
			}
			return "", nil, nil, fmt.Errorf("its shell has ended and run nothing, and said %q: the login needs a "+
				"shell such as /bin/sh, and no command that is run instead (ForceCommand, command= in authorized_keys)",
				strings.TrimSpace(last+line))
		}
		if strings.HasPrefix(line, `{"id":0,"host":`) || strings.HasPrefix(line, "iasql-runner ") {
			return line, &input{to, s}, lines, nil
		}
		last = line
	}
	return "", nil, nil, errors.New(
		"its shell says too much before it runs anything: look at what it reads at the beginning")
}

// input is that of a program on the host, which ends with it.
type input struct {
	io.WriteCloser
	session *ssh.Session
}

// Close implements [io.Closer].
func (i *input) Close() error {
	_ = i.WriteCloser.Close()
	return i.session.Close()
}

// end waits until the program has ended by itself, so that its session is over before the next: a server may allow one
// at a time.
func (i *input) end() {
	_ = i.WriteCloser.Close()
	_ = i.session.Wait()
	_ = i.session.Close()
}

// put puts the runner into its place. Those of other engines stay for a day: they may be putting theirs there just now.
func (r *remote) put(program []byte, sum string) error {
	s, err := r.session()
	if err != nil {
		return err
	}
	defer s.Close()
	s.Stdin = bytes.NewReader(program)
	said := &bounded{}
	s.Stderr = said
	err = s.Run("exec sh -c " + quoted(`umask 077
cd `+folder+` || exit 1
cat > new.$$ && chmod 700 new.$$ && echo "`+sum+`  new.$$" | sha256sum -c --status && mv -f new.$$ `+sum+` || { rm -f new.$$; exit 1; }
find . -type f ! -name `+sum+` -mtime +0 -exec rm -f {} +
exit 0
`))
	if err != nil {
		return fmt.Errorf("the runner cannot be put into %s: %w %s", folder, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// bounded keeps the beginning of what is written, by one and read by another.
type bounded struct {
	lock sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.text = append(b.text, p[:min(len(p), 2000-len(b.text))]...)
	return len(p), nil
}

// String returns it.
func (b *bounded) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return string(b.text)
}

func (r *remote) who() string { return r.said }

func (r *remote) alive() bool {
	select {
	case <-r.dead:
		return false
	default:
		return true
	}
}

func (r *remote) close() { r.fail(errLost) }

// fail ends the connection, and what is under way.
func (r *remote) fail(err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.err == nil {
		r.err = err
		close(r.dead)
		go func() { _ = r.client.Close() }() // which may wait for the network
	}
}

func (r *remote) failure() error {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.err
}

// receive hands out answers until the connection ends.
func (r *remote) receive(lines *bufio.Reader) {
	for {
		line, err := readLine(lines, maxLine)
		var a runner.Answer
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errLost
			}
			r.fail(err)
			return
		}
		r.lock.Lock()
		c := r.calls[a.ID]
		r.lock.Unlock()
		if c == nil {
			continue // nobody waits for it any more
		}
		if c.bytes += len(line); c.bytes > maxTotal {
			r.fail(fmt.Errorf("its answer is longer than %d MiB", maxTotal>>20))
			return
		}
		select {
		case c.answers <- a:
		case <-c.left:
		case <-r.dead:
			return
		}
	}
}

// readLine reads a line of at most so many bytes.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, fmt.Errorf("it sends a line of more than %d KiB", most>>10)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// do implements [session].
func (r *remote) do(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	c := &call{answers: make(chan runner.Answer), left: make(chan struct{})}
	r.lock.Lock()
	r.last++
	asked := *request
	asked.ID = r.last
	r.calls[asked.ID] = c
	r.lock.Unlock()
	defer func() {
		close(c.left)
		r.lock.Lock()
		delete(r.calls, asked.ID)
		r.lock.Unlock()
	}()
	line, err := json.Marshal(&asked)
	if err != nil {
		return err
	}
	go func() {
		r.writing.Lock()
		defer r.writing.Unlock()
		if _, err := r.in.Write(append(line, '\n')); err != nil {
			r.fail(err)
		}
	}()
	idle := time.NewTimer(idleWithin)
	defer idle.Stop()
	for {
		select {
		case a := <-c.answers:
			idle.Reset(idleWithin)
			if a.Error != nil {
				return a.Error
			}
			if err := each(a); err != nil || !a.More {
				return err
			}
		case <-idle.C:
			err := fmt.Errorf("it has not answered for %s", idleWithin)
			r.fail(err)
			return err
		case <-r.dead:
			return r.failure()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
