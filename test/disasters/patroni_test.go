package disasters

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

var trials = flag.Int("trials", 0, "how often Patroni's primary is killed, cut off and switched over")

// relay is a way from one process to another that can be cut: then it takes connections and bytes, and passes on none.
type relay struct {
	port  int
	lock  sync.Mutex
	heal  chan struct{} // nil while it works
	conns []net.Conn
}

func newRelay(t *testing.T, to int) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &relay{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(in, to)
		}
	}()
	return r
}

func (r *relay) serve(in net.Conn, to int) {
	defer in.Close()
	r.whole()
	out, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", to))
	if err != nil {
		return
	}
	defer out.Close()
	r.lock.Lock()
	r.conns = append(r.conns, in, out)
	r.lock.Unlock()
	done := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		defer func() { done <- struct{}{} }()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			r.whole()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go pass(out, in)
	go pass(in, out)
	<-done
}

// whole waits while the way is cut.
func (r *relay) whole() {
	r.lock.Lock()
	heal := r.heal
	r.lock.Unlock()
	if heal != nil {
		<-heal
	}
}

func (r *relay) cut() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.heal = make(chan struct{})
}

// mend lets new connections through. The old ones are dead, as after a partition that was long enough.
func (r *relay) mend() {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	if r.heal != nil {
		close(r.heal)
	}
	r.conns, r.heal = nil, nil
}

// node is one of two that Patroni keeps.
type node struct {
	*server
	name, dir, config    string
	rest                 int
	toEtcd, toPG, toREST *relay
	patroni              *exec.Cmd
}

// cluster is two nodes and an etcd. Patroni reaches its etcd, and the other node, by ways that can be cut.
type cluster struct {
	*testing.T
	nodes [2]*node
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// unpacked is where scripts/patroni.sh puts Patroni and etcd.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.cache/patroni", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no Patroni: make failover unpacks Debian's")
	}
	return path
}

// background starts a process of the servers' owner. It writes into a file: a pipe would stay open for as long as the
// PostgreSQL lives that Patroni has started.
func background(t *testing.T, dir string, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+dir), env...)
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a := asOwner(); a != nil {
		attr.Credential = a.Credential
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func newCluster(t *testing.T, pg programs) *cluster {
	t.Helper()
	c := &cluster{T: t}
	client, peer := freePort(t), freePort(t)
	dir := directory(t)
	clients, peers := fmt.Sprint("http://127.0.0.1:", client), fmt.Sprint("http://127.0.0.1:", peer)
	etcd := background(t, dir, nil, unpacked(t, "usr/bin/etcd"), "--name", "one", "--data-dir",
		filepath.Join(dir, "etcd"), "--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "one="+peers)
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
	template, err := os.ReadFile("../../deploy/patroni/patroni.yml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.nodes {
		n := &node{server: &server{T: t, programs: pg, port: freePort(t)}, name: fmt.Sprint("db", i+1),
			dir: directory(t), rest: freePort(t), toEtcd: newRelay(t, client)}
		n.toPG, n.toREST = newRelay(t, n.port), newRelay(t, n.rest)
		n.data, n.config = filepath.Join(n.dir, "data"), filepath.Join(n.dir, "patroni.yml")
		text := strings.NewReplacer(
			"name: db1", "name: "+n.name,
			"etcd1.example.com:2379,etcd2.example.com:2379,etcd3.example.com:2379",
			fmt.Sprint("127.0.0.1:", n.toEtcd.port),
			// Not the address that etcd gives of itself: the one that can be cut.
			"etcd3:", "etcd3:\n  use_proxies: true",
			"loop_wait: 5", "loop_wait: 1", // thirty trials take long enough
			"listen: 0.0.0.0:8008", fmt.Sprint("listen: 127.0.0.1:", n.rest),
			"db1.example.com:8008", fmt.Sprint("127.0.0.1:", n.toREST.port),
			"listen: 0.0.0.0:5432", fmt.Sprint("listen: 127.0.0.1:", n.port),
			"db1.example.com:5432", fmt.Sprint("127.0.0.1:", n.toPG.port),
			"/usr/lib/postgresql/15/bin", pg.bin,
			"/var/lib/postgresql/15/iasql", n.data,
			"/var/lib/postgresql/.pgpass_patroni", filepath.Join(n.dir, ".pgpass"),
			"/var/run/postgresql", n.dir,
			"password: choose-1", "password: secret").Replace(string(template))
		if strings.Contains(text, "example.com") {
			t.Fatalf("an address of deploy/patroni/patroni.yml is left:\n%s", text)
		}
		if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		own(t, n.config)
		c.nodes[i] = n
		n.run()
		if i == 0 {
			c.wait("the first node leads", func() bool { return n.role() == "leader" })
		}
	}
	c.wait("the second node is a synchronous standby", c.inOrder)
	return c
}

// run starts Patroni, which starts PostgreSQL.
func (n *node) run() {
	n.Helper()
	n.patroni = background(n.T, n.dir, []string{"PYTHONPATH=" + unpacked(n.T, "usr/lib/python3/dist-packages")},
		"/usr/bin/python3", unpacked(n.T, "usr/bin/patroni"), n.config)
	cmd := n.patroni
	n.Cleanup(func() {
		n.powerOff(cmd)
		if n.Failed() {
			text, _ := os.ReadFile(filepath.Join(n.dir, "log"))
			n.Logf("Patroni of %s said last:\n%s", n.name, text[max(0, len(text)-4000):])
		}
	})
}

// powerOff ends Patroni and PostgreSQL without a warning.
func (n *node) powerOff(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if pid, err := os.ReadFile(filepath.Join(n.data, "postmaster.pid")); err == nil {
		var postmaster int
		if _, err := fmt.Sscan(string(pid), &postmaster); err == nil && ours(postmaster, n.data) {
			_ = syscall.Kill(postmaster, syscall.SIGKILL)
		}
	}
}

// ours tells whether a process is the postmaster of that cluster: its number may be another's by now.
func ours(pid int, data string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), data)
}

