package hosts

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// append adds lines to the configuration of the server, which is read when it starts.
func (s *server) append(lines ...string) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("config", string(text)+strings.Join(lines, "\n")+"\n")
}

// without takes what begins so out of the configuration of the server.
func (s *server) without(keyword string) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	var kept []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, keyword+" ") {
			kept = append(kept, line)
		}
	}
	s.write("config", strings.Join(kept, "\n"))
}

// certify has an authority sign a key, both by their names, and returns the certificate.
func (s *server) certify(authority, key string, options ...string) string {
	s.t.Helper()
	at := filepath.Join(s.dir, key)
	arguments := append(append([]string{"-q", "-s", filepath.Join(s.dir, authority), "-I", key}, options...), at+".pub")
	if out, err := exec.Command("ssh-keygen", arguments...).CombinedOutput(); err != nil {
		s.t.Fatalf("ssh-keygen %s: %v: %s", arguments, err, out)
	}
	return s.text(key + "-cert.pub")
}

// text is what is in a file of the server's directory.
func (s *server) text(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// anew starts the server again.
func (s *server) anew() {
	s.t.Helper()
	s.kill()
	s.start()
}

// held has the hosts looked at until one is held for a reason.
func (w *world) held(host, why string) {
	w.Helper()
	w.becomesWithin(longest, "t", fmt.Sprintf(`SELECT held LIKE '%%%s%%' FROM iasql_worlds WHERE account = '%s'`, why, host))
}

// works edits a file of a host and waits until it is there.
func (w *world) works(content string) {
	w.Helper()
	w.becomesWithin(longest, "", `SELECT held FROM iasql_worlds WHERE account = 'web'`)
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) VALUES ('web', '%s/etc/f', '%s')
		ON CONFLICT (account, path) DO UPDATE SET content = excluded.content`, w.root, content))
	w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.has("etc/f", content)
}

// whoRuns is the login of whoever runs the test.
func whoRuns(t *testing.T) string {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return who.Username
}

// TestCertificate: the engine signs in by a user certificate of its key, and says what is wrong with one.
func TestCertificate(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	s.keygen("ca")
	s.keygen("other")
	s.without("AuthorizedKeysFile")
	s.append("AuthorizedKeysFile none", "TrustedUserCAKeys "+s.dir+"/ca.pub")
	s.anew()
	who := whoRuns(t)
	give := func(certificate string) { t.Helper(); w.PSQL(`UPDATE host SET certificate = '` + certificate + `'`) }

	w.held("web", "does not let the key in")
	give(s.certify("ca", "login", "-n", who, "-V", "20200101:20200201"))
	w.held("web", "its certificate has expired at 2020-0")
	give(s.certify("ca", "login", "-n", who, "-V", "21200101:21200201"))
	w.held("web", "its certificate is not valid before 21")
	give(s.certify("ca", "other", "-n", who))
	w.held("web", "its certificate is of the key SHA256:%private_key is SHA256:")
	give(s.certify("ca", "login", "-h", "-n", who))
	w.held("web", "its certificate is one of a host")
	give(s.certify("ca", "login", "-n", "nobody-of-that-name"))
	w.held("web", "does not let the certificate in: TrustedUserCAKeys % the authority SHA256:%nobody-of-that-name%"+who)
	w.refused("host_certificate_check", `UPDATE host SET certificate = '`+s.text("login.pub")+`'`)
	give(s.certify("ca", "login", "-n", who))
	w.held("web", "nobody has confirmed that yet")
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.works("1")
	// By a connection that is made anew as well.
	s.anew()
	w.works("2")
}

// sshAgent starts an agent without keys.
func sshAgent(t *testing.T) (socket string, end func()) {
	t.Helper()
	if _, err := exec.LookPath("ssh-agent"); err != nil {
		harness.Lacking(t, "ssh-agent")
	}
	dir, err := os.MkdirTemp("", "agent") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	}
	t.Cleanup(end)
	for until := time.Now().Add(3 * shortly); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return socket, end
		}
		if time.Now().After(until) {
			t.Fatal("ssh-agent does not listen")
		}
	}
}

// add gives an agent a key of the server's directory, with the certificate beside it if there is one.
func (s *server) add(socket, name string) {
	s.t.Helper()
	c := exec.Command("ssh-add", "-q", filepath.Join(s.dir, name))
	c.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("ssh-add: %v: %s", err, out)
	}
}

// TestIdentityAgent: the engine signs in by keys and certificates that its agent has, and says what is wrong with it.
func TestIdentityAgent(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	socket, end := sshAgent(t)
	w.refused("host_check_2", `UPDATE host SET identity_agent = true`)
	w.PSQL(`UPDATE host SET private_key = NULL, identity_agent = true`)
	w.held("web", "the engine has no SSH agent: start it with SSH_AUTH_SOCK")
	w.end()
	w.agent = socket
	w.begin()
	w.held("web", "has no key, or is locked")
	s.keygen("other")
	s.add(socket, "other")
	w.held("web", "it lets none of the agent''s keys in (SHA256:")
	s.add(socket, "login")
	w.held("web", "nobody has confirmed that yet")
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.works("1")
	// The key by which it comes in stays.
	w.row("", `SELECT private_key FROM host`)

	// A certificate of a key that the agent has, and one that the agent has itself.
	s.keygen("ca")
	s.keygen("third")
	s.without("AuthorizedKeysFile")
	s.append("AuthorizedKeysFile none", "TrustedUserCAKeys "+s.dir+"/ca.pub")
	s.anew()
	w.held("web", "it lets none of the agent''s keys in")
	w.PSQL(`UPDATE host SET certificate = '` + s.certify("ca", "third", "-n", whoRuns(t)) + `'`)
	w.held("web", "its certificate is of the key SHA256:%and the agent has SHA256:%, SHA256:")
	w.PSQL(`UPDATE host SET certificate = '` + s.certify("ca", "login", "-n", whoRuns(t)) + `'`)
	w.works("2")
	w.PSQL(`UPDATE host SET certificate = NULL`)
	w.held("web", "it lets none of the agent''s keys in")
	s.add(socket, "third")
	w.works("3")
	// Without the agent the connection goes on, and no other can be made.
	end()
	w.works("4")
	s.anew()
	w.held("web", "SSH agent (SSH_AUTH_SOCK) does not answer")
	w.row("4", `SELECT content FROM host_file WHERE path LIKE '%/f'`)
}

// TestCertAuthority: a host is known by the authority that certifies its key, for its address, without a person's word;
// with another authority, another address, an expired certificate or none it is not believed.
func TestCertAuthority(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	s.keygen("ca")
	s.keygen("others")
	certified := func(options ...string) {
		t.Helper()
		s.certify("ca", "host", append([]string{"-h"}, options...)...)
		s.anew()
	}
	w.PSQL(`UPDATE host SET cert_authority = '` + s.text("ca.pub") + `'`)
	w.held("web", "it shows no host certificate: HostCertificate of its sshd_config")
	s.append("HostCertificate " + s.dir + "/host-cert.pub")
	certified("-n", "elsewhere.example.com")
	w.held("web", "its host certificate is not believed: principal %127.0.0.1% not in the set of valid principals")
	certified()
	w.held("web", "is not believed: it names no host")
	certified("-n", "127.0.0.1", "-V", "20200101:20200201")
	w.held("web", "is not believed: cert has expired")
	w.row("", `SELECT pinned_as FROM iasql_worlds WHERE account = 'web'`)
	certified("-n", "web.example.com,127.0.0.1")
	w.PSQL(`UPDATE host SET cert_authority = '` + s.text("others.pub") + `'`)
	w.held("web", "is not believed: no authorities for hostname")
	w.PSQL(`UPDATE host SET cert_authority = 'ssh-ed25519 AAAA'`)
	w.held("web", "its cert_authority cannot be read")

	// Of several authorities one counts.
	w.PSQL(`UPDATE host SET cert_authority = '` + s.text("others.pub") + "\n" + s.text("ca.pub") + `'`)
	w.works("1")
	w.row("t", `SELECT says_it_is LIKE 'host certificate of the authority SHA256:% for 127.0.0.1%' FROM iasql_worlds WHERE account = 'web'`)
	// Another key of the same authority is the same host.
	s.kill()
	s.keygen("host")
	certified("-n", "127.0.0.1")
	w.works("2")
	// Another authority is another host, and so is the key alone.
	s.certify("others", "host", "-h", "-n", "127.0.0.1")
	s.anew()
	w.held("web", "it says that it is host certificate%and it was host certificate")
	certified("-n", "127.0.0.1")
	w.works("3")
	w.PSQL(`UPDATE host SET cert_authority = NULL`)
	w.held("web", "it says that it is host key%and it was host certificate")
	w.has("etc/f", "3")
}

// TestSignInBehindJumpHost: a host behind another one, and that itself, are let in by certificates and the agent, and
// known by their authority.
func TestSignInBehindJumpHost(t *testing.T) {
	t.Parallel()
	w, gate := remote(t)
	inner := listen(t)
	socket, _ := sshAgent(t)
	gate.keygen("ca")
	for _, s := range []*server{gate, inner} {
		for _, name := range []string{"ca", "ca.pub"} {
			inner.write(name, gate.text(name)+"\n")
		}
		s.certify("ca", "host", "-h", "-n", "127.0.0.1")
		s.without("AuthorizedKeysFile")
		s.append("AuthorizedKeysFile none", "TrustedUserCAKeys "+s.dir+"/ca.pub", "HostCertificate "+s.dir+"/host-cert.pub")
		s.anew()
	}
	who := whoRuns(t)
	certificate := inner.certify("ca", "login", "-n", who)
	gate.certify("ca", "login", "-n", who)
	gate.add(socket, "login")
	w.end()
	w.agent = socket
	w.begin()
	w.PSQL(fmt.Sprintf(`INSERT INTO host (name, address, port, user_name, identity_agent, cert_authority)
			VALUES ('gate', '127.0.0.1', %d, '%s', true, '%s')`, gate.port, who, gate.text("ca.pub")),
		fmt.Sprintf(`UPDATE host SET port = %d, private_key = '%s', certificate = '%s', cert_authority = '%s', jump_host = 'gate' WHERE name = 'web'`,
			inner.port, inner.key, certificate, inner.text("ca.pub")))
	w.works("1")
	gate.kill()
	w.held("web", "its jump host gate is in the way: host gate % does not answer")
	gate.start()
	w.works("2")
}
