package disasters

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// TestCellRestored: one of four cells dies with its disk, and comes back from a backup that is older than its last
// changes. The others go on meanwhile. What the lost cell has made or deleted since the backup is neither destroyed nor
// made again: the cell asks, as any database does that has gone back.
func TestCellRestored(t *testing.T) {
	each(t, false, func(t *testing.T, pg programs) {
		var servers []*server
		var cells []*harness.World
		for range 4 {
			s := newServer(t, pg, "", "max_connections=50")
			w := s.newWorld()
			w.Serve()
			w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
			w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
			servers, cells = append(servers, s), append(cells, w)
		}
		lost, w, others := servers[0], cells[0], cells[1:]
		w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('changed'), ('goes'), ('goes2')`,
			`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.2.0.0/16')`)
		w.Settled()
		backup := filepath.Join(directory(t), "data")
		lost.run(t, "pg_basebackup", "-D", backup, "-X", "stream", "-c", "fast", "-d", lost.database("postgres")+
			"&application_name=backup")
		w.PSQL(`DELETE FROM queue WHERE name IN ('goes', 'goes2')`, `INSERT INTO queue (name) VALUES ('newer')`,
			`UPDATE queue SET delay_seconds = 7 WHERE name = 'changed'`,
			`DELETE FROM vpc WHERE cidr_block = '10.2.0.0/16'`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
		w.Settled()
		wantQueues, wantVPCs := []string{"changed", "kept", "newer"}, []string{"10.1.0.0/16", "10.3.0.0/16"}
		equal(w, wantQueues, wantVPCs)

		var loads []*editor
		for _, other := range others {
			loads = append(loads, edit(other, other.UserURL))
		}
		// arrive waits until every other cell has brought ten more edits to its cloud.
		arrive := func() {
			t.Helper()
			const arrived = `SELECT count(*) FROM queue WHERE name LIKE 'load-%' AND url IS NOT NULL`
			for _, other := range others {
				n, err := strconv.Atoi(other.PSQL(arrived))
				if err != nil {
					t.Fatal(err)
				}
				other.Becomes(time.Minute, "t", fmt.Sprintf(`SELECT (%s) >= %d`, arrived, n+10))
			}
		}
		arrive()
		lost.kill()
		if err := os.RemoveAll(lost.data); err != nil {
			t.Fatal(err)
		}
		arrive()
		// The same address: the engine that was there when the server died finds the one that has taken its place.
		restored := &server{T: t, programs: pg, data: backup, port: lost.port, args: lost.args}
		restored.start()
		w.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM iasql_problems WHERE record = 'database' AND needs_you`)
		arrive()
		if got := fmt.Sprint(queues(w), vpcs(w), delay(w, "changed")); got !=
			fmt.Sprint(wantQueues, wantVPCs, "7") {
			t.Errorf("before anybody has answered, the restored cell's cloud has %s", got)
		}
		w.Admin(`SELECT iasql_confirm('restored')`)
		w.PSQL(`SELECT iasql_sync_now()`)
		w.Settled()
		equal(w, wantQueues, wantVPCs)
		if got := delay(w, "changed"); got != "7" {
			t.Errorf("the changed queue has a delay of %s", got)
		}
		w.PSQL(`INSERT INTO queue (name) VALUES ('after')`)
		w.Settled()
		equal(w, append(wantQueues, "after"), wantVPCs)
		arrive()
		for i, load := range loads {
			load.end()
			others[i].Settled()
			if load.broken > 0 {
				t.Errorf("a user of another cell got no answer %d times", load.broken)
			}
			if why := asked(others[i]); why != "" {
				t.Errorf("another cell asks: %s", why)
			}
			equal(others[i], load.queues, load.vpcs)
			t.Logf("cell %d made %d queues and %d VPCs meanwhile", i+2, len(load.queues), len(load.vpcs))
		}
	})
}
