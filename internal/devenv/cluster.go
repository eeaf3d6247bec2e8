package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// This file is about what a cluster holds before and after its server runs:
// making it, its database and roles, and a postmaster left behind on it.

// prepareCluster makes the cluster if there is none and sees to the superuser's
// password. A cluster appears under its name only when it is complete.
func (p *Postgres) prepareCluster(ctx context.Context, opts PostgresOptions, missing bool) error {
	password, fresh, err := p.dir.password("admin.password")
	if err != nil {
		return err
	}
	p.admin = password
	if missing {
		progress(opts.Progress, "creating a PostgreSQL %d cluster in %s", p.inst.major, p.dir.path)
		if err := p.initCluster(ctx, opts); err != nil {
			return err
		}
	} else {
		if err := p.dir.chown(p.dir.cluster()); err != nil {
			return err
		}
		if fresh { // the file was lost; the owner of the cluster may set a new password
			if err := p.singleUser(ctx, p.dir.cluster(),
				fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", adminRole, password)); err != nil {
				return err
			}
		}
	}
	if fresh {
		return p.dir.keepPassword("admin.password", password)
	}
	return nil
}

func (p *Postgres) initCluster(ctx context.Context, opts PostgresOptions) error {
	fresh := p.dir.cluster() + ".new"
	if err := os.RemoveAll(fresh); err != nil { // left by a start that was cut off
		return p.dir.inaccessible(err)
	}
	passwordFile := filepath.Join(p.dir.path, "init.password")
	if err := os.WriteFile(passwordFile, []byte(p.admin+"\n"), 0o600); err != nil {
		return p.dir.inaccessible(err)
	}
	defer os.Remove(passwordFile)
	if err := p.dir.chown(passwordFile); err != nil {
		return err
	}
	// Text sorts by code point everywhere; plain C where C.UTF-8 is unknown (macOS).
	var err error
	for _, locale := range []string{"C.UTF-8", "C"} {
		if err = p.dir.mkdirOwned(fresh); err != nil {
			return err
		}
		args := []string{"-D", fresh, "--username=" + adminRole, "--pwfile=" + passwordFile, "--auth=scram-sha-256",
			"--encoding=UTF8", "--locale=" + locale, "--no-instructions"}
		if opts.FastUnsafe {
			args = append(args, "--no-sync")
		}
		cmd := p.command(ctx, "initdb", args...)
		var out []byte
		if out, err = cmd.CombinedOutput(); err == nil {
			break
		}
		err = failure(ErrNotStarted, "initdb failed in %s: %s", p.dir.path,
			lastError(strings.Split(string(out), "\n"), err))
		if rerr := os.RemoveAll(fresh); rerr != nil {
			return p.dir.inaccessible(rerr)
		}
		if !strings.Contains(string(out), "locale") {
			break
		}
	}
	if err != nil {
		return err
	}
	// Before the first real start: pg_cron looks for its database at once.
	if !opts.Bare {
		if err := p.singleUser(ctx, fresh, "CREATE DATABASE "+database); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, p.dir.cluster()); err != nil {
		return p.dir.inaccessible(err)
	}
	return nil
}

// singleUser runs a statement without a server, as the cluster's owner may.
func (p *Postgres) singleUser(ctx context.Context, cluster, sql string) error {
	cmd := p.command(ctx, "postgres", "--single", "-D", cluster, "-c", "exit_on_error=on", "-c",
		"shared_preload_libraries=", "postgres")
	cmd.Stdin = strings.NewReader(sql + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return failure(ErrNotStarted, "cluster in %s could not be prepared: %s", p.dir.path,
			lastError(strings.Split(string(out), "\n"), err))
	}
	return nil
}

