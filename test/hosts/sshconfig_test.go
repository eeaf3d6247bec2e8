package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestSSHConfig: a host is reached as a configuration of OpenSSH says of its address, and the engine says what is wrong
// with that.
func TestSSHConfig(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	w.refused("host_check_3", `INSERT INTO host (name, host_root, ssh_config) VALUES ('here', '`+w.root+`', true)`)
	w.PSQL(`UPDATE host SET address = 'web.internal', port = 1, user_name = 'nobody', private_key = NULL, ssh_config = true`)
	w.held("web", "its row has ssh_config, and the engine reads none: start it with --ssh-config")

	config := filepath.Join(t.TempDir(), "config")
	write := func(format string, args ...any) {
		t.Helper()
		w.do(os.WriteFile(config, []byte(fmt.Sprintf(format, args...)), 0o600))
	}
	w.end()
	w.sshConfig = config
	w.begin()
	w.held("web", "--ssh-config: stat "+config+": no such file or directory")
	write("Host *.internal\n\tProt 22\n")
	w.held("web", "ssh -G does not accept "+config+"%Bad configuration option: prot")
	write("Host *.internal\n\tProxyJump gate\n")
	w.held("web", "has proxyjump gate for it: insert the host on the way")
	write("Host *.internal\n\tIdentityFile %s/none-%%h-%%p\n\tHostName 127.0.0.1\n", s.dir)
	w.held("web", "none of its IdentityFiles is there ("+s.dir+"/none-127.0.0.1-1), and there is no agent")
	// What it does not say is as the row has it: the port here, the user below.
	write("Host *.internal\n\tIdentityFile %s/login\n\tHostName 127.0.0.1\n", s.dir)
	w.held("web", "host web (127.0.0.1:1) does not answer")
	w.PSQL(`UPDATE host SET user_name = '` + whoRuns(t) + `'`)
	write("Include %s.d/*\nHost *\n\tIdentityFile ~/none\n\tIdentityFile %s/login\n", config, s.dir)
	w.do(os.Mkdir(config+".d", 0o700))
	w.do(os.WriteFile(config+".d/web", fmt.Appendf(nil, "Host web.*\n\tHostName 127.0.0.1\n\tPort %d\n", s.port), 0o600))
	w.held("web", "nobody has confirmed that yet")
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.works("1")
	s.anew()
	w.works("2")

	// A certificate beside the key, and the name by which a host certificate has it.
	s.keygen("ca")
	s.without("AuthorizedKeysFile")
	s.append("AuthorizedKeysFile none", "TrustedUserCAKeys "+s.dir+"/ca.pub", "HostCertificate "+s.dir+"/host-cert.pub")
	s.certify("ca", "login", "-n", whoRuns(t))
	s.certify("ca", "host", "-h", "-n", "web")
	s.anew()
	w.PSQL(`UPDATE host SET cert_authority = '` + s.text("ca.pub") + `'`)
	w.held("web", "its host certificate is not believed: principal %127.0.0.1% not in the set of valid principals")
	write("Host web.internal\n\tHostName 127.0.0.1\n\tPort %d\n\tHostKeyAlias web\n\tIdentityFile %s/login\n", s.port, s.dir)
	w.held("web", "it says that it is host certificate")
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.works("3")
	// A key without a passphrase is needed, or an agent; the configuration names one.
	w.do(os.Rename(s.dir+"/login-cert.pub", s.dir+"/of-login"))
	socket, _ := sshAgent(t)
	s.add(socket, "login")
	write("Host web.internal\n\tHostName 127.0.0.1\n\tPort %d\n\tHostKeyAlias web\n\tIdentityFile %s/none\n"+
		"\tIdentityAgent %s\n\tCertificateFile %s/of-login\n", s.port, s.dir, socket, s.dir)
	s.anew()
	w.works("4")
	// What the row says comes first.
	w.PSQL(`UPDATE host SET private_key = '` + s.keygen("other") + `'`)
	w.held("web", "it does not let the key in")
}
