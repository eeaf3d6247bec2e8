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
	p, err := devenv.StartPostgres(context.Background(), devenv.PostgresOptions{DataDir: w.dir, Port: w.port})
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

// cutConnections ends single connections of engines.
func (w *world) cutConnections(random *rand.Rand, stop <-chan struct{}) {
	for pause(stop, time.Duration(1000+random.IntN(4000))*time.Millisecond) {
		tag, err := w.admin.Exec(context.Background(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name LIKE 'chaos-%' ORDER BY random() LIMIT 1`)
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