// member is what Patroni says of a node.
type member struct {
	Role        string `json:"role"`
	State       string `json:"state"`
	Replication []struct {
		SyncState string `json:"sync_state"`
		State     string `json:"state"`
	} `json:"replication"`
}

func (n *node) status() (m member) {
	client := http.Client{Timeout: 2 * time.Second}
	answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/patroni", n.rest))
	if err != nil {
		return m
	}
	defer answer.Body.Close()
	_ = json.NewDecoder(answer.Body).Decode(&m)
	return m
}

func (n *node) role() string {
	m := n.status()
	if m.State != "running" {
		return ""
	}
	if m.Role == "master" || m.Role == "primary" {
		return "leader"
	}
	return m.Role
}

// leader returns the node that leads, nil if none does, or two say so.
func (c *cluster) leader() *node {
	var leads *node
	for _, n := range c.nodes {
		if n.role() == "leader" {
			if leads != nil {
				return nil
			}
			leads = n
		}
	}
	return leads
}

func (c *cluster) other(n *node) *node {
	if c.nodes[0] == n {
		return c.nodes[1]
	}
	return c.nodes[0]
}

// inOrder tells whether one node leads, and the other has all that is acknowledged.
func (c *cluster) inOrder() bool {
	n := c.leader()
	if n == nil {
		return false
	}
	m := n.status()
	return len(m.Replication) == 1 && m.Replication[0].SyncState == "sync" && m.Replication[0].State == "streaming"
}

func (c *cluster) wait(what string, ok func() bool) {
	c.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("not within three minutes: %s", what)
		}
	}
}

// ask changes what Patroni keeps in etcd, or asks it for something.
func (c *cluster) ask(method, path, body string) {
	c.Helper()
	n := c.leader()
	if n == nil {
		c.Fatal("no node leads")
	}
	request, err := http.NewRequestWithContext(c.Context(), method,
		fmt.Sprintf("http://127.0.0.1:%d%s", n.rest, path), strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		c.Fatalf("%s %s: %s %s", method, path, answer.Status, said)
	}
}

// world makes an installation on the cluster.
func (c *cluster) world() *harness.World {
	c.Helper()
	n := c.leader()
	n.exec("postgres", `CREATE DATABASE iasql`)
	migrate(c.T, harness.Engine(), n.url())
	n.exec("iasql", `GRANT CONNECT ON DATABASE iasql TO iasql_user, iasql_engine, iasql_reader`)
	w := n.newWorld()
	withStandby(w, n.server, c.other(n).server)
	return w
}

// batches commits batches of a queue and a VPC each, and single queues between them, until told to stop.
type batches struct {
	stop             chan struct{}
	done             sync.WaitGroup
	queues, vpcs     []string // acknowledged
	doubtful         []string
	committed, edits int
	broken           int
	longest          time.Duration // between two that were acknowledged
}

