package hosts

import (
	"strings"

	"iasql/internal/hosts/runner"
)

// WayIn says how a change touches the way into a host.
type WayIn struct {
	What   string     // what is changed, for people
	Reason string     // what it has to do with the way in
	Checks [][]string // commands that have to accept what is there after the change
	Files  []string   // that the change writes, besides the one that it is about
	Reload bool       // the SSH server takes it up when it is told to
}

// waysIn are the files by which one gets into a host. Paths of the login begin with ~.
var waysIn = []struct {
	patterns string
	reason   string
	checks   [][]string
	reload   bool
}{
	{"/etc/ssh /etc/ssh/**", "the SSH server's configuration and its host keys", [][]string{{"sshd", "-t"}}, true},
	{"/etc/default/ssh /etc/sysconfig/sshd /etc/systemd/system/ssh* /etc/systemd/system/ssh*/**",
		"how the SSH server is started", nil, false},
	{"~/.ssh /root/.ssh", "the SSH server lets no key in that lies in a directory that others may write to", nil,
		false},
	{"~/.ssh/authorized_keys ~/.ssh/authorized_keys2", "the keys that are let in", nil, false},
	{"~/.ssh/rc ~/.ssh/environment ~/.bashrc ~/.zshenv /etc/bash.bashrc /etc/bashrc /etc/zsh/zshenv /etc/environment",
		"what the login's shell reads before it runs anything", nil, false},
	{"/etc/sudoers /etc/sudoers.d /etc/sudoers.d/** /etc/sudo.conf", "who may become root",
		[][]string{{"visudo", "-c"}}, false},
	{"/etc/doas.conf", "who may become root", nil, false},
	{"/etc/pam.d /etc/pam.d/** /etc/pam.conf /etc/security /etc/security/**", "who is let in, and with which limits",
		nil, false},
	{"/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/shells /etc/login.defs",
		"the logins, their homes and shells",
		nil, false},
	{"/etc/nsswitch.conf /etc/nslcd.conf /etc/sssd/**", "where the logins are looked up", nil, false},
	{"/etc/nologin /run/nologin", "nobody but root is let in while it is there", nil, false},
	{"/etc/hosts.allow /etc/hosts.deny", "from where one is let in", nil, false},
	{"/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/**", "what every program loads, the SSH server too", nil,
		false},
	{"/etc/network /etc/network/** /etc/netplan/** /etc/systemd/network/** /etc/NetworkManager/** " +
		"/etc/sysconfig/network-scripts/** /etc/udev/rules.d/**", "addresses, routes and names of interfaces", nil,
		false},
	{"/etc/nftables.conf /etc/nftables.d/** /etc/iptables/** /etc/ufw/** /etc/firewalld/**", "the firewall", nil,
		false},
	{"/etc/resolv.conf /etc/hosts /etc/systemd/resolved.conf", "how names are resolved", nil, false},
	{"/etc/sysctl.conf /etc/sysctl.d/**", "the settings of the network", nil, false},
}

// wayOf says how a change of a file touches the way in; nil: not at all. home is that of the login, "" if that is not
// known.
func wayOf(path, home string) *WayIn {
	if home != "" && (path == home || strings.HasPrefix(home, path+"/")) {
		return &WayIn{What: "a change of " + path,
			Reason: "the SSH server lets no key in if others may write to the home of the login"}
	}
	for _, way := range waysIn {
		for pattern := range strings.FieldsSeq(way.patterns) {
			matches := runner.Matches(pattern, path)
			if rest, own := strings.CutPrefix(pattern, "~"); own {
				matches = home != "" && path == home+rest // its name is no pattern
			}
			if matches {
				return &WayIn{What: "a change of " + path, Reason: way.reason, Checks: way.checks,
					Reload: way.reload}
			}
		}
	}
	return nil
}
