package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machined starts an engine and a machine, and has it look at what the scopes name: a kind and a pattern each.
func machined(t *testing.T, scopes ...string) (*world, *machine) {
	t.Helper()
	m := boot(t, "web")
	w := start(t)
	w.PSQL(m.sql(60))
	for _, scope := range scopes {
		kind, pattern, _ := strings.Cut(scope, " ")
		w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('web', '` + kind + `', '` + pattern + `')`)
	}
	w.confirm()
	return w, m
}

// fails makes a change that is refused, and says why; then it is taken back.
func (w *world) fails(want, statement string, back ...string) {
	w.Helper()
	w.PSQL(statement)
	w.Becomes(3*shortly, "t", `SELECT coalesce(bool_or(message LIKE '%`+strings.ReplaceAll(want, "'", "''")+`%'), false) FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(back...)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_status WHERE state <> 'Present'`)
}

// TestSysctl takes host_sysctl through its life on a machine with a network of its own, from both sides.
func TestSysctl(t *testing.T) {
	t.Parallel()
	w, m := machined(t, "sysctl net.ipv4.*")
	all := `SELECT string_agg(concat_ws('|', name, value, applied, running, file), ' ' ORDER BY name) FROM host_sysctl`
	const ours, theirs = "/etc/sysctl.d/zz-iasql.conf", "/etc/sysctl.d/50-theirs.conf"
	// Theirs: the later name has the last word, a link leads on, one to /dev/null hides, and globs are left out.
	m.must(`rm -f /etc/sysctl.d/*.conf; printf '# theirs\nnet/ipv4/conf/eth0/forwarding=0\n -net.ipv4.tcp_rmem =  4096 131072  6291456 \nnet.ipv4.conf.*.rp_filter = 2\nnet.ipv4.igmp_max_msf = 12\n' > ` + theirs + `
		printf 'net.ipv4.igmp_max_msf = 11\nnet.ipv6.conf.all.forwarding = 0\n; no\n' > /etc/sysctl.conf; ln -s ../sysctl.conf /etc/sysctl.d/99-sysctl.conf; ln -s /dev/null /etc/sysctl.d/50-pid-max.conf
		echo 11 > /proc/sys/net/ipv4/igmp_max_msf; echo 0 > /proc/sys/net/ipv4/ip_forward; echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_rmem`)
	before := `net.ipv4.conf.eth0.forwarding|0|t|0|` + theirs + ` net.ipv4.igmp_max_msf|11|t|11|/etc/sysctl.conf net.ipv4.tcp_rmem|4096 131072  6291456|t|4096 131072 6291456|` + theirs
	w.quiet(before, all)
	// Created, and what is theirs given another value, by SQL.
	w.PSQL(`INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.ip_forward', '1'), ('web', 'net.ipv4.tcp_wmem', '4096 16384 4000000')`,
		`UPDATE host_sysctl SET value = '10' WHERE name = 'net.ipv4.igmp_max_msf'`)
	w.quiet(`net.ipv4.conf.eth0.forwarding|0|f|1|`+theirs+` net.ipv4.igmp_max_msf|10|t|10|`+ours+` net.ipv4.ip_forward|1|t|1|`+ours+` net.ipv4.tcp_rmem|4096 131072  6291456|t|4096 131072 6291456|`+theirs+
		` net.ipv4.tcp_wmem|4096 16384 4000000|t|4096 16384 4000000|`+ours, all)
	if got := m.must(`grep -v '^#' ` + ours + ` | sort; stat -c '%a %U' ` + ours); got != "net.ipv4.igmp_max_msf = 10\nnet.ipv4.ip_forward = 1\nnet.ipv4.tcp_wmem = 4096 16384 4000000\n644 root" {
		t.Errorf("the file is %s", got)
	}
	// Applied again, of a file that is theirs, which stays as it is.
	w.PSQL(`UPDATE host_sysctl SET applied = true WHERE name = 'net.ipv4.conf.eth0.forwarding'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	// By others: the kernel alone, the file alone, and a comment in the file that is ours.
	w.distrust()
	m.must(`echo 9 > /proc/sys/net/ipv4/igmp_max_msf; sed -i 's/tcp_wmem.*/tcp_wmem = 4096 16384 5000000/; 1i # mine' ` + ours + `; echo 'net.ipv4.ip_default_ttl = 64' >> /etc/sysctl.conf`)
	w.quiet(`net.ipv4.conf.eth0.forwarding|0|t|0|`+theirs+` net.ipv4.igmp_max_msf|10|f|9|`+ours+` net.ipv4.ip_default_ttl|64|t|64|/etc/sysctl.conf net.ipv4.ip_forward|1|t|1|`+ours+
		` net.ipv4.tcp_rmem|4096 131072  6291456|t|4096 131072 6291456|`+theirs+` net.ipv4.tcp_wmem|4096 16384 5000000|f|4096 16384 4000000|`+ours, all)
	w.PSQL(`UPDATE host_sysctl SET applied = true`, `UPDATE host_sysctl SET value = '3' WHERE name = 'net.ipv4.igmp_max_msf'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if got := m.must(`cat /proc/sys/net/ipv4/igmp_max_msf /proc/sys/net/ipv4/tcp_wmem | tr '\t' ' '; head -1 ` + ours); got != "3\n4096 16384 5000000\n# mine" {
		t.Errorf("there is %s", got)
	}
	// Under ENFORCE what somebody gives the kernel alone does not last.
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_sysctl', 'ENFORCE')`, `SELECT iasql_sync_now()`)
	w.distrust()
	m.must(`echo 8 > /proc/sys/net/ipv4/igmp_max_msf`)
	w.sync()
	w.Eventually(3*shortly, "the kernel has the value again", func() bool { return m.must(`cat /proc/sys/net/ipv4/igmp_max_msf`) == "3" })
	w.PSQL(`DELETE FROM iasql_mode`, `SELECT iasql_sync_now()`)
	// What there is not, what the kernel refuses, what it makes something else of, and what names nothing.
	w.fails("this kernel has no setting net.ipv4.nothing", `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.nothing', '1')`, `DELETE FROM host_sysctl WHERE name = 'net.ipv4.nothing'`)
	w.fails("the kernel does not take", `UPDATE host_sysctl SET value = 'many' WHERE name = 'net.ipv4.ip_default_ttl'`, `UPDATE host_sysctl SET value = '64' WHERE name = 'net.ipv4.ip_default_ttl'`)
	w.fails("the kernel makes", `UPDATE host_sysctl SET value = '065' WHERE name = 'net.ipv4.ip_default_ttl'`, `UPDATE host_sysctl SET value = '64' WHERE name = 'net.ipv4.ip_default_ttl'`)
	w.fails("names no setting of the kernel", `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.//.//.sys', '1')`, `DELETE FROM host_sysctl WHERE name LIKE '%//%'`)
	w.fails("is made by "+theirs, `DELETE FROM host_sysctl WHERE name = 'net.ipv4.tcp_rmem'`, `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.tcp_rmem', '4096 131072  6291456')`, `SELECT iasql_sync_now()`)
	w.refused("no scope of host web", `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'kernel.sysrq', '1')`)
	w.refused("host_sysctl", `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.ip_forward=', '1')`)
	w.refused("host_sysctl", `UPDATE host_sysctl SET value = E'1\nkernel.sysrq = 1'`)
	// With the value of theirs there is no line of ours. Deleted by SQL, and by others.
	w.fails("/etc/sysctl.conf makes it, too", `DELETE FROM host_sysctl WHERE name = 'net.ipv4.igmp_max_msf'`, `INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.igmp_max_msf', '3')`, `SELECT iasql_sync_now()`)
	w.PSQL(`UPDATE host_sysctl SET value = '11' WHERE name = 'net.ipv4.igmp_max_msf'`, `DELETE FROM host_sysctl WHERE name = 'net.ipv4.tcp_wmem'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`sed -i /ip_default_ttl/d /etc/sysctl.conf`)
	w.sync()
	w.row(`net.ipv4.igmp_max_msf|11|t|11|/etc/sysctl.conf`, `SELECT name, value, applied, running, file FROM host_sysctl WHERE name LIKE '%msf'`)
	w.row(`0`, `SELECT count(*) FROM host_sysctl WHERE name LIKE '%wmem' OR name LIKE '%ttl'`)
	if got := m.must(`cat ` + ours); got != "# mine\n"+head+"net.ipv4.ip_forward = 1" {
		t.Errorf("the file is %s", got)
	}
}

// head begins the file of the settings that are ours.
const head = "# The rows of host_sysctl that were written there. Other files of sysctl.d are left alone.\n"

// TestSysctlOfRoot: below a root that is not the machine's there are the files alone.
func TestSysctlOfRoot(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'sysctl', '*')`)
	w.PSQL(`INSERT INTO host_sysctl (account, name, value) VALUES ('here', 'net.ipv4.conf.eth0/1.forwarding', '1'), ('here', 'kernel.core_pattern', '|/bin/core %p = 1')`)
	w.quiet(`kernel.core_pattern||/bin/core %p = 1|-|-|/etc/sysctl.d/zz-iasql.conf net.ipv4.conf.eth0/1.forwarding|1|-|-|/etc/sysctl.d/zz-iasql.conf`,
		`SELECT string_agg(concat_ws('|', name, value, '-', coalesce(running, '-'), file), ' ' ORDER BY name) FROM host_sysctl`)
	w.PSQL(`UPDATE host_sysctl SET value = '0' WHERE name LIKE 'net%'`)
	w.Settled()
	text, err := os.ReadFile(filepath.Join(w.root, "etc/sysctl.d/zz-iasql.conf"))
	w.do(err)
	if lines := strings.SplitAfter(string(text), "\n"); lines[0] != head || len(lines) != 4 || !slices.Contains(lines, "net.ipv4.conf.eth0/1.forwarding = 0\n") ||
		!slices.Contains(lines, "kernel.core_pattern = |/bin/core %p = 1\n") {
		t.Errorf("the file is %s", text)
	}
	w.write("etc/sysctl.d/zzz.conf", "kernel.core_pattern = core\n")
	w.distrust()
	w.sync()
	w.fails("which has the last word", `UPDATE host_sysctl SET value = 'x' WHERE name LIKE 'kernel%'`, `UPDATE host_sysctl SET value = 'core' WHERE name LIKE 'kernel%'`)
	w.PSQL(`DELETE FROM host_sysctl WHERE name LIKE 'net%'`)
	w.Settled()
	w.write("etc/sysctl.d/zzz.conf", "")
	w.distrust()
	w.sync()
	w.PSQL(`DELETE FROM host_sysctl`)
	w.Settled()
	w.has("etc/sysctl.d/zz-iasql.conf", "-")
}

// TestSudoers takes host_sudoer through its life on a machine with real sudo, from both sides. The engine's own way to
// become root is not lost.
func TestSudoers(t *testing.T) {
	t.Parallel()
	w, m := machined(t, "sudoer *")
	all := `SELECT string_agg(concat_ws('|', name, content, who, nopasswd), ' ' ORDER BY name) FROM host_sudoer`
	own := "login|" + login + " ALL=(ALL) NOPASSWD: ALL\n|{" + login + "}|t"
	m.must(`printf '#c\n' > /etc/sudoers.d/not.read; printf '#c\n' > /etc/sudoers.d/old~; printf '# none\n#1000, "%%domain users", \\\n FULL ALL = (www) /bin/a=b, /bin/c\nDefaults:x !lecture\nUser_Alias FULL = a, b\n@includedir /nowhere\n' > /etc/sudoers.d/theirs; chmod 440 /etc/sudoers.d/*`)
	theirs := "theirs|# none\n#1000, \"%domain users\", \\\n FULL ALL = (www) /bin/a=b, /bin/c\nDefaults:x !lecture\nUser_Alias FULL = a, b\n@includedir /nowhere\n|{#1000,\"%domain users\",FULL}|f"
	w.quiet(own+" "+theirs, all)
	// Created and changed by SQL, in one transaction with the login's own, which stays good.
	w.PSQL(`BEGIN; INSERT INTO host_sudoer (account, name, content) VALUES ('web', 'ops', E'%ops ALL=(root) NOPASSWD: /usr/bin/systemctl\n');
		UPDATE host_sudoer SET content = E'` + login + ` ALL=(ALL:ALL) NOPASSWD: ALL\n' WHERE name = 'login'; COMMIT`)
	own = strings.ReplaceAll(own, "(ALL)", "(ALL:ALL)")
	w.quiet(own+" ops|%ops ALL=(root) NOPASSWD: /usr/bin/systemctl\n|{%ops}|t "+theirs, all)
	if got := m.must(`stat -c '%a %U' /etc/sudoers.d/ops; visudo -cq && echo well`); got != "440 root\nwell" {
		t.Errorf("it is %s", got)
	}
	// By others.
	w.distrust()
	m.must(`rm /etc/sudoers.d/theirs; echo 'bob ALL=(ALL) ALL' > /etc/sudoers.d/ops`)
	w.quiet(own+" ops|bob ALL=(ALL) ALL\n|{bob}|f", all)
	// What visudo does not take never takes the place of what is there.
	w.fails("visudo does not accept the new content of /etc/sudoers.d/ops", `UPDATE host_sudoer SET content = 'bob ALL=ALL) ALL' WHERE name = 'ops'`, `UPDATE host_sudoer SET content = E'bob ALL=(ALL) ALL\n' WHERE name = 'ops'`)
	w.refused("host_sudoer", `INSERT INTO host_sudoer (account, name, content) VALUES ('web', 'a.b', '')`)
	w.refused("host_sudoer", `INSERT INTO host_sudoer (account, name, content) VALUES ('web', '../x', '')`)
	// Without it the engine would be no longer root: the host undoes it.
	w.PSQL(`UPDATE host SET undo_after = 4`, `DELETE FROM host_sudoer WHERE name = 'login'`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%who may become root%the host has undone it%sudo: a password is required%' FROM iasql_status WHERE state <> 'Present'`)
	if err := m.enter(); err != nil {
		t.Error(err)
	}
	w.PSQL(`UPDATE host SET undo_after = 60`, `INSERT INTO host_sudoer (account, name, content) VALUES ('web', 'login', E'`+login+` ALL=(ALL:ALL) NOPASSWD: ALL\n')`, `SELECT iasql_sync_now()`)
	w.PSQL(`DELETE FROM host_sudoer WHERE name = 'ops'`)
	w.quiet(own, all)
	if got := m.must(`ls -A /etc/sudoers.d`); got != "login\nnot.read\nold~" {
		t.Errorf("there is %s", got)
	}
}

// TestCron takes host_cron through its life from both sides. What people have written besides stays.
func TestCron(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.mkdir("etc/cron.d")
	w.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nwww:x:33:33::/:/bin/sh\n")
	w.write("etc/cron.d/.placeholder", "x")
	w.write("etc/cron.d/old.dpkg-old", "x")
	w.write("etc/cron.d/theirs", "# every day\nMAILTO = \"\"\n\n5  4 * * *\twww   /bin/one a%b=c\nPATH=/bin\n@reboot root /bin/two \n")
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'cron', '*')`)
	all := `SELECT string_agg(concat_ws('|', file, schedule, user_name, command, environment), E'\n' ORDER BY file, command) FROM host_cron`
	w.quiet("theirs|5 4 * * *|www|/bin/one a%b=c|{\"MAILTO\": \"\"}\ntheirs|@reboot|root|/bin/two|{\"PATH\": \"/bin\", \"MAILTO\": \"\"}", all)
	// Created and changed by SQL: in a file of its own, and in one that is there.
	w.PSQL(`INSERT INTO host_cron (account, file, schedule, user_name, command, environment) VALUES ('here', 'new', '*/5 0-6,22 1 jan-mar sun', 'www', '/bin/new', '{"B": " x ", "A": "1"}')`,
		`INSERT INTO host_cron (account, file, schedule, command, environment) VALUES ('here', 'theirs', '@daily', '/bin/three', '{"PATH": "/bin", "MAILTO": "", "C": "2"}')`,
		`UPDATE host_cron SET schedule = '6 4 * * *', user_name = 'root' WHERE command LIKE '/bin/one%'`)
	w.quiet("new|*/5 0-6,22 1 jan-mar sun|www|/bin/new|{\"A\": \"1\", \"B\": \" x \"}\ntheirs|6 4 * * *|root|/bin/one a%b=c|{\"MAILTO\": \"\"}\n"+
		"theirs|@daily|root|/bin/three|{\"C\": \"2\", \"PATH\": \"/bin\", \"MAILTO\": \"\"}\ntheirs|@reboot|root|/bin/two|{\"PATH\": \"/bin\", \"MAILTO\": \"\"}", all)
	w.has("etc/cron.d/new", "A=1\nB=\" x \"\n*/5 0-6,22 1 jan-mar sun www /bin/new\n")
	w.has("etc/cron.d/theirs", "# every day\nMAILTO = \"\"\n\n6 4 * * * root /bin/one a%b=c\nPATH=/bin\n@reboot root /bin/two \nC=2\n@daily root /bin/three\n")
	w.PSQL(`UPDATE host_cron SET environment = '{"A": "2"}' WHERE file = 'new'`)
	w.Settled()
	w.has("etc/cron.d/new", "A=2\n*/5 0-6,22 1 jan-mar sun www /bin/new\n")
	// By others.
	w.distrust()
	w.write("etc/cron.d/new", "# mine\n*/5 0-6,22 1 jan-mar sun root /bin/new\n1 1 1 1 1 root /bin/more\n")
	w.write("etc/cron.d/theirs", "")
	w.quiet("new|1 1 1 1 1|root|/bin/more\nnew|*/5 0-6,22 1 jan-mar sun|root|/bin/new", all)
	// What cannot be.
	w.fails("has other entries besides", `UPDATE host_cron SET environment = '{"X": "1"}' WHERE command = '/bin/new'`, `UPDATE host_cron SET environment = NULL WHERE command = '/bin/new'`)
	w.fails("is no schedule of crontab(5)", `UPDATE host_cron SET schedule = '60 * * * *' WHERE command = '/bin/new'`, `UPDATE host_cron SET schedule = '6 * * * *' WHERE command = '/bin/new'`)
	w.fails("there is no user nemo", `UPDATE host_cron SET user_name = 'nemo' WHERE command = '/bin/new'`, `UPDATE host_cron SET user_name = 'www' WHERE command = '/bin/new'`)
	w.refused("host_cron", `INSERT INTO host_cron (account, file, schedule, command) VALUES ('here', 'a.b', '@daily', 'x')`)
	w.refused("host_cron", `INSERT INTO host_cron (account, file, schedule, command) VALUES ('here', 'new', '@daily', E'x\n* * * * * root y')`)
	w.refused("host_cron", `UPDATE host_cron SET environment = '{"X": 1}'`)
	// A file with a line that rows do not say is left alone, and its records stay.
	w.write("etc/cron.d/new", "# mine\n6 * * * * www /bin/new\nwhat is this\n")
	w.distrust()
	if said, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err == nil {
		w.Becomes(shortly, "t", `SELECT count(*) > 0 FROM iasql_problems WHERE message LIKE '%a line that rows do not say%'`)
	} else if !strings.Contains(said+err.Error(), "a line that rows do not say") {
		t.Errorf("%s %v", said, err)
	}
	w.row("2", `SELECT count(*) FROM host_cron`)
	w.PSQL(`UPDATE host_cron SET schedule = '7 * * * *' WHERE command = '/bin/new'`)
	w.Becomes(3*shortly, "t", `SELECT coalesce(bool_or(message LIKE '%a line that rows do not say%'), false) FROM iasql_status WHERE state <> 'Present'`)
	w.has("etc/cron.d/new", "# mine\n6 * * * * www /bin/new\nwhat is this\n")
	w.write("etc/cron.d/new", "# mine\n6 * * * * www /bin/new\n1 1 1 1 1 root /bin/more\n")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.quiet("new|1 1 1 1 1|root|/bin/more\nnew|7 * * * *|www|/bin/new", all)
	// Deleted: people's comments stay, and a file without any goes.
	w.PSQL(`DELETE FROM host_cron`)
	w.Settled()
	w.has("etc/cron.d/new", "# mine\n")
	w.PSQL(`INSERT INTO host_cron (account, file, schedule, command, environment) VALUES ('here', 'alone', '@daily', 'x', '{"A": "1"}')`)
	w.Settled()
	w.has("etc/cron.d/alone", "A=1\n@daily root x\n")
	w.PSQL(`DELETE FROM host_cron`)
	w.Settled()
	w.has("etc/cron.d/alone", "-")
}

// TestMounts takes host_mount through its life on a machine with mounts of its own, from both sides.
func TestMounts(t *testing.T) {
	t.Parallel()
	w, m := machined(t, "mount /", "mount /var", "mount /home/**", "mount /srv/**")
	all := `SELECT string_agg(concat_ws('|', mount_point, device, file_system, options, dump, pass, mounted), E'\n' ORDER BY mount_point) FROM host_mount`
	m.must(`mount -t tmpfs -o mode=755 tmpfs /srv; mkdir /srv/a '/srv/b c' /srv/d /srv/e /srv/open; chmod 777 /srv/open; mkdir /srv/open/x
		printf '# <file system> <mount point>\nUUID=1-2 / ext4 errors=remount-ro 0 1\nnone none swap sw 0 0\n\ntmpfs\t/srv/b\\040c  tmpfs size=1m\nwhat\n' > /etc/fstab`)
	before := "/|UUID=1-2|ext4|errors=remount-ro|0|1|t\n"
	w.quiet(before+"/srv/b c|tmpfs|tmpfs|size=1m|0|0|f", all)
	// Created and changed by SQL.
	w.PSQL(`INSERT INTO host_mount (account, mount_point, device, file_system, options) VALUES ('web', '/srv/a', 'tmpfs', 'tmpfs', 'size=2m,nofail')`,
		`INSERT INTO host_mount (account, mount_point, device, file_system, options, mounted) VALUES ('web', '/srv/d', '/srv/e', 'none', 'bind,noauto', false)`,
		`UPDATE host_mount SET mounted = true WHERE mount_point = '/srv/b c'`)
	w.quiet(before+"/srv/a|tmpfs|tmpfs|size=2m,nofail|0|0|t\n/srv/b c|tmpfs|tmpfs|size=1m|0|0|t\n/srv/d|/srv/e|none|bind,noauto|0|0|f", all)
	if got := m.must(`head -6 /etc/fstab; tail -n +7 /etc/fstab | sort; df --output=size /srv/a /srv/b* | tail -2 | tr -d ' '`); got != "# <file system> <mount point>\nUUID=1-2 / ext4 errors=remount-ro 0 1\nnone none swap sw 0 0\n\n"+
		"tmpfs\t/srv/b\\040c  tmpfs size=1m\nwhat\n/srv/e\t/srv/d\tnone\tbind,noauto\t0 0\ntmpfs\t/srv/a\ttmpfs\tsize=2m,nofail\t0 0\n2048\n1024" {
		t.Errorf("there is %s", got)
	}
	// Other options at once, another device in the place of the one that is mounted, and numbers alone.
	m.must(`touch /srv/a/kept /srv/e/there`)
	w.PSQL(`UPDATE host_mount SET options = 'size=3m', pass = 2 WHERE mount_point = '/srv/a'`, `UPDATE host_mount SET device = '/srv/e', file_system = 'none', options = 'bind' WHERE mount_point = '/srv/b c'`,
		`UPDATE host_mount SET mounted = true WHERE mount_point = '/srv/d'`)
	w.quiet(before+"/srv/a|tmpfs|tmpfs|size=3m|0|2|t\n/srv/b c|/srv/e|none|bind|0|0|t\n/srv/d|/srv/e|none|bind,noauto|0|0|t", all)
	if got := m.must(`df --output=size /srv/a | tail -1 | tr -d ' '; ls /srv/a /srv/b* /srv/d | xargs`); got != "3072\n/srv/a: kept /srv/b c: there /srv/d: there" {
		t.Errorf("there is %s", got)
	}
	// By others.
	w.distrust()
	m.must(`umount /srv/d; sed -i '/srv.a/d; s/bind$/rbind/' /etc/fstab; echo 'tmpfs /srv/a tmpfs rw' >> /etc/fstab`)
	w.quiet(before+"/srv/a|tmpfs|tmpfs|rw|0|0|t\n/srv/b c|/srv/e|none|bind|0|0|t\n/srv/d|/srv/e|none|bind,noauto|0|0|f", all)
	// What was mounted when the runner ended before it had written the line is not mounted again.
	m.must(`mkdir /srv/f; mount -t tmpfs -o size=1m tmpfs /srv/f`)
	w.PSQL(`INSERT INTO host_mount (account, mount_point, device, file_system, options) VALUES ('web', '/srv/f', 'tmpfs', 'tmpfs', 'size=1m')`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if got := m.must(`grep -c ' /srv/f ' /proc/self/mountinfo; grep -c '/srv/f' /etc/fstab`); got != "1\n1" {
		t.Errorf("it is mounted and has lines: %s", got)
	}
	// What cannot be mounted gets no line; what is in use stays; what the host needs is not changed.
	w.fails("cannot be mounted at /srv/e", `INSERT INTO host_mount (account, mount_point, device, file_system) VALUES ('web', '/srv/e', '/dev/nothing', 'ext4')`, `DELETE FROM host_mount WHERE mount_point = '/srv/e'`)
	w.fails("there is no directory", `INSERT INTO host_mount (account, mount_point, device, file_system) VALUES ('web', '/srv/none', 'tmpfs', 'tmpfs')`, `DELETE FROM host_mount WHERE mount_point = '/srv/none'`)
	w.fails("somebody else than root may write", `INSERT INTO host_mount (account, mount_point, device, file_system) VALUES ('web', '/srv/open/x', 'tmpfs', 'tmpfs')`, `DELETE FROM host_mount WHERE mount_point = '/srv/open/x'`)
	w.fails("a host is none without /", `UPDATE host_mount SET pass = 2 WHERE mount_point = '/'`, `UPDATE host_mount SET pass = 1 WHERE mount_point = '/'`)
	w.fails("a host is none without /var", `INSERT INTO host_mount (account, mount_point, device, file_system) VALUES ('web', '/var', 'tmpfs', 'tmpfs')`, `DELETE FROM host_mount WHERE mount_point = '/var'`)
	m.must(`cd /srv/a; sleep 1000 > /dev/null 2>&1 & echo $! > /run/sleeps`)
	w.fails("/srv/a is in use", `UPDATE host_mount SET mounted = false WHERE mount_point = '/srv/a'`, `UPDATE host_mount SET mounted = true WHERE mount_point = '/srv/a'`)
	m.must(`grep -q /srv/a /etc/fstab; kill $(cat /run/sleeps); ! grep -q 'nothing\|open\|none./srv' /etc/fstab`)
	w.refused("host_mount", `INSERT INTO host_mount (account, mount_point, device) VALUES ('web', '/srv/../x', 'x')`)
	w.refused("host_mount", `INSERT INTO host_mount (account, mount_point, device) VALUES ('web', '/srv/a', E'x\nx')`)
	w.refused("no scope of host web", `INSERT INTO host_mount (account, mount_point, device) VALUES ('web', '/mnt', 'x')`)
	// What would hide the login's keys the host undoes.
	w.PSQL(`UPDATE host SET undo_after = 4`, `INSERT INTO host_mount (account, mount_point, device, file_system) VALUES ('web', '/home/`+login+`', 'tmpfs', 'tmpfs')`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%what is mounted hides what was there%the host has undone it%' FROM iasql_status WHERE state <> 'Present'`)
	if err := m.enter(); err != nil {
		t.Error(err)
	}
	m.must(`! grep /home/ /etc/fstab && ! grep ' /home/' /proc/self/mountinfo`)
	w.PSQL(`UPDATE host SET undo_after = 60`, `DELETE FROM host_mount WHERE mount_point LIKE '/home/%'`)
	// Deleted: unmounted, and no line any more.
	w.PSQL(`DELETE FROM host_mount WHERE mount_point LIKE '/srv/%'`)
	w.quiet(strings.TrimSpace(before), all)
	if got := m.must(`grep -c . /etc/fstab; grep -c ' /srv/' /proc/self/mountinfo || true`); got != "4\n0" {
		t.Errorf("there is %s", got)
	}
}

// TestRepositories takes host_repository through its life in a small Debian, from both sides. apt reads what is written.
func TestRepositories(t *testing.T) {
	t.Parallel()
	w := debian(t)
	const dir = "etc/apt/sources.list.d/"
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'repository', '*')`)
	// The world's own is in etc/apt/sources.list, which is no file of the table.
	w.write(dir+"theirs.sources", "# ours\nTypes: deb deb-src\nURIs: https://example.org/a\n https://example.org/b\nsuites: one\nComponents: main\nX-Extra: kept\nEnabled: no\n\n\n# second\nTypes: deb\nURIs: file:/srv/other\nSuites: ./\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n")
	w.write(dir+"old.list", "# deb http://example.org/no x main\ndeb [arch=amd64,arm64 signed-by=/k.gpg] http://example.org/old stable main contrib # why\ndeb-src http://example.org/old ./\n")
	w.write(dir+"not-read.txt", "x")
	all := `SELECT string_agg(concat_ws('|', name, types, uris, suites, coalesce(components, '{}'), coalesce(architectures, '{}'), signed_by, replace(key, E'\n', '/'), enabled), E'\n' ORDER BY name) FROM host_repository`
	old := "old.list|{deb}|{http://example.org/old}|{stable}|{main,contrib}|{amd64,arm64}|/k.gpg|t\nold.list:2|{deb-src}|{http://example.org/old}|{./}|{}|{}|t\n"
	second := "theirs.sources:2|{deb}|{file:/srv/other}|{./}|{}|{}|-----BEGIN PGP PUBLIC KEY BLOCK-----//mQINBF/-----END PGP PUBLIC KEY BLOCK-----/|t"
	w.quiet(old+"theirs.sources|{deb,deb-src}|{https://example.org/a,https://example.org/b}|{one}|{main}|{}|f\n"+second, all)
	// Created and changed by SQL.
	w.PSQL(`INSERT INTO host_repository (account, name, uris, suites, components, architectures, signed_by) VALUES ('here', 'new.sources', '{https://example.org/new}', '{bookworm,bookworm-updates}', '{main}', '{amd64}', '/usr/share/keyrings/new.gpg')`,
		`INSERT INTO host_repository (account, name, uris, suites) VALUES ('here', 'theirs.sources:3', '{https://example.org/third}', '{third/}')`,
		`UPDATE host_repository SET enabled = true, uris = '{https://example.org/c}' WHERE name = 'theirs.sources'`,
		`UPDATE host_repository SET key = NULL, signed_by = '/k.gpg' WHERE name = 'theirs.sources:2'`)
	w.quiet("new.sources|{deb}|{https://example.org/new}|{bookworm,bookworm-updates}|{main}|{amd64}|/usr/share/keyrings/new.gpg|t\n"+old+
		"theirs.sources|{deb,deb-src}|{https://example.org/c}|{one}|{main}|{}|t\ntheirs.sources:2|{deb}|{file:/srv/other}|{./}|{}|{}|/k.gpg|t\ntheirs.sources:3|{deb}|{https://example.org/third}|{third/}|{}|{}|t", all)
	w.has(dir+"new.sources", "Types: deb\nURIs: https://example.org/new\nSuites: bookworm bookworm-updates\nComponents: main\nArchitectures: amd64\nSigned-By: /usr/share/keyrings/new.gpg\n")
	w.has(dir+"theirs.sources", "# ours\nTypes: deb deb-src\nURIs: https://example.org/c\nsuites: one\nComponents: main\nX-Extra: kept\nEnabled: yes\n\n\n# second\nTypes: deb\nURIs: file:/srv/other\nSuites: ./\nSigned-By: /k.gpg\n\nTypes: deb\nURIs: https://example.org/third\nSuites: third/\n")
	w.PSQL(`UPDATE host_repository SET key = E'-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBF\n-----END PGP PUBLIC KEY BLOCK-----\n', signed_by = NULL, components = '{main,contrib}', architectures = NULL, enabled = false WHERE name = 'new.sources'`)
	w.Settled()
	w.has(dir+"new.sources", "Types: deb\nURIs: https://example.org/new\nSuites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\nEnabled: no\n")
	w.PSQL(`UPDATE host_repository SET enabled = true WHERE name = 'new.sources'`)
	w.Settled()
	if out := w.inside("/usr/bin/apt-get", "update", "--print-uris"); !strings.Contains(out, "https://example.org/new/dists/bookworm-updates/InRelease") ||
		!strings.Contains(out, "https://example.org/c/dists/one/InRelease") || !strings.Contains(out, "https://example.org/third/third/InRelease") {
		t.Errorf("apt reads %s", out)
	}
	// By others.
	w.distrust()
	w.write(dir+"theirs.sources", "Types: deb\nURIs: https://example.org/d\nSuites: one\nComponents: main\nEnabled: off\n")
	w.do(os.Remove(filepath.Join(w.root, dir+"old.list")))
	w.do(os.Remove(filepath.Join(w.root, dir+"new.sources")))
	w.quiet("theirs.sources|{deb}|{https://example.org/d}|{one}|{main}|{}|f", all)
	// What cannot be.
	w.fails("one that ends with / has no components", `UPDATE host_repository SET components = NULL WHERE name = 'theirs.sources'`, `UPDATE host_repository SET components = '{main}' WHERE name = 'theirs.sources'`)
	w.fails("is no URI", `UPDATE host_repository SET uris = '{example.org}' WHERE name = 'theirs.sources'`, `UPDATE host_repository SET uris = '{https://example.org/d}' WHERE name = 'theirs.sources'`)
	w.fails("the next one is called theirs.sources:2", `INSERT INTO host_repository (account, name, uris, suites) VALUES ('here', 'theirs.sources:5', '{https://example.org}', '{x/}')`, `DELETE FROM host_repository WHERE name = 'theirs.sources:5'`)
	w.fails("files of one-line style are shown and not changed", `INSERT INTO host_repository (account, name, uris, suites) VALUES ('here', 'x.list', '{https://example.org}', '{x/}')`, `DELETE FROM host_repository WHERE name = 'x.list'`)
	w.refused("host_repository", `INSERT INTO host_repository (account, name, uris, suites) VALUES ('here', '../x.sources', '{https://example.org}', '{x/}')`)
	w.refused("host_repository", `UPDATE host_repository SET uris = E'{"https://example.org\nEnabled: no"}'`)
	w.refused("host_repository", `UPDATE host_repository SET uris = '{}'`)
	// A file that is none is left alone.
	w.write(dir+"theirs.sources", "Types: deb\nwhat is this\n")
	w.distrust()
	w.PSQL(`UPDATE host_repository SET enabled = true`)
	w.Becomes(3*shortly, "t", `SELECT coalesce(bool_or(message LIKE '%that is none of a file of sources%'), false) FROM iasql_status WHERE state <> 'Present'`)
	w.has(dir+"theirs.sources", "Types: deb\nwhat is this\n")
	w.write(dir+"theirs.sources", "Types: deb\nURIs: https://example.org/d\nSuites: one\nComponents: main\n\nTypes: deb\nURIs: https://example.org/e\nSuites: e/\n")
	w.sync()
	// Deleted: the last one first, and the file with the first.
	w.fails("would be called otherwise", `DELETE FROM host_repository WHERE name = 'theirs.sources'`, `INSERT INTO host_repository (account, name, uris, suites, components) VALUES ('here', 'theirs.sources', '{https://example.org/d}', '{one}', '{main}')`, `SELECT iasql_sync_now()`)
	w.PSQL(`DELETE FROM host_repository WHERE name = 'theirs.sources:2'`)
	w.Settled()
	w.PSQL(`DELETE FROM host_repository`)
	w.Settled()
	w.has(dir+"theirs.sources", "-")
}
