package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/devenv"
	"iasql/internal/test/faultproxy"
)

// The measurements with the built engine and the AWS emulator.
const (
	inserted = 1000
	listed   = 3000
	idleFor  = 30 * time.Second
)

// reads are the beginnings of the names of calls that change nothing.
func reads(action string) bool {
	if method, path, rest := strings.Cut(action, " "); rest {
		return method == "GET" || method == "HEAD" || method == "POST" &&
			strings.HasPrefix(path, "/2013-04-01/tags/hostedzone") &&
			!strings.Contains(strings.TrimPrefix(path, "/2013-04-01/tags/hostedzone"), "/")
	}
	return strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "List") ||
		strings.HasPrefix(action, "Get")
}

// counted returns the calls between two counts: mutating ones, and reads by name.
func counted(before, after map[string]int) (mutations, reading int, names string) {
	made := map[string]int{}
	for action, n := range after {
		if n -= before[action]; n == 0 {
			continue
		} else if reads(action) {
			reading += n
		} else {
			mutations += n
		}
		operation, _, _ := strings.Cut(action, "?")
		made[ofZone.ReplaceAllString(operation, "$1/{id}")] += after[action] - before[action]
	}
	var all []string
	for _, operation := range slices.SortedFunc(maps.Keys(made), func(a, b string) int {
		return cmp.Or(made[b]-made[a], strings.Compare(a, b))
	}) {
		all = append(all, fmt.Sprintf("%d %s", made[operation], operation))
	}
	return mutations, reading, strings.Join(all, ", ")
}

// ofZone finds the ids of zones in what a request to Route 53 asks for.
var ofZone = regexp.MustCompile(`(/hostedzone)/\w+`)

func measureEmulator(ctx context.Context, dir, url string) error {
	binary := filepath.Join(dir, "engine")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "iasql/cmd/engine").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	moto, err := devenv.StartMoto(ctx, devenv.MotoOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = moto.Stop(ctx) }()
	proxy, stop, err := faultproxy.New(moto.URL())
	if err != nil {
		return err
	}
	defer stop()
	user, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer user.Close()
	// The idle engine is another one than that of the other measurements, which
	// has no counter between itself and the database.
	counter, err := countStatements(url)
	if err != nil {
		return err
	}
	defer counter.stop()
	idle, err := serve(ctx, binary, counter.URL, proxy.URL, user)
	if err != nil {
		return err
	}
	defer idle.stop()
	for _, sql := range []string{
		`SELECT * FROM iasql_install('aws_account')`,
		`UPDATE aws_regions SET is_enabled = region = 'us-east-1'`,
		`SELECT * FROM iasql_install('aws_security_group')`,
		`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`,
	} {
		if _, err := user.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	if err := measureIdle(counter, idle.Process.Pid); err != nil {
		return err
	}
	idle.stop()
	engine, err := serve(ctx, binary, url, proxy.URL, user)
	if err != nil {
		return err
	}
	defer engine.stop()
	if err := quiet(ctx, user); err != nil { // of the cycle that an engine starts with
		return err
	}
	groups := func(from, to int) (time.Duration, string, error) {
		before, begun := proxy.Counts(), time.Now()
		if _, err := user.Exec(ctx, `INSERT INTO security_group (group_name, description, vpc_id)
			SELECT 'group ' || i, 'of the bench', v.id FROM generate_series($1::int, $2::int) i, vpc v WHERE v.is_default`, from, to); err != nil {
			return 0, "", err
		}
		if _, err := user.Exec(ctx, `SELECT iasql_wait_for_all(3000)`); err != nil {
			return 0, "", err
		}
		took := time.Since(begun)
		mutations, reading, names := counted(before, proxy.Counts())
		report("mutating calls for each row inserted", to-from+1, float64(mutations)/float64(to-from+1), "calls", names)
		report("reading calls for all rows inserted", to-from+1, float64(reading), "calls", "")
		return took, names, nil
	}
	if took, _, err := groups(1, inserted/10); err != nil {
		return err
	} else {
		report("insert until all are settled", inserted/10, took.Seconds(), "s", "")
	}
	if took, _, err := groups(inserted/10+1, inserted/10+inserted); err != nil {
		return err
	} else {
		report("insert until all are settled", inserted, took.Seconds(), "s", "")
	}
	if _, _, err := groups(inserted/10+inserted+1, listed-1); err != nil { // with the default one
		return err
	}
	refresh := func(what string) error {
		var times []time.Duration
		var names string
		var reading int
		for range 4 {
			before, begun := proxy.Counts(), time.Now()
			if _, err := user.Exec(ctx, `SELECT iasql_sync_now()`); err != nil {
				return err
			}
			times = append(times, time.Since(begun))
			_, reading, names = counted(before, proxy.Counts())
		}
		times = times[1:]
		slices.Sort(times)
		report(what, listed, times[1].Seconds(), "s", fmt.Sprintf("%d calls: %s", reading, names))
		return nil
	}
	if err := refresh("refresh"); err != nil || *provider == "" {
		return err
	}
	// Terraform's groups have no tags, with which the emulator takes far longer to
	// list them: both look at the same ones.
	if err := measureTerraform(ctx, dir, *provider, proxy.URL, proxy.Counts); err != nil {
		return err
	}
	if _, err := user.Exec(ctx, `UPDATE aws_regions SET is_enabled = region = '`+elsewhere+`'`); err != nil {
		return err
	}
	if _, err := user.Exec(ctx, `SELECT iasql_wait_for_all(600)`); err != nil {
		return err
	}
	return refresh("refresh of what terraform plan looked at")
}

