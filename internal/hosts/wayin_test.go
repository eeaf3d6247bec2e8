package hosts

import "testing"

// TestWaysIn: the files by which one gets in are armed, and no others.
func TestWaysIn(t *testing.T) {
	t.Parallel()
	const home = "/home/operator"
	for path, is := range map[string]bool{
		"/etc/ssh/sshd_config": true, "/etc/ssh": true, "/etc/ssh/sshd_config.d/10.conf": true, "/etc/sudoers": true,
		"/etc/sudoers.d/operator": true, "/etc/pam.d/sshd": true, "/etc/passwd": true, "/etc/shadow": true,
		"/etc/group": true, "/etc/nsswitch.conf": true, "/etc/hosts.deny": true, "/etc/network/interfaces": true,
		"/etc/netplan/01.yaml": true, "/etc/systemd/network/eth0.network": true, "/etc/nftables.conf": true,
		"/etc/resolv.conf": true, "/etc/nologin": true, "/etc/ld.so.preload": true,
		home: true, "/home": true, home + "/.ssh": true, home + "/.ssh/authorized_keys": true, home + "/.bashrc": true,
		home + "/.ssh/known_hosts": false, "/home/guest/.ssh/authorized_keys": false, home + "s": false,
		"/etc/motd": false, "/etc/app.conf": false, "/etc/sudoersx": false, "/etc": false, "/home/oper": false,
		"/etc/systemd/system/app.service": false, "/etc/systemd/system/ssh.service": true,
	} {
		if way := wayOf(path, home); (way != nil) != is {
			t.Errorf("%s: %+v", path, way)
		} else if is && (way.Reason == "" || way.What != "a change of "+path) {
			t.Errorf("%s: %+v", path, way)
		}
	}
	if way := wayOf("/etc/ssh/sshd_config", ""); way == nil || !way.Reload || len(way.Checks) != 1 {
		t.Errorf("%+v", way)
	}
	for _, way := range waysIn {
		if way.reason == "" || way.patterns == "" {
			t.Errorf("%+v", way)
		}
	}
}