func commitBatches(w *harness.World, trial int) *batches {
	b := &batches{stop: make(chan struct{})}
	b.done.Add(1)
	go func() {
		defer b.done.Done()
		var conn *pgx.Conn
		last := time.Now()
		for n := 0; ; n++ {
			select {
			case <-b.stop:
				if conn != nil {
					_ = conn.Close(context.Background())
				}
				return
			case <-time.After(400 * time.Millisecond):
			}
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			var err error
			if conn == nil || conn.IsClosed() {
				conn, err = pgx.Connect(ctx, w.UserURL)
			}
			if err != nil {
				conn = nil
				b.broken++
				cancel()
				continue
			}
			queue, vpc := fmt.Sprintf("t%d-%d", trial, n), fmt.Sprintf("10.%d.%d.0/24", trial, n%250)
			statements := []string{`INSERT INTO queue (name) VALUES ('` + queue + `')`}
			if n%4 == 0 {
				statements = []string{`CALL iasql_begin('` + queue + `')`, statements[0],
					`INSERT INTO vpc (cidr_block) VALUES ('` + vpc + `')`, `CALL iasql_commit()`}
			}
			for _, statement := range statements {
				if _, err = conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
					break
				}
			}
			if err != nil {
				b.doubtful = append(b.doubtful, queue) // it may have been committed all the same
				b.broken++
				_ = conn.Close(context.Background())
			} else {
				b.longest = max(b.longest, time.Since(last))
				last = time.Now()
				b.queues = append(b.queues, queue)
				if b.edits++; n%4 == 0 {
					b.committed++
					b.vpcs = append(b.vpcs, vpc)
				}
			}
			cancel()
		}
	}()
	w.Cleanup(b.end)
	return b
}

func (b *batches) end() {
	select {
	case <-b.stop:
	default:
		close(b.stop)
	}
	b.done.Wait()
}

// settle ends what a failure has left, and compares: all that was acknowledged is there, once, on both sides, and of
// the rest either all or nothing.
func (b *batches) settle(w *harness.World, trial int) {
	w.Helper()
	w.Becomes(2*time.Minute, "0", `SELECT count(*) FROM iasql_batches WHERE outcome IS NULL AND phase <> 'open'`)
	for _, id := range strings.Fields(w.PSQL(`SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') FROM iasql_batches WHERE outcome IS NULL`)) {
		w.PSQL(`CALL iasql_join('`+id+`')`, `CALL iasql_rollback()`)
	}
	w.Settled()
	wantQueues, wantVPCs := slices.Clone(b.queues), slices.Clone(b.vpcs)
	for _, queue := range b.doubtful {
		if w.PSQL(`SELECT count(*) FROM queue WHERE name = '`+queue+`'`) == "0" {
			continue
		}
		wantQueues = append(wantQueues, queue)
		var n int
		if _, err := fmt.Sscanf(queue, fmt.Sprintf("t%d-%%d", trial), &n); err != nil {
			w.Fatal(err)
		}
		if n%4 == 0 {
			wantVPCs = append(wantVPCs, fmt.Sprintf("10.%d.%d.0/24", trial, n%250))
		}
	}
	equal(w, wantQueues, wantVPCs)
	w.PSQL(`DELETE FROM queue`, `DELETE FROM vpc WHERE is_default IS NOT TRUE`)
	w.Settled()
	equal(w, nil, nil)
}

