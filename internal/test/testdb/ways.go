package testdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"

	"iasql/internal/devenv"
)

const (
	serverEnv      = "IASQL_TEST_DATABASE_URL"
	clusterPrefix  = "iasql-testdb-"
	dockerImage    = "postgres:15-alpine"
	maxConnections = "300" // many parallel tests, a pool in each
)

// ways are the ways of getting a server, in order.
func ways() []way {
	if given := os.Getenv(serverEnv); given != "" {
		return []way{{serverEnv, true, func(context.Context) (string, func(context.Context) error, error) {
			return fromURL(given)
		}}}
	}
	return []way{
		{serverEnv, false, func(context.Context) (string, func(context.Context) error, error) {
			return "", nil, errors.New("not set")
		}},
		{"local programs", false, fromPrograms},
		{"Docker", false, fromDocker},
	}
}

// fromURL uses a server that runs already.
func fromURL(given string) (string, func(context.Context) error, error) {
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return "", nil, errors.New("not a URL postgres://user:password@host:port/database")
	}
	return given, func(context.Context) error { return nil }, nil
}

// fromPrograms makes a private cluster in a temporary directory.
func fromPrograms(ctx context.Context) (string, func(context.Context) error, error) {
	var reason error
	// Root's own TMPDIR may be out of reach for the user that PostgreSQL runs as.
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		sweep(base)
		dir, err := os.MkdirTemp(base, clusterPrefix)
		if err != nil {
			reason = errors.Join(reason, err)
			continue
		}
		pg, err := devenv.StartPostgres(ctx, devenv.PostgresOptions{
			DataDir:    dir,
			FastUnsafe: true,
			Settings:   map[string]string{"max_connections": maxConnections},
		})
		if err == nil {
			return pg.AdminURL(), func(ctx context.Context) error {
				return errors.Join(pg.Stop(ctx), os.RemoveAll(dir))
			}, nil
		}
		_ = os.RemoveAll(dir)
		reason = err
		if !errors.Is(err, devenv.ErrDataDirAccess) {
			break
		}
	}
	return "", nil, reason
}

// sweep removes the clusters of test binaries that were killed. Their servers
// ended with them, and with both the lock on the directory.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, clusterPrefix+"*")) // fails for malformed patterns only
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < time.Hour { // it may be about to be locked
			continue
		}
		f, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		f.Close()
	}
}

// fromDocker starts a container; testcontainers removes it should we be killed.
func fromDocker(ctx context.Context) (_ string, _ func(context.Context) error, err error) {
	defer func() {
		// testcontainers panics on some kinds of absence of Docker.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	container, err := postgres.Run(ctx, dockerImage,
		postgres.WithUsername("postgres"),
		postgres.WithPassword("postgres"),
		postgres.WithDatabase("iasql"),
		testcontainers.WithCmd("postgres", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c",
			"full_page_writes=off",
			"-c", "max_connections="+maxConnections),
		postgres.BasicWaitStrategies(),
	)
	release := func(context.Context) error { return testcontainers.TerminateContainer(container) }
	if err != nil {
		return "", nil, errors.Join(err, release(ctx))
	}
	adminURL, err := container.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return "", nil, errors.Join(err, release(ctx))
	}
	return adminURL, release, nil
}
