package hosts

import (
	"fmt"
	"strings"
	"testing"
)

// TestWordsOfSigningIn: whatever keeps the engine from working on a host, held says what, and what to do.
func TestWordsOfSigningIn(t *testing.T) {
	t.Parallel()
	m := boot(t, "web")
	w := start(t)
	const good = "nobody has confirmed that yet"
	shell := func(is string) string { return `usermod -s ` + is + ` ` + login }
	// A server beside the one that is there, which is asked instead.
	const other = 2222
	server := func(option string) string {
		return fmt.Sprintf(`/usr/sbin/sshd -p %d -o PidFile=/run/other.pid -o '%s'`, other, option)
	}
	const ended = `kill $(cat /run/other.pid)`
	const anew = `rm -rf /home/` + login + `/.iasql-runner; `
	m.must(`cp -a /home/` + login + `/.ssh /run/kept; mkdir /etc/ssh/keys; cp /home/` + login + `/.ssh/authorized_keys /etc/ssh/keys/` + login + `; chmod 644 /etc/ssh/keys/*`)
	for i, v := range []struct{ what, do, undo, says string }{
		{"a shell that says something", shell("/bin/bash") + `; echo 'echo hello; echo world >&2' > /home/` + login + `/.bashrc`, ``, good},
		{"a shell that says too much", `echo 'yes hello' > /home/` + login + `/.bashrc`, `rm /home/` + login + `/.bashrc; ` + shell("/bin/sh"), "look at what it reads at the beginning"},
		{"no sudo", `mount --bind /dev/null /usr/bin/sudo`, `umount /usr/bin/sudo`, "install sudo, and let " + login + " run it"},
		{"sudo that wants a terminal", `echo 'Defaults requiretty' > /etc/sudoers.d/tty; chmod 440 /etc/sudoers.d/tty`, `rm /etc/sudoers.d/tty`, "Defaults:" + login + " !requiretty"},
		{"sudo for something else", `mv /etc/sudoers.d/login /run; echo '` + login + ` ALL=(ALL) NOPASSWD: /bin/ls' > /etc/sudoers.d/ls`, `rm /etc/sudoers.d/ls; mv /run/login /etc/sudoers.d`, login + " ALL=(root) NOPASSWD: ALL"},
		{"a home that runs nothing", anew + `mount -o remount,bind,noexec /home`, `mount -o remount,bind,exec /home`, "mount it without noexec"},
		{"a home that takes nothing", anew + `mount -o remount,bind,ro /home`, `mount -o remount,bind,rw /home`, "needs a home that it may write to"},
		{"a full home", `mount -t tmpfs -o size=1m,mode=700,uid=4242 tmpfs /home/` + login + `; cp -a /run/kept /home/` + login + `/.ssh`, `umount /home/` + login, "make room in the home of " + login},
		{"no home", server(`AuthorizedKeysFile /etc/ssh/keys/%u`) + `; sed -i 's,:/home/` + login + `:,:/home/nowhere:,' /etc/passwd`, `sed -i 's,:/home/nowhere:,:/home/` + login + `:,' /etc/passwd; ` + ended, "needs a home that it may write to"},
		{"nologin", shell("/usr/sbin/nologin"), ``, `said "This account is currently not available."`},
		{"a shell that ends", shell("/bin/false"), shell("/bin/sh"), "the login needs a shell such as /bin/sh"},
		{"another command", server(`ForceCommand /bin/echo nothing else`), ended, `said "nothing else": the login needs a shell`},
		{"one session, and no runner", anew + server(`MaxSessions 1`), ended, good},
		{"no session", server(`MaxSessions 0`), ended, "MaxSessions of its sshd_config has to be larger"},
		{"what others may write", `chmod 777 /home/` + login + `/.ssh`, `chmod 700 /home/` + login + `/.ssh`, "others may write to the home or to .ssh"},
		{"an expired account", `usermod -e 1 ` + login, `usermod -e '' ` + login, "the account has expired"},
	} {
		m.must(v.do)
		host := fmt.Sprintf("v%d", i)
		w.PSQL(strings.Replace(m.sql(60), "'web'", "'"+host+"'", 1))
		if strings.Contains(v.do, "sshd") {
			w.PSQL(fmt.Sprintf(`UPDATE host SET port = %d WHERE name = '%s'`, other, host))
		}
		held := ""
		w.Eventually(3*shortly, v.what+" says "+v.says, func() bool {
			_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
			held = w.PSQL(`SELECT held FROM iasql_worlds WHERE account = '` + host + `'`)
			return strings.Contains(held, v.says)
		})
		m.must(v.undo + "\n:")
		w.PSQL(`DELETE FROM host WHERE name = '` + host + `'`)
		if testing.Verbose() {
			t.Logf("%s: %s", v.what, held)
		}
	}
}
