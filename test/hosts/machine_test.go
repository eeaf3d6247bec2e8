package hosts

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"iasql/internal/test/harness"
)

// machine is a host with a network, an SSH server, sudo, and files of its own: namespaces of this machine, which reach
// it by a cable that can be cut.
type machine struct {
	t       testing.TB
	name    string
	holder  *exec.Cmd // keeps the namespaces
	cable   string    // our end of it
	ours    string
	address string
	key     string
	key2    ssh.Signer
}

// machines counts them: each has a network of its own.
var machines atomic.Int64

// login is whom the engine logs in as.
const login = "operator"

// setUp is run in the namespaces of a new machine. Its files are copies, and its state is its own.
const setUp = `set -e
mount --make-rprivate /
mkdir -p /run/etc
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mkdir -p /mnt/home /mnt/lib /mnt/run/sshd /mnt/run/sudo
chmod 711 /mnt/run/sudo
mount --bind /mnt/etc /etc
mount --bind /mnt/home /home
mount --bind /mnt/lib /var/lib
mount --bind /mnt/run /run
ip link set lo up
ip link set eth0 up
ip address add "$ADDRESS/24" dev eth0
cat /proc/sys/kernel/random/uuid | tr -d - > /etc/machine-id
rm -rf /etc/ssh /etc/sudoers.d /etc/sudoers
mkdir -p /etc/ssh /etc/sudoers.d
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
printf 'Port 22\nHostKey /etc/ssh/ssh_host_ed25519_key\nPidFile /run/sshd.pid\nUsePAM no\nPasswordAuthentication no\nLogLevel ERROR\n' > /etc/ssh/sshd_config
echo "$LOGIN:x:4242:4242::/home/$LOGIN:/bin/sh" >> /etc/passwd
echo "$LOGIN:x:4242:" >> /etc/group
echo "$LOGIN:*:19000:0:99999:7:::" >> /etc/shadow
printf 'root ALL=(ALL) ALL\n@includedir /etc/sudoers.d\n' > /etc/sudoers
echo "$LOGIN ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/login
chmod 440 /etc/sudoers /etc/sudoers.d/login
mkdir -p "/home/$LOGIN/.ssh"
echo "$KEY" > "/home/$LOGIN/.ssh/authorized_keys"
chmod 700 "/home/$LOGIN/.ssh"
chmod 600 "/home/$LOGIN/.ssh/authorized_keys"
chown -R 4242:4242 "/home/$LOGIN"
/usr/sbin/sshd
`

// boot makes a machine, and starts its SSH server.
func boot(t *testing.T, name string) *machine {
	t.Helper()
	if os.Getenv("IASQL_TEST_ALL") == "" {
		t.Skip("machines with a network of their own take root and half a minute: make test-all runs it")
	}
	if os.Getuid() != 0 {
		t.Fatal("it takes root to make network namespaces")
	}
	for _, program := range []string{"/usr/sbin/sshd", "ip", "nsenter", "unshare", "sudo", "visudo", "nft"} {
		if _, err := exec.LookPath(program); err != nil {
			harness.Lacking(t, program)
		}
	}
	n := machines.Add(1)
	net16 := fmt.Sprintf("10.%d", 100+os.Getpid()%100)
	m := &machine{t: t, name: name, cable: fmt.Sprintf("hb%d-%d", os.Getpid()%1000000, n),
		ours: fmt.Sprintf("%s.%d.1", net16, n), address: fmt.Sprintf("%s.%d.2", net16, n)}
	dir := t.TempDir()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/key").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	private, err := os.ReadFile(dir + "/key")
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(dir + "/key.pub")
	if err != nil {
		t.Fatal(err)
	}
	m.key = string(private)
	if m.key2, err = ssh.ParsePrivateKey(private); err != nil {
		t.Fatal(err)
	}
	m.holder = exec.Command("unshare", "--net", "--mount", "sleep", "infinity")
	if err := m.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.end)
	ours, _ := os.Readlink("/proc/self/ns/net")
	for until := time.Now().Add(shortly); ; time.Sleep(5 * time.Millisecond) {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", m.holder.Process.Pid))
		network, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", m.holder.Process.Pid))
		own, _ := os.Readlink("/proc/self/ns/mnt")
		if err == nil && err2 == nil && network != ours && theirs != own {
			break
		}
		if time.Now().After(until) {
			t.Fatal("no network namespaces can be made here")
		}
	}
	for _, args := range []string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", m.cable, m.holder.Process.Pid),
		fmt.Sprintf("address add %s/24 dev %s", m.ours, m.cable),
		fmt.Sprintf("link set %s up", m.cable),
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	if out, err := m.run(setUp, "ADDRESS="+m.address, "LOGIN="+login, "KEY="+strings.TrimSpace(string(public))); err != nil {
		t.Fatalf("set up %s: %v: %s", name, err, out)
	}
	return m
}

// command is one that is run on the machine, as root.
func (m *machine) command(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(m.holder.Process.Pid), "--net", "--mount", "--"},
		args...)...)
}

// run runs a script on the machine. What it starts may go on.
func (m *machine) run(script string, environment ...string) (string, error) {
	c := m.command("sh", "-c", script)
	c.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, environment...)
	out, err := os.CreateTemp("", "said")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	c.Stdout, c.Stderr = out, out // and no pipe, which a server would keep open
	err = c.Run()
	text, _ := os.ReadFile(out.Name())
	return strings.TrimSpace(string(text)), err
}

// processes are those that run on the machine, the one that keeps it left out.
func (m *machine) processes() (pids []int) {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", m.holder.Process.Pid))
	if err != nil {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*/ns/mnt")
	for _, at := range all {
		pid, err := strconv.Atoi(strings.Split(at, "/")[2])
		if err != nil || pid == m.holder.Process.Pid {
			continue
		}
		if of, err := os.Readlink(at); err == nil && of == own {
			pids = append(pids, pid)
		}
	}
	return pids
}

// powerOff ends all that runs on the machine, at once. Its files stay.
func (m *machine) powerOff() {
	for range 100 {
		pids := m.processes()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (m *machine) end() {
	m.powerOff()
	_ = m.holder.Process.Kill()
	_ = m.holder.Wait()
	_ = exec.Command("ip", "link", "del", m.cable).Run()
}

// cut cuts the cable, or mends it.
func (m *machine) cut(is bool) {
	state := "up"
	if is {
		state = "down"
	}
	if out, err := exec.Command("ip", "link", "set", m.cable, state).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

// enter logs in by SSH as the engine does, and becomes root.
func (m *machine) enter() error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(m.address, "22"), time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	c, channels, requests, err := ssh.NewClientConn(conn, m.address, &ssh.ClientConfig{User: login,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(m.key2)}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}) // #nosec G106
	if err != nil {
		return err
	}
	client := ssh.NewClient(c, channels, requests)
	defer client.Close()
	s, err := client.NewSession()
	if err != nil {
		return err
	}
	out, err := s.CombinedOutput("sudo -n id -u")
	if err == nil && strings.TrimSpace(string(out)) != "0" {
		err = fmt.Errorf("it is %s", out)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// sql is the host as a row.
func (m *machine) sql(undoAfter int) string {
	return fmt.Sprintf(`INSERT INTO host (name, address, user_name, become, private_key, undo_after) VALUES ('%s', '%s', '%s', true, '%s', %d)`,
		m.name, m.address, login, m.key, undoAfter)
}