// TestPatroni kills the primary of two that Patroni keeps, cuts it off, and switches it over, while users commit.
func TestPatroni(t *testing.T) {
	if *trials == 0 {
		t.Skip("make failover runs it")
	}
	c := newCluster(t, oldest(t))
	w := c.world()
	engines := []*harness.Process{w.Serve(), w.Serve()}
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
	// Each trial deletes what it has made.
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`,
		`UPDATE iasql_settings SET value = '100000' WHERE name = 'max_deletes'`)
	results := &table{head: []string{"what", "trials", "edits acknowledged", "of these batches",
		"attempts without an answer", "lost or doubled",
		"asked", "new primary after, at most", "longest pause of a writer"}}
	number := 0
	for _, way := range []struct {
		what    string
		trouble func(primary, standby *node) (over func())
	}{
		{"primary killed", func(primary, _ *node) func() {
			primary.powerOff(primary.patroni)
			return primary.run
		}},
		{"primary cut off", func(primary, _ *node) func() {
			for _, r := range []*relay{primary.toEtcd, primary.toPG, primary.toREST} {
				r.cut()
			}
			return func() {
				for _, r := range []*relay{primary.toEtcd, primary.toPG, primary.toREST} {
					r.mend()
				}
			}
		}},
		{"switched over", func(primary, standby *node) func() {
			c.ask("POST", "/switchover", fmt.Sprintf(`{"leader": %q, "candidate": %q}`, primary.name, standby.name))
			return func() {}
		}},
	} {
		var edits, committed, broken, asks, wrong int
		var slowest, longest time.Duration
		for range *trials {
			number++
			name := fmt.Sprintf("%s/%d", strings.ReplaceAll(way.what, " ", "_"), number)
			if !t.Run(name, func(t *testing.T) {
				w := within(t, w)
				c := &cluster{T: t, nodes: c.nodes}
				c.wait("both nodes are in order", c.inOrder)
				primary := c.leader()
				standby := c.other(primary)
				load := commitBatches(w, number)
				time.Sleep(3 * time.Second)
				begun := time.Now()
				over := way.trouble(primary, standby)
				c.wait("the standby leads", func() bool { return standby.role() == "leader" })
				slowest = max(slowest, time.Since(begun))
				time.Sleep(2 * time.Second)
				over()
				c.wait("both nodes are in order again", c.inOrder)
				load.end()
				edits, committed, broken = edits+load.edits, committed+load.committed, broken+load.broken
				longest = max(longest, load.longest)
				if why := asked(w); why != "" {
					asks++
					t.Logf("it asks: %s", why)
					w.Admin(`SELECT iasql_confirm('restored')`)
				}
				load.settle(w, number)
			}) {
				wrong++
			}
		}
		results.add(way.what, fmt.Sprint(*trials), fmt.Sprint(edits), fmt.Sprint(committed), fmt.Sprint(broken),
			fmt.Sprint(wrong), fmt.Sprint(asks), fmt.Sprintf("%.0f s", slowest.Seconds()),
			fmt.Sprintf("%.0f s", longest.Seconds()))
	}
	t.Run("asynchronous", func(t *testing.T) { lostTail(t, c, w, results) })
	for _, engine := range engines {
		engine.Stop()
	}
	results.print(t)
}

// within is the same world in a test of its own.
func within(t *testing.T, w *harness.World) *harness.World {
	return &harness.World{T: t, AdminURL: w.AdminURL, EngineURL: w.EngineURL, UserURL: w.UserURL, AWS: w.AWS,
		Endpoint: w.Endpoint}
}

// lostTail has a standby lead that lacks the last commits, which the cloud has.
func lostTail(t *testing.T, c *cluster, w *harness.World, results *table) {
	w = within(t, w)
	c = &cluster{T: t, nodes: c.nodes}
	c.wait("both nodes are in order", c.inOrder)
	c.ask("PATCH", "/config", `{"synchronous_mode": false, "maximum_lag_on_failover": 1073741824}`)
	c.wait("the standby is asynchronous", func() bool {
		return c.leader() != nil && c.leader().exec("postgres", `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async'`) == "1"
	})
	primary := c.leader()
	standby := c.other(primary)
	w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('changed')`, `INSERT INTO vpc (cidr_block) VALUES ('10.250.0.0/16')`)
	w.Settled()
	primary.until("t", `SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication`)
	primary.toPG.cut()
	w.PSQL(`INSERT INTO queue (name) VALUES ('lost')`, `INSERT INTO vpc (cidr_block) VALUES ('10.251.0.0/16')`,
		`UPDATE queue SET delay_seconds = 9 WHERE name = 'changed'`)
	w.Settled()
	begun := time.Now()
	primary.powerOff(primary.patroni)
	c.wait("the standby leads", func() bool { return standby.role() == "leader" })
	took := time.Since(begun)
	w.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM iasql_problems WHERE record = 'database' AND needs_you`)
	why := asked(w)
	if !strings.Contains(why, "gone back in time") {
		t.Errorf("it asks: %q", why)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	there := strings.Join(slices.Concat(queues(w), vpcs(w), []string{delay(w, "changed")}), " ")
	if there != "changed kept lost 10.250.0.0/16 10.251.0.0/16 9" {
		t.Errorf("before anybody has answered, the cloud has %s", there)
	}
	primary.toPG.mend()
	primary.run()
	w.Admin(`SELECT iasql_confirm('restored')`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	equal(w, []string{"changed", "kept", "lost"}, []string{"10.250.0.0/16", "10.251.0.0/16"})
	c.wait("the former primary follows", func() bool {
		return c.leader() == standby && standby.exec("postgres", `SELECT count(*) FROM pg_stat_replication`) == "1"
	})
	results.add("asynchronous, the last commits lost", "1", "3", "0", "0",
		map[bool]string{true: "1", false: "0"}[t.Failed()], map[bool]string{true: "0", false: "1"}[why == ""], fmt.Sprintf("%.0f s", took.Seconds()), "")
}
