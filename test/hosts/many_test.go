package hosts

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// manyHosts is how many hosts are measured.
var manyHosts = flag.Int("hosts", 0, "measure so many hosts with 500 files each")

// TestManyHosts measures what it takes to read many hosts, and the memory of the process, in which the engine is and
// whatever runs on the hosts: they are directories of this machine.
func TestManyHosts(t *testing.T) {
	if *manyHosts == 0 {
		t.Skip("measures for minutes: make many-hosts runs it")
	}
	base := t.TempDir()
	roots := make([]string, *manyHosts)
	for i := range roots {
		roots[i] = filepath.Join(base, fmt.Sprint("h", i+1))
		if err := os.MkdirAll(roots[i]+"/etc/app", 0o755); err != nil {
			t.Fatal(err)
		}
		one := roots[i] + "/etc/app/f0"
		if err := os.WriteFile(one, []byte(strings.Repeat("x", 1000)), 0o644); err != nil {
			t.Fatal(err)
		}
		for n := 1; n < fleetFiles; n++ {
			if err := os.Link(one, fmt.Sprintf("%s/etc/app/f%d", roots[i], n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := start(t, roots...)
	t.Logf("before: %s", harness.Resident(t, os.Getpid()))
	begun := time.Now()
	w.PSQL(fmt.Sprintf(`INSERT INTO host (name, host_root) SELECT 'h' || i, '%s/h' || i FROM generate_series(1, %d) i`, base, len(roots)),
		`INSERT INTO host_scope (account, pattern) SELECT name, '/etc/app/*' FROM host`)
	w.Eventually(30*time.Minute, "all files to be imported", func() bool {
		return w.PSQL(`SELECT count(*) FROM host_file`) == fmt.Sprint(len(roots)*fleetFiles)
	})
	w.sync()
	t.Logf("the import of %d hosts with %d files each: %s; %s", len(roots), fleetFiles, time.Since(begun).Round(time.Second), harness.Resident(t, os.Getpid()))
	writes := w.PSQL(`SELECT count(*) FROM iasql_audit_log`)
	took := median(t, "a quiet read of all of it", 3, func(int) { w.sync() })
	t.Log(harness.Resident(t, os.Getpid()))
	w.row(writes, `SELECT count(*) FROM iasql_audit_log`)
	if took > time.Minute {
		t.Errorf("a quiet read takes %s", took)
	}
}
