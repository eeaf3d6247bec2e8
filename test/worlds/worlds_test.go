// Package worlds checks that a world is what its modules say and nothing else: one that
// the engine has never heard of is kept equal to its tables like any other.
package worlds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/engine"
	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Main(m, func(ctx context.Context, url string) error {
		registry, err := modules.NewRegistry(module(""))
		if err != nil {
			return err
		}
		return platform.Migrate(ctx, url, registry, "test")
	})
}

// desk is a database and its folder.
type desk struct {
	*harness.World
	root string
}

func start(t *testing.T) *desk {
	t.Helper()
	d := &desk{&harness.World{T: t, AdminURL: testdb.New(t)}, t.TempDir()}
	d.UserURL = d.Login("user", "iasql_user")
	for _, kind := range []string{"shelf", "note"} {
		if err := os.MkdirAll(filepath.Join(d.root, "desk", kind), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// serve starts an engine, and returns what ends it.
func (d *desk) serve() (stop func()) {
	d.Helper()
	login, err := harness.EngineLogin(d.Context(), d.AdminURL)
	if err != nil {
		d.Fatal(err)
	}
	said := &harness.Buffer{}
	ctx, cancel := context.WithCancel(context.Background())
	e, err := engine.Start(ctx, engine.Options{DatabaseURL: login, Version: "test",
		Log:      slog.New(slog.NewTextHandler(said, nil)),
		Registry: func(*pgxpool.Pool) (*modules.Registry, error) { return modules.NewRegistry(module(d.root)) }})
	if err != nil {
		cancel()
		d.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Wait(ctx)
	}()
	once := false
	stop = func() {
		if !once {
			cancel()
			<-ended
		}
		once = true
	}
	d.Cleanup(func() {
		stop()
		if d.Failed() {
			d.Logf("engine said:\n%s", said)
		}
	})
	return stop
}

func (d *desk) file(title string) string { return filepath.Join(d.root, "desk", "note", title+".json") }

// write writes a note as somebody else does.
func (d *desk) write(title, body string) {
	d.Helper()
	text, _ := json.Marshal(map[string]string{"title": title, "body": body, "pages": "1"})
	if err := os.WriteFile(d.file(title)+".new", text, 0o600); err != nil {
		d.Fatal(err)
	}
	if err := os.Rename(d.file(title)+".new", d.file(title)); err != nil {
		d.Fatal(err)
	}
}

// has returns the text of a note's file; "-" if there is none.
func (d *desk) has(title string) string {
	d.Helper()
	text, err := os.ReadFile(d.file(title))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	var content map[string]*string
	if err := json.Unmarshal(text, &content); err != nil {
		d.Fatalf("%s: %s: %v", title, text, err)
	}
	if content["body"] == nil {
		return ""
	}
	return *content["body"]
}

func (d *desk) is(title, want string) {
	d.Helper()
	if got := d.has(title); got != want {
		d.Errorf("note %s is %q, not %q", title, got, want)
	}
}

func (d *desk) row(want, query string) {
	d.Helper()
	if got := d.PSQL(query); got != want {
		d.Errorf("%s: got %q, want %q", query, got, want)
	}
}

// TestBothWays: what is there is imported, what is written is pushed, what somebody else
// writes is pulled; a conflict is kept, and a folder that cannot be read destroys nothing.
func TestBothWays(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.write("before", "found")
	d.serve()
	d.PSQL(`SELECT * FROM iasql_install('files')`)
	d.row("found|1", `SELECT body, pages FROM note WHERE title = 'before'`)

	d.PSQL(`BEGIN`, `INSERT INTO shelf (name) VALUES ('top')`,
		`INSERT INTO note (title, body, shelf_id) SELECT 'ode', 'O', id FROM shelf`, `COMMIT`)
	d.Settled()
	d.is("ode", "O")
	d.row("Present", `SELECT DISTINCT state FROM iasql_status WHERE table_name IN ('shelf', 'note')`)
	if text, _ := os.ReadFile(d.file("ode")); !strings.Contains(string(text), `"shelf_id":"top"`) {
		t.Errorf("its file is %s", text)
	}
	if got := d.Refused(`SELECT iasql_wait_for('note', 4711, 'true')`); !strings.Contains(got, "note has no record 4711") {
		t.Errorf("it says %s", got)
	}

	d.write("before", "theirs")
	d.write("new", "theirs too")
	d.PSQL(`SELECT iasql_sync_now()`)
	d.row("theirs", `SELECT body FROM note WHERE title = 'before'`)
	d.row("theirs too", `SELECT body FROM note WHERE title = 'new'`)

	d.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('note', 'PAUSE')`)
	d.PSQL(`UPDATE note SET body = 'mine' WHERE title = 'before'`)
	d.write("before", "theirs again")
	d.PSQL(`SELECT iasql_sync_now()`)
	d.is("before", "theirs again")
	d.PSQL(`DELETE FROM iasql_mode`)
	d.Settled()
	d.is("before", "mine")
	d.row(`"theirs again"`, `SELECT cloud_value FROM iasql_conflicts`)

	if err := os.Rename(filepath.Join(d.root, "desk", "note"), filepath.Join(d.root, "desk", "gone")); err != nil {
		t.Fatal(err)
	}
	before := d.PSQL(`SELECT count(*) FROM note`)
	d.PSQL(`SELECT iasql_sync_now()`)
	d.row(before, `SELECT count(*) FROM note`)
	d.row("t", `SELECT count(*) > 0 FROM iasql_get_errors() WHERE table_name = 'note'`)
	if err := os.Rename(filepath.Join(d.root, "desk", "gone"), filepath.Join(d.root, "desk", "note")); err != nil {
		t.Fatal(err)
	}
	d.PSQL(`SELECT iasql_sync_now()`)
	d.Settled()

	if err := os.Remove(d.file("new")); err != nil {
		t.Fatal(err)
	}
	d.PSQL(`SELECT iasql_sync_now()`)
	d.row("0", `SELECT count(*) FROM note WHERE title = 'new'`)
	d.PSQL(`DELETE FROM note WHERE title = 'before'`)
	d.Settled()
	d.is("before", "-")
}

// TestModes: ENFORCE makes the folder what the tables say, and TRACK the tables what the
// folder is.
func TestModes(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.write("kept", "as found")
	d.serve()
	d.PSQL(`SELECT * FROM iasql_install('files')`)
	d.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('note', 'ENFORCE')`)
	d.write("kept", "theirs")
	d.write("stranger", "theirs")
	d.PSQL(`SELECT iasql_sync_now()`)
	d.Settled()
	d.is("kept", "as found")
	d.is("stranger", "-")

	d.PSQL(`UPDATE iasql_mode SET mode = 'TRACK'`)
	d.write("kept", "theirs again") // what a read shows that is from before the engine's own write may be late (R13)
	d.PSQL(`SELECT iasql_sync_now()`)
	d.row("theirs again", `SELECT body FROM note`)
	if got := d.Refused(`UPDATE note SET body = 'mine'`); !strings.Contains(got, "IA002") {
		t.Errorf("it says %s", got)
	}
}

// TestBatch: what is staged shows in the preview and nowhere else, until it is committed.
func TestBatch(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.write("one", "1")
	d.serve()
	d.PSQL(`SELECT * FROM iasql_install('files')`)
	d.PSQL(`CALL iasql_begin('test')`, `UPDATE note SET body = '2'`, `INSERT INTO note (title) VALUES ('staged')`)
	if got := d.Joined(`SELECT string_agg(action || ' ' || table_name, ', ' ORDER BY action) FROM iasql_preview() WHERE direction = 'push'`); got != "create note, update note" {
		t.Errorf("the preview shows %s", got)
	}
	d.is("one", "1")
	d.Joined(`CALL iasql_rollback()`)
	d.row("one|1", `SELECT title, body FROM note`)
	d.PSQL(`CALL iasql_begin('test')`, `UPDATE note SET body = '2'`, `INSERT INTO note (title) VALUES ('staged')`)
	d.Joined(`CALL iasql_commit()`)
	d.is("one", "2")
	d.is("staged", "")
}

// TestChaos: people write on both sides, and engines come and go. In the end both sides
// are the same, and no edit is lost that nobody else has overwritten.
func TestChaos(t *testing.T) {
	t.Parallel()
	d := start(t)
	stop := d.serve()
	d.PSQL(`SELECT * FROM iasql_install('files')`)
	d.PSQL(`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'sync_interval'`)
	rng := rand.New(rand.NewPCG(1, 2))
	users, last := map[string]string{}, map[string]string{} // notes of users, whom nobody else touches
	for i := range 60 {
		title := fmt.Sprint("user", rng.IntN(8))
		body := fmt.Sprint("edit ", i)
		switch rng.IntN(8) {
		case 0:
			d.PSQL(fmt.Sprintf(`DELETE FROM note WHERE title = '%s'`, title))
			delete(users, title)
		case 1, 2:
			theirs := fmt.Sprint("theirs", rng.IntN(4))
			d.write(theirs, body)
			last[theirs] = body
		case 3:
			stop()
			stop = d.serve()
		default:
			d.PSQL(fmt.Sprintf(`INSERT INTO note (title, body) VALUES ('%s', '%s') ON CONFLICT (account, title) DO UPDATE SET body = excluded.body`, title, body))
			users[title] = body
		}
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		}
	}
	d.PSQL(`SELECT iasql_sync_now()`)
	d.Settled()
	for title, body := range users {
		d.is(title, body)
		d.row(body, `SELECT body FROM note WHERE title = '`+title+`'`)
	}
	for title, body := range last {
		d.is(title, body)
		d.row(body, `SELECT body FROM note WHERE title = '`+title+`'`)
	}
	d.row(fmt.Sprint(len(users)+len(last)), `SELECT count(*) FROM note`)
	if all, err := os.ReadDir(filepath.Join(d.root, "desk", "note")); err != nil || len(all) != len(users)+len(last) {
		t.Errorf("there are %d files of %d and %d notes: %v", len(all), len(users), len(last), err)
	}
}