// engineProcess is a running engine.
type engineProcess struct {
	*exec.Cmd
	stopped bool
}

// serve starts the engine, and returns when it is connected.
func serve(ctx context.Context, binary, url, endpoint string, user *pgxpool.Pool) (*engineProcess, error) {
	login, err := engineLogin(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &engineProcess{Cmd: exec.CommandContext(ctx, binary, "--log-level", "error", "serve")}
	p.Env = append(os.Environ(), "DATABASE_URL="+login, "AWS_ENDPOINT_URL="+endpoint,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1")
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var n int
		if err := user.QueryRow(ctx, `SELECT count(*) FROM iasql_engines() WHERE version <> 'bench'`).Scan(&n); err == nil && n > 0 {
			return p, nil
		} else if time.Now().After(deadline) {
			p.stop()
			return nil, errors.Join(errors.New("the engine does not connect"), err)
		}
	}
}

// quiet waits until there is no job.
func quiet(ctx context.Context, user *pgxpool.Pool) error {
	for busy := true; busy; time.Sleep(50 * time.Millisecond) {
		if err := user.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_river.river_job WHERE state IN ('available', 'running'))`).Scan(&busy); err != nil {
			return err
		}
	}
	return nil
}

func (p *engineProcess) stop() {
	if !p.stopped {
		p.stopped = true
		_ = p.Process.Signal(os.Interrupt)
		_ = p.Wait()
	}
}

// measureIdle looks at the engine while nothing happens.
func measureIdle(counter *statements, pid int) error {
	time.Sleep(5 * time.Second) // what the installation set off
	counted := counter.count()
	before, err := processorTime(pid)
	if err != nil {
		return err
	}
	time.Sleep(idleFor)
	after, err := processorTime(pid)
	if err != nil {
		return err
	}
	report("idle, processor", 0, 100*(after-before).Seconds()/idleFor.Seconds(), "% of a core", "")
	status := fmt.Sprintf("/proc/%d/status", pid)
	report("idle, resident memory", 0, float64(kilobytes(status, "VmRSS:")>>20), "MB",
		fmt.Sprintf("%d MB of it its own, the rest pages of the binary", kilobytes(status, "RssAnon:")>>20))
	report("idle, statements", 0, float64(counter.count()-counted)/idleFor.Seconds(), "1/s",
		"begin, commit and pings included")
	return nil
}
