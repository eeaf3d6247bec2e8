package hosts

import (
	"fmt"
	"strings"
	"testing"
)

// TestDiskFull makes changes of each kind that is kept in files while the host's disk is full: each fails and says so,
// nothing is half written, and what was there is there. Once there is space again all of them are made by themselves.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w, m := machined(t, "file /etc/app/**", "block /etc/hosts", "cron app*", "sudoer app*", "sysctl net.ipv4.*",
		"mount /srv/**", "user app*", "group app*")
	m.must(`mkdir /etc/app; printf old > /etc/app/there; printf '127.0.0.1 localhost\n' > /etc/hosts
		printf '# theirs\n1 2 3 4 5 root old\n' > /etc/cron.d/app; useradd -M -s /bin/false app-old; mkdir -p /srv/app`)
	w.sync()
	const attributes = `cd /etc && find . -type f ! -name '*-' -exec stat -c '%n %a %u %g' {} + | sort`
	const contents = `cd /etc && find . -type f ! -name '*-' -exec sha256sum {} + | sort -k2`
	before := m.must(attributes) + m.must(contents)
	m.must(`mount -o remount,size=$(df -k --output=used /mnt | tail -1 | tr -d ' ')k /mnt
		if echo x > /mnt/more; then exit 1; fi; rm -f /mnt/more`)
	long := strings.Repeat("x", 60_000)
	changes := []string{
		`UPDATE host_file SET content = '` + long + `' WHERE path = '/etc/app/there'`,
		`INSERT INTO host_file (account, path, content) VALUES ('web', '/etc/app/new', '` + long + `')`,
		`INSERT INTO host_file_block (account, path, name, content) VALUES ('web', '/etc/hosts', 'app', '10.0.0.1 app')`,
		`UPDATE host_cron SET environment = '{"A": "1"}' WHERE command = 'old'`,
		`INSERT INTO host_cron (account, file, schedule, command) VALUES ('web', 'app-new', '@daily', 'new')`,
		`INSERT INTO host_sudoer (account, name, content) VALUES ('web', 'app', E'app-old ALL=(ALL) ALL\n')`,
		`INSERT INTO host_sysctl (account, name, value) VALUES ('web', 'net.ipv4.igmp_max_msf', '12')`,
		`INSERT INTO host_mount (account, mount_point, device, file_system, options, mounted) VALUES ('web', '/srv/app', 'tmpfs', 'tmpfs', 'noauto', false)`,
		`INSERT INTO host_group (account, name) VALUES ('web', 'app-new')`,
		`UPDATE host_user SET gecos = 'Old' WHERE name = 'app-old'`,
	}
	w.PSQL(changes...)
	w.becomesWithin(longest, fmt.Sprint(len(changes)), `SELECT count(*) FROM iasql_status WHERE message ~* 'no space left on device'`)
	if now := m.must(attributes) + m.must(contents); now != before {
		t.Errorf("with a full disk there was\n%s\nand is\n%s", before, now)
	}
	m.must(`mount -o remount,size=50% /mnt`)
	w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
	got := m.must(`wc -c < /etc/app/there; wc -c < /etc/app/new; grep -c 10.0.0.1 /etc/hosts; cat /etc/cron.d/app /etc/cron.d/app-new /etc/sudoers.d/app
		cat /proc/sys/net/ipv4/igmp_max_msf; grep -c /srv/app /etc/fstab; grep -o '^app-new' /etc/group; grep -o Old /etc/passwd; find /etc -name '.iasql*' -o -name '*.[0-9]*' -path '/etc/group*'`)
	want := "60000\n60000\n1\n# theirs\nA=1\n1 2 3 4 5 root old\n@daily root new\napp-old ALL=(ALL) ALL\n12\n1\napp-new\nOld"
	if got != want {
		t.Errorf("there is\n%s\nand not\n%s", got, want)
	}
}
