package disasters

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// TestDiskFull: without room PostgreSQL refuses edits and says why; engines wait. With room again everything goes on.
func TestDiskFull(t *testing.T) {
	each(t, false, func(t *testing.T, pg programs) {
		for _, c := range []struct {
			name string
			wal  bool // on the same disk: PostgreSQL itself ends where that is full
		}{{"data", false}, {"everything", true}} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				disk, err := harness.NewDisk(t, "600m")
				if err != nil {
					t.Skip(err)
				}
				own(t, disk.Dir)
				s := newServer(t, pg, disk.Dir)
				if !c.wal {
					s.stop()
					wal, elsewhere := filepath.Join(s.data, "pg_wal"), filepath.Join(directory(t), "wal")
					if out, err := exec.Command("sh", "-c", `cp -a "$1" "$2" && rm -r "$1" && ln -s "$2" "$1"`, "sh",
						wal, elsewhere).CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
					s.start()
				}
				w := s.newWorld()
				engine := w.Serve()
				w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
				w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('goes')`,
					`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`)
				w.Settled()
				w.Admin(`CHECKPOINT`)

				if err := disk.Fill(); err != nil {
					t.Fatal(err)
				}
				// Some edits find room in what the tables have already. What was acknowledged counts.
				want, said := []string{"kept", "goes"}, ""
				doubtful := map[string]bool{}
				for n := 0; n < 60 && (said == "" || n < 15); n++ {
					name := fmt.Sprintf("full-%02d", n)
					// Much at once, so that a table has to grow.
					if _, err := w.TryPSQL(w.UserURL, `INSERT INTO queue (name, tags) VALUES ('`+name+
						`', (SELECT jsonb_object_agg('k' || i, repeat(md5(i::text), 6)) FROM generate_series(1, 40) i))`); err == nil {
						want = append(want, name)
					} else {
						doubtful[name] = true
						if strings.Contains(err.Error(), "No space left on device") {
							said = err.Error()
						}
					}
				}
				alive := true
				select {
				case <-s.done:
					alive = false
				default:
				}
				t.Logf("%d edits went through, the server is alive: %t; the last of %d refusals: %.200s", len(want)-2,
					alive, len(doubtful), said)
				if len(doubtful) == 0 || !c.wal && (!alive || !strings.Contains(said, "No space left on device")) {
					t.Errorf("with a full disk, alive: %t, edits were told %q\n%s", alive, said, s.log)
				}
				time.Sleep(3 * time.Second) // the engine meets it, too
				if err := disk.Free(); err != nil {
					t.Fatal(err)
				}
				// Where its log had no room the server may have ended.
				for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
					select {
					case <-s.done:
						s.start()
					default:
					}
					if conn, err := s.connect("iasql"); err == nil {
						_ = conn.Close(w.Context())
						break
					}
				}
				w.PSQL(`DELETE FROM queue WHERE name = 'goes'`, `INSERT INTO queue (name) VALUES ('after')`,
					`INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`)
				w.PSQL(`SELECT iasql_sync_now()`)
				w.Settled()
				want = append(want, "after")
				for name := range doubtful { // a commit whose answer was lost
					if w.PSQL(`SELECT count(*) FROM queue WHERE name = '`+name+`'`) == "1" {
						want = append(want, name)
					}
				}
				for i, name := range want {
					if name == "goes" {
						want = append(want[:i], want[i+1:]...)
						break
					}
				}
				equal(w, want, []string{"10.1.0.0/16", "10.2.0.0/16"})
				if why := asked(w); why != "" {
					t.Errorf("it asks: %s", why)
				}
				if w.Connected() != 1 {
					t.Error("the engine has not survived")
				}
				engine.Stop()
			})
		}
	})
}
