package devenv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	database  = "iasql"    // the database made in every cluster, and pg_cron's
	adminRole = "postgres" // superuser
	userRole  = "iasql"    // ordinary login

	serviceRole = "iasql_service" // the engine's login, ordinary as well

	startTimeout = 2 * time.Minute  // crash recovery of a large cluster included
	fastTimeout  = 20 * time.Second // a shutdown checkpoint may take a while
	quitTimeout  = 5 * time.Second

	// maxSocketPath is the room in sockaddr_un for a path (108 bytes on Linux,
	// 104 on macOS), less the final NUL.
	maxSocketPath = 103
)

// PostgresOptions says what [StartPostgres] is to run.
type PostgresOptions struct {
	// DataDir holds the cluster, its passwords and its log. It is created if
	// absent. Required; see [DefaultDataDir].
	DataDir string
	// Port to listen on at 127.0.0.1; 0 picks a free one.
	Port int
	// Progress, if not nil, is told in a few words what takes time.
	Progress func(string)
	// FastUnsafe trades durability for speed (fsync=off and so on). A crash of
	// the machine may destroy the cluster: for tests only.
	FastUnsafe bool
	// Settings are further server settings; they override the package's own.
	Settings map[string]string
	// Bare leaves the making of the database and of the login roles to the caller;
	// the URLs name them all the same.
	Bare bool
	// Env is added to the server's environment, as KEY=value.
	Env []string
}

// Postgres is a running private cluster. Its methods may be called concurrently.
type Postgres struct {
	dir       *dataDir
	inst      installation
	port      int
	admin     string // password
	user      string // password
	service   string // password
	socketDir string
	tempDir   string // holds the socket when the data directory's path is too long
	cron      bool
	proc      *process
	cleanup   sync.Once
}

// StartPostgres makes the cluster in opts.DataDir if there is none, stops a
// postmaster that a killed program left running on it, starts the server as a
// child process and returns once it accepts connections and the database "iasql"
// and the login roles "iasql" and "iasql_service" exist.
//
// The server programs are those on PATH, else the newest in the usual places of
// Debian's, PostgreSQL's own and Homebrew's packages; for a cluster that exists,
// those of its major version. Run by root, PostgreSQL becomes the user postgres
// (or nobody), to whom the cluster then belongs.
//
// It fails with [ErrNoBinaries], [ErrTooOld], [ErrDataDirAccess],
// [ErrDataDirInUse], [ErrDataDirVersion], [ErrPortTaken] or [ErrNotStarted].
func StartPostgres(ctx context.Context, opts PostgresOptions) (_ *Postgres, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if opts.DataDir == "" {
		return nil, failure(ErrDataDirAccess, "no data directory given: choose one with --data-dir")
	}
	dir, err := openDataDir(opts.DataDir)
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir}
	defer func() {
		if err != nil {
			if p.proc != nil {
				_ = p.Stop(context.WithoutCancel(ctx))
			}
			p.release()
		}
	}()

	major, err := clusterVersion(dir.cluster())
	if err != nil {
		return nil, err
	}
	if p.inst, err = chooseInstallation(findInstallations(installGlobs), installGlobs, dir.path, major); err != nil {
		return nil, err
	}
	if err := stopStale(ctx, dir, opts.Progress); err != nil {
		return nil, err
	}
	// Before the work of making a cluster: the mistake that is made most often.
	if opts.Port != 0 {
		if err := listenable(opts.Port, "--pg-port"); err != nil {
			return nil, err
		}
	}
	if err := p.prepareCluster(ctx, opts, major == 0); err != nil {
		return nil, err
	}
	if err := p.run(ctx, opts); err != nil {
		return nil, err
	}
	if opts.Bare {
		return p, nil
	}
	if err := p.prepareDatabase(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// AdminURL connects to the database iasql as the superuser postgres.
func (p *Postgres) AdminURL() string { return p.url(adminRole, p.admin, database) }

// UserURL connects to the database iasql as the ordinary login role iasql, which
// may create schemas there and objects in the schema public.
func (p *Postgres) UserURL() string { return p.url(userRole, p.user, database) }

// ServiceURL connects to the database iasql as the login role iasql_service, which
// has no privileges: an engine's, once it is made a member of iasql_engine.
func (p *Postgres) ServiceURL() string { return p.url(serviceRole, p.service, database) }

// Port is the TCP port listened on at 127.0.0.1.
func (p *Postgres) Port() int { return p.port }

// Version is the server's major version.
func (p *Postgres) Version() int { return p.inst.major }

// HasCron tells whether pg_cron is loaded, so that CREATE EXTENSION pg_cron
// works in the database iasql.
func (p *Postgres) HasCron() bool { return p.cron }

// SocketDir is the directory of the Unix socket, for PGHOST.
func (p *Postgres) SocketDir() string { return p.socketDir }

// LogFile is where the server's messages go.
func (p *Postgres) LogFile() string { return p.dir.log() }

// Done is closed once the server has ended, by Stop or by itself.
func (p *Postgres) Done() <-chan struct{} { return p.proc.done }

// Err says why the server ended by itself; nil while it runs and after Stop.
func (p *Postgres) Err() error { return p.proc.exitError("postgres", p.dir.log()) }

// Stop shuts the server down: fast (sessions are cut off, data is written out),
// and when that takes too long, or ctx ends, immediate (the next start recovers
// from the log). The server is gone when Stop returns; an error says that force
// was needed. Further calls do nothing.
func (p *Postgres) Stop(ctx context.Context) error {
	err := p.proc.stop(ctx, "postgres", false,
		stopStep{syscall.SIGINT, fastTimeout},
		stopStep{syscall.SIGQUIT, quitTimeout})
	p.release()
	return err
}

// release gives back what the start took from the machine, apart from the process.
func (p *Postgres) release() {
	p.cleanup.Do(func() {
		if p.tempDir != "" {
			_ = os.RemoveAll(p.tempDir)
		}
		p.dir.close()
	})
}

func (p *Postgres) url(role, password, db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(role, password),
		Host:     fmt.Sprintf("127.0.0.1:%d", p.port),
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// command prepares a server program to run as the cluster's owner.
func (p *Postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.inst.program(name),
		args...) // #nosec G204 -- a program of the installation that was found
	cmd.Dir = "/" // where we are may be out of the owner's reach
	cmd.SysProcAttr = p.dir.owner.attr()
	// The caller's libpq and locale settings must not leak into the server, whose
	// own connections (dblink) fail where it may not look for certificates in HOME.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "LC_") || strings.HasPrefix(kv, "LANG") ||
			strings.HasPrefix(kv, "HOME=")
	})
	cmd.Env = append(cmd.Env, "LC_ALL=C", "TZ=UTC", "HOME="+p.dir.path)
	return cmd
}

