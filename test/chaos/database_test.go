package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"iasql/internal/devenv"
)

// startPostgres starts the cluster, for the first time or again.
func (w *world) startPostgres() {
	opts := devenv.PostgresOptions{DataDir: w.dir, Port: w.port}
	if w.clock != nil {
		opts.Env = w.clock.Env
	}
	p, err := devenv.StartPostgres(context.Background(), opts)
	if err != nil {
		w.t.Errorf("start PostgreSQL: %v", err)
		return
	}
	w.postgres, w.port = p, p.Port()
}

// breakDatabase restarts PostgreSQL every now and then: fast, as for an
// upgrade, and immediate, as after a crash.
func (w *world) breakDatabase(random *rand.Rand, stop <-chan struct{}) {
	for n := 0; pause(stop, time.Duration(15+random.IntN(10))*time.Second); n++ {
		w.quiesce.Lock() // not while a kill point is being waited for
		if n%2 == 0 {
			_ = w.postgres.Stop(context.Background())
		} else {
			w.crashPostgres()
		}
		w.startPostgres()
		w.restarts.Add(1)
		w.quiesce.Unlock()
	}
}

// crashPostgres has the server end without a checkpoint, as pg_ctl stop -m
// immediate does.
func (w *world) crashPostgres() {
	text, err := os.ReadFile(filepath.Join(w.dir, "pgdata", "postmaster.pid"))
	if err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		if pid, err := strconv.Atoi(first); err == nil {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
			<-w.postgres.Done()
		}
	}
	_ = w.postgres.Stop(context.Background()) // gives the directory back
}

// fillDisk leaves the database no room for a moment.
func (w *world) fillDisk(random *rand.Rand, stop <-chan struct{}) {
	for w.disk != nil && pause(stop, time.Duration(20+random.IntN(20))*time.Second) {
		w.quiesce.Lock()
		if err := w.disk.Fill(); err != nil {
			w.t.Error(err)
		}
		w.fills.Add(1)
		time.Sleep(time.Duration(1+random.IntN(2000)) * time.Millisecond)
		if err := w.disk.Free(); err != nil {
			w.t.Error(err)
		}
		w.quiesce.Unlock()
	}
}

// jumpClock sets the database's clock wrong, and right in the end.
func (w *world) jumpClock(random *rand.Rand, stop <-chan struct{}) {
	for w.clock != nil && pause(stop, time.Duration(5+random.IntN(15))*time.Second) {
		off := []string{"-1d", "-1h", "-30s", "+0", "+30s", "+1h", "+2d"}
		w.clock.Jump(w.t, off[random.IntN(len(off))])
		w.jumps.Add(1)
	}
	if w.clock != nil {
		w.clock.Jump(w.t, "+0")
	}
}

// cutConnections ends single connections of engines.
func (w *world) cutConnections(random *rand.Rand, stop <-chan struct{}) {
	for pause(stop, time.Duration(1000+random.IntN(4000))*time.Millisecond) {
		w.quiesce.Lock()
		tag, err := w.admin.Exec(context.Background(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name LIKE 'chaos-%' ORDER BY random() LIMIT 1`)
		w.quiesce.Unlock()
		if err == nil {
			w.cuts.Add(tag.RowsAffected())
		}
	}
}

// pause waits and reports whether to go on.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}