// prepareDatabase makes the database and the login role unless they exist. What
// exists is left as it is: a second start revokes and grants nothing.
func (p *Postgres) prepareDatabase(ctx context.Context) error {
	fail := func(err error) error {
		return failure(ErrNotStarted, "database %s in %s could not be prepared: %s", database, p.dir.path, oneLine(err))
	}
	admin, err := p.connect(ctx, "postgres")
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == pgerrcode.InvalidPassword {
		return failure(ErrNotStarted, "postgres refuses the password in %s/admin.password: remove that file to have "+
			"it set anew", p.dir.path)
	}
	if err != nil {
		return fail(err)
	}
	defer admin.Close(ctx)
	var hasDatabase, hasRole bool
	err = admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1), EXISTS (SELECT FROM pg_roles WHERE rolname = $2)`,
		database, userRole).Scan(&hasDatabase, &hasRole)
	if err != nil {
		return fail(err)
	}
	if !hasDatabase {
		if _, err := admin.Exec(ctx, "CREATE DATABASE "+database); err != nil {
			return fail(err)
		}
	}
	if p.user, err = p.prepareLogin(ctx, admin, userRole, "user.password"); err != nil {
		return err
	}
	if p.service, err = p.prepareLogin(ctx, admin, serviceRole, "service.password"); err != nil {
		return err
	}
	conn, err := p.connect(ctx, database)
	if err != nil {
		return fail(err)
	}
	defer conn.Close(ctx)
	if !hasDatabase || !hasRole {
		_, err := conn.Exec(ctx, fmt.Sprintf(
			"GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %[1]s TO %[2]s; GRANT USAGE, CREATE ON SCHEMA public "+
				"TO %[2]s", database, userRole))
		if err != nil {
			return fail(err)
		}
	}
	if p.cron { // the library is of no use without its SQL files
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_cron')`).Scan(
			&p.cron)
		if err != nil {
			return fail(err)
		}
	}
	return nil
}

// prepareLogin makes a login role without privileges unless it exists, and
// returns its password, which is kept in file.
func (p *Postgres) prepareLogin(ctx context.Context, admin *pgx.Conn, role, file string) (string, error) {
	fail := func(err error) (string, error) {
		return "", failure(ErrNotStarted, "role %s in %s could not be prepared: %s", role, p.dir.path, oneLine(err))
	}
	password, fresh, err := p.dir.password(file)
	if err != nil {
		return "", err
	}
	var exists bool
	if err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, role).Scan(&exists); err != nil {
		return fail(err)
	}
	if exists && !fresh {
		return password, nil
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	if _, err := admin.Exec(ctx, fmt.Sprintf("%s ROLE %s LOGIN NOSUPERUSER PASSWORD '%s'", verb, role,
		password)); err != nil {
		return fail(err)
	}
	return password, p.dir.keepPassword(file, password)
}

// stopStale stops the postmaster that an earlier program left running on this
// data directory when it was killed. The lock is ours, so nobody else's it can be.
func stopStale(ctx context.Context, dir *dataDir, report func(string)) error {
	pidFile := filepath.Join(dir.cluster(), "postmaster.pid")
	text, err := os.ReadFile(pidFile) // #nosec G304 -- a file of the cluster
	if err != nil {
		return nil // none
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		return nil // for postgres to judge
	}
	is, known := isPostmasterOf(pid, dir.cluster())
	switch {
	case known && !is:
		// The process number went to some other program, for which postgres
		// would take a living postmaster if it ran under the same user.
		_ = os.Remove(pidFile)
		return nil
	case !known:
		return nil // gone, or another user's: postgres knows how to tell
	}
	progress(report, "stopping the PostgreSQL left running by an earlier start (process %d)", pid)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for _, step := range []stopStep{{syscall.SIGINT, fastTimeout}, {syscall.SIGQUIT, quitTimeout},
		{syscall.SIGKILL, quitTimeout}} {
		if err := syscall.Kill(pid, step.signal); errors.Is(err, syscall.ESRCH) {
			return nil
		}
		deadline := time.After(step.wait)
		for waiting := true; waiting; {
			select {
			case <-tick.C:
				if is, _ := isPostmasterOf(pid, dir.cluster()); !is {
					return nil
				}
			case <-deadline:
				waiting = false
			case <-ctx.Done():
				return failure(ErrDataDirInUse,
					"data directory %s is in use by process %d, which did not stop in time: end it", dir.path, pid)
			}
		}
	}
	return failure(ErrDataDirInUse, "data directory %s is in use by process %d, which cannot be stopped: end it",
		dir.path, pid)
}