// settings returns the server's settings as -c arguments. They are given at every
// start, so that a new version of this program brings them to an old cluster.
func (p *Postgres) settings(opts PostgresOptions) []string {
	set := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(p.port),
		"unix_socket_directories": p.socketDir,
		"unix_socket_permissions": "0700",
		"password_encryption":     "scram-sha-256",
		"max_connections":         "200",
		"max_worker_processes":    "20",
		// of the large views each backend would compile expressions for longer than they take
		"jit":               "off",
		"timezone":          "UTC",
		"log_timezone":      "UTC",
		"log_destination":   "stderr",
		"logging_collector": "off",
		"log_line_prefix":   "%m [%p] %q%u@%d ",
	}
	if p.cron {
		set["shared_preload_libraries"] = "pg_cron"
		set["cron.database_name"] = database
		set["cron.use_background_workers"] = "on" // needs no password and no pg_hba.conf entry
		set["cron.timezone"] = "UTC"
	}
	if opts.FastUnsafe {
		set["fsync"] = "off"
		set["synchronous_commit"] = "off"
		set["full_page_writes"] = "off"
		set["autovacuum_naptime"] = "1h" // not off: it still must prevent wraparound
		set["max_wal_size"] = "4GB"
		set["checkpoint_timeout"] = "1h"
	}
	for name, value := range opts.Settings {
		set[name] = value
	}
	var args []string
	for name, value := range set {
		args = append(args, name+"="+value)
	}
	slices.Sort(args)
	out := []string{"-D", p.dir.cluster()}
	for _, arg := range args {
		out = append(out, "-c", arg)
	}
	return out
}

