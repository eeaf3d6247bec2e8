package hosts

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFacts: what is read of a machine is imported as a scope names it, follows the machine, goes with its scope, and
// cannot be written. A quiet cycle writes nothing.
func TestFacts(t *testing.T) {
	t.Parallel()
	w := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.do(err)
	port := l.Addr().(*net.TCPAddr).Port
	u, err := net.ListenPacket("udp", "127.0.0.1:0") // a port that the kernel hands out
	w.do(err)
	defer u.Close()
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('machine', '/')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('machine', 'facts', 'address:lo'), ('machine', 'facts', 'disk:*'), ('machine', 'facts', 'port:tcp:`+fmt.Sprint(port)+`'), ('machine', 'facts', 'port:udp:*')`)
	w.sync()
	w.row("tcp|127.0.0.1|"+fmt.Sprint(port)+"|"+fmt.Sprint(os.Getpid()), `SELECT protocol, address, port, pid FROM host_port WHERE protocol = 'tcp'`)
	w.row("0", `SELECT count(*) FROM host_port WHERE protocol = 'udp' AND port = `+fmt.Sprint(u.LocalAddr().(*net.UDPAddr).Port))
	w.row("lo|127.0.0.1/8|host", `SELECT interface, address, scope FROM host_address WHERE family(address) = 4`)
	if got := w.PSQL(`SELECT mount_point, size > 0, used_percent BETWEEN 0 AND 100, used_percent % 10 FROM host_disk WHERE mount_point = '/'`); got != "/|t|t|0" {
		t.Errorf("the disk is %s", got)
	}
	w.row("0", `SELECT count(*) FROM host_process`)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	w.do(err)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('machine', 'facts', 'system:*')`)
	w.sync()
	w.row(strings.TrimSpace(string(boot))+"|t|t", `SELECT boot_id, booted < now(), memory > 1000000 AND processors > 0 AND kernel <> '' AND architecture <> '' FROM host_system`)
	// The test's own process, once it has run for a minute, is not waited for: one that has is.
	comm, err := os.ReadFile("/proc/1/comm")
	w.do(err)
	name := strings.TrimSpace(string(comm))
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('machine', 'facts', 'process:` + name + `')`)
	w.sync()
	w.row("t", `SELECT started < now() - interval '1 minute' AND user_name = 'root' FROM host_process WHERE pid = 1`)
	w.row("0", `SELECT count(*) FROM host_process WHERE name <> '`+name+`'`)
	sleep := exec.Command("sleep", "600")
	w.do(sleep.Start())
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('machine', 'facts', 'process:sleep')`)
	w.sync()
	w.row("0", `SELECT count(*) FROM host_process WHERE pid = `+fmt.Sprint(sleep.Process.Pid))
	// Nothing is written when nothing has changed.
	w.sync()
	before := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name IN ('host_address', 'host_disk', 'host_port', 'host_system')`)
	w.sync()
	w.row(before, `SELECT count(*) FROM iasql_audit_log WHERE table_name IN ('host_address', 'host_disk', 'host_port', 'host_system')`)
	// It follows the machine.
	l.Close()
	w.sync()
	w.row("0", `SELECT count(*) FROM host_port WHERE protocol = 'tcp'`)
	for _, statement := range []string{`INSERT INTO host_port (account, protocol, address, port) VALUES ('machine', 'tcp', '0.0.0.0', 22)`,
		`UPDATE host_address SET scope = 'link'`, `DELETE FROM host_address`, `UPDATE host_system SET os = 'plan9'`, `UPDATE host_disk SET device = 'x'`, `DELETE FROM host_disk`} {
		w.refused("host_", statement)
	}
	// And goes with its scope.
	w.PSQL(`DELETE FROM host_scope WHERE pattern = 'address:lo'`)
	w.Becomes(shortly, "0", `SELECT count(*) FROM host_address`)
	w.row("t", `SELECT count(*) > 0 FROM host_disk`)
	// A directory has none, and says so.
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`, `INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'facts', 'address:*')`)
	w.sync()
	w.row("t", `SELECT bool_or(p::text LIKE '%is a directory%') FROM iasql_problems AS p`)
}
