package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// TestFindings: what is found says what is so, and what to do if something is to be done.
func TestFindings(t *testing.T) {
	all := []string{"host_packages", "host_units", "host_containers", "host_facts"}
	scopes := []Scope{{Kind: KindPackage, Pattern: "*"}, {Kind: KindContainer, Pattern: "*"}}
	for _, c := range []struct {
		what    string
		found   []Finding
		message string // "": nothing is found
		advice  string // "": nothing is to be done
	}{
		{"clock", []Finding{clock(-2*time.Second, 0)}, "agrees with this machine's to 2 s", ""},
		{"a slow answer", []Finding{clock(50*time.Second, 60*time.Second)}, "agrees with this machine's to 20 s", ""},
		{"clock behind", []Finding{clock(-90*time.Second, time.Second)}, "1m30s behind", "NTP"},
		{"clock ahead", []Finding{clock(time.Hour, 0)}, "1h0m0s ahead of", "NTP"},
		{"disk", []Finding{space(900 << 20)}, "900 MiB are free", ""},
		{"full", []Finding{space(5 << 20)}, "5 MiB are free", "make room"},
		{"disk unknown", []Finding{space(-1)}, "does not say", ""},
		{"root", []Finding{rights(&Settings{}, &runner.Machine{}, all)}, "works as root", ""},
		{"sudo", []Finding{rights(&Settings{Become: true}, &runner.Machine{}, all)}, "by sudo without a password", ""},
		{"login", []Finding{rights(&Settings{}, &runner.Machine{User: 7}, all)},
			"changes of host_packages, host_units take root's", "become = true"},
		{"login reads", []Finding{rights(&Settings{}, &runner.Machine{User: 7}, []string{"host_facts"})},
			"the rights of the login", ""},
		{"no scopes", missing(&Settings{Name: "web"}, &runner.Machine{}, all), "no row of host_scope", "INSERT INTO"},
		{"all there", missing(&Settings{Scopes: scopes}, &runner.Machine{There: []string{"/usr/bin/apt-get",
			"/run/podman/podman.sock"}}, all), "", ""},
		{"no apt", missing(&Settings{Scopes: scopes}, &runner.Machine{There: []string{"/run/podman/podman.sock"}}, all),
			"apt or dnf is missing", "delete the scopes"},
		{"another socket", missing(&Settings{Scopes: scopes, Socket: "/a"}, &runner.Machine{There: []string{
			"/usr/bin/apt-get", "/run/podman/podman.sock"}}, all), "Docker or Podman is missing", "container_socket"},
		{"has", []Finding{noticedOf(&runner.Machine{There: []string{"/usr/bin/apt-get", "/usr/bin/nft"}})},
			"it has apt, nft; not dnf, systemd, Docker, Podman", ""},
		{"key", []Finding{key(&Settings{Confirmed: "a"}, "a")}, "that were confirmed", ""},
		{"key of nobody", []Finding{key(&Settings{Name: "web"}, "a")}, "nobody has confirmed",
			"iasql_confirm('identity', 'web')"},
		{"another key", []Finding{key(&Settings{Confirmed: "b"}, "a")}, "another than was confirmed", "find out why"},
		{"jump host", notReached(&Settings{JumpHost: "gate"}, behind(&Settings{Name: "web", JumpHost: "gate"},
			errors.New("x"))), "its jump host gate is in the way", "mend that first"},
		{"time is up", notReached(&Settings{}, context.DeadlineExceeded), "the time is up", "--deadline"},
	} {
		if len(c.found) == 0 && c.message == "" {
			continue
		}
		if len(c.found) != 1 || !strings.Contains(c.found[0].Message, c.message) || c.message == "" ||
			!strings.Contains(c.found[0].Advice, c.advice) || (c.advice == "") != (c.found[0].Advice == "") {
			t.Errorf("%s: %+v", c.what, c.found)
		}
	}
}

// TestWhyNot: why a host is silent is said without its address.
func TestWhyNot(t *testing.T) {
	for want, err := range map[string]error{
		"connection refused": &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)},
			Err: syscall.ECONNREFUSED},
		"its name is not known": &net.DNSError{Err: "no such host", Name: "web.example.com"},
		"nothing comes back":    fmt.Errorf("dial 10.1.2.3: %w", context.DeadlineExceeded),
		"does not speak SSH":    errors.New("ssh: handshake failed: 10.1.2.3"),
	} {
		found := notReached(&Settings{}, &modules.Error{Class: modules.Transient, Code: "Unreachable", Err: err,
			Message: "host web (10.1.2.3:22) does not answer"})
		if len(found) != 1 || !strings.Contains(found[0].Message, want) || found[0].Advice == "" ||
			strings.Contains(found[0].Message, "10.1") || strings.Contains(found[0].Message, "web") {
			t.Errorf("%s: %+v", want, found)
		}
	}
}