// run starts the server. It tries again when the free port it had picked was
// snatched away, or when the children of a killed postmaster have not ended yet.
func (p *Postgres) run(ctx context.Context, opts PostgresOptions) error {
	p.cron = p.inst.hasLibrary("pg_cron")
	for attempt := 1; ; attempt++ {
		p.port = opts.Port
		if p.port == 0 {
			port, err := freePort()
			if err != nil {
				return err
			}
			p.port = port
		}
		if err := p.prepareSocketDir(); err != nil {
			return err
		}
		err := p.runOnce(ctx, opts)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrPortTaken) && opts.Port == 0 && attempt < 5:
		case errors.Is(err, errClusterBusy) && attempt < 50:
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return err
			}
		default:
			return err
		}
	}
}

// prepareSocketDir puts the socket into the data directory, or, when its path
// would not fit into a socket address, into a temporary directory.
func (p *Postgres) prepareSocketDir() error {
	p.socketDir = filepath.Join(p.dir.path, "run")
	if len(filepath.Join(p.socketDir, ".s.PGSQL.65535")) > maxSocketPath {
		if p.tempDir == "" {
			dir, err := os.MkdirTemp("/tmp", "iasql-pg-")
			if err != nil {
				return failure(ErrDataDirAccess, "no directory for the socket of %s: %v", p.dir.path, rootCause(err))
			}
			p.tempDir = dir
		}
		p.socketDir = p.tempDir
		return p.dir.chown(p.tempDir)
	}
	return p.dir.mkdirOwned(p.socketDir)
}

// errClusterBusy: processes of an earlier postmaster are still attached.
var errClusterBusy = errors.New("cluster still in use")

func (p *Postgres) runOnce(ctx context.Context, opts PostgresOptions) error {
	log, err := openLog(p.dir.log())
	if err != nil {
		return p.dir.inaccessible(err)
	}
	defer log.Close() // the child has its own
	var offset int64
	if st, err := log.Stat(); err == nil {
		offset = st.Size()
	}
	progress(opts.Progress, "starting PostgreSQL %d on port %d", p.inst.major, p.port)
	// Not the caller's context: the server outlives the start.
	cmd := p.command(context.WithoutCancel(ctx), "postgres", p.settings(opts)...)
	cmd.Env = append(cmd.Env, opts.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	// Told of our death, the server does a fast shutdown.
	p.proc, err = startProcess(cmd, syscall.SIGINT)
	if err != nil {
		return failure(ErrNotStarted, "postgres could not be run as user %s: %v", p.dir.owner.name, err)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if p.ready() {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.proc.done:
			return p.startFailure(logSince(p.dir.log(), offset))
		case <-ctx.Done():
			return failure(ErrNotStarted, "postgres was not ready in time: see %s", p.dir.log())
		}
	}
}

// ready tells whether the server says that it accepts connections, in the last
// line of postmaster.pid. To try to connect would do as well, but logs an error
// for every time that it was too early.
func (p *Postgres) ready() bool {
	text, err := os.ReadFile(filepath.Join(p.dir.cluster(), "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return len(lines) >= 8 && lines[0] == strconv.Itoa(p.proc.cmd.Process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

// startFailure explains from its log why the server ended during its start.
func (p *Postgres) startFailure(lines []string) error {
	text := strings.Join(lines, "\n")
	switch {
	case strings.Contains(text, "could not bind") || strings.Contains(text, "could not create any TCP/IP sockets"):
		return failure(ErrPortTaken, "port %d is taken: choose another with --pg-port", p.port)
	case strings.Contains(text, "pre-existing shared memory block"):
		return &Error{Kind: errors.Join(ErrNotStarted, errClusterBusy),
			Message: fmt.Sprintf("processes of an earlier server still use %s: end them and try again", p.dir.path)}
	}
	return failure(ErrNotStarted, "postgres did not start: %s: see %s", lastError(lines, p.proc.err), p.dir.log())
}

var errorLine = regexp.MustCompile(`(?:FATAL|PANIC|ERROR|error):\s+(.*)`)

// lastError finds the reason among a program's messages, else it falls back.
func lastError(lines []string, fallback error) string {
	for _, line := range slices.Backward(lines) {
		if m := errorLine.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	if fallback == nil {
		return "it gave no reason"
	}
	return fallback.Error()
}

// oneLine puts an error of the driver, which lists every address it tried, on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (p *Postgres) connect(ctx context.Context, db string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(p.url(adminRole, p.admin, db))
	if err != nil {
		return nil, err
	}
	cfg.ConnectTimeout = 10 * time.Second
	// Users may create in schema public, and this is the superuser.
	cfg.RuntimeParams["search_path"] = "pg_catalog, pg_temp"
	return pgx.ConnectConfig(ctx, cfg)
}
