package hosts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// networked starts an engine and a machine, and looks at all of its network but its uplink.
func networked(t *testing.T) (*world, *machine) {
	t.Helper()
	m := boot(t, "web")
	w := start(t)
	w.PSQL(m.sql(60), `INSERT INTO host_scope (account, kind, pattern) VALUES ('web', 'interface', 'br*'), ('web', 'interface', 'v*'), ('web', 'route', '198.51.100.*'),
		('web', 'route', '2001:db8:*'), ('web', 'firewall', '*')`)
	w.confirm()
	return w, m
}

// must runs a script on the machine.
func (m *machine) must(script string) string {
	m.t.Helper()
	out, err := m.run(m.fill(script))
	if err != nil {
		m.t.Fatalf("%s: %v: %s", m.fill(script), err, out)
	}
	return out
}

// quiet runs a full cycle that has nothing left to do.
func (w *world) quiet(want, query string) {
	w.Helper()
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	w.sync()
	w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
	w.row(want, query)
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.sync()
	w.row(before, `SELECT count(*) FROM iasql_operations`)
	w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
}

// TestInterfaces takes host_interface through its life from both sides. A bridge and its members are made in one
// transaction, the members first (openDuT's dependency).
func TestInterfaces(t *testing.T) {
	t.Parallel()
	w, m := networked(t)
	all := `SELECT string_agg(concat_ws('|', name, kind, peer, up, mtu, coalesce(master, '-'), coalesce(addresses, '{}')), ' ' ORDER BY name) FROM host_interface`
	w.PSQL(`INSERT INTO host_interface (account, name, kind, peer, master) VALUES ('web', 'v0', 'veth', 'v1', 'br0'), ('web', 'v2', 'veth', 'v3', 'br0');
		INSERT INTO host_interface (account, name, mtu, addresses) VALUES ('web', 'br0', 1400, '{198.51.100.1/24, 2001:DB8::1/64}')`)
	begun := time.Now()
	w.quiet("br0|bridge|t|1400|-|{198.51.100.1/24,2001:DB8::1/64} v0|veth|v1|t|1500|br0|{} v1|veth|v0|f|1500|-|{} v2|veth|v3|t|1500|br0|{} v3|veth|v2|f|1500|-|{}",
		all)
	t.Logf("a bridge and two members took %s", time.Since(begun))
	if out := m.must(`ip -o link show master br0 | wc -l; ip address show br0`); !strings.HasPrefix(out, "2\n") || !strings.Contains(out, "inet6 2001:db8::1/64") {
		t.Errorf("on the machine there is %s", out)
	}
	// Changed by SQL, each column, and by others.
	w.PSQL(`UPDATE host_interface SET mtu = 1300, up = false WHERE name = 'v2'`, `UPDATE host_interface SET master = NULL WHERE name = 'v0'`,
		`UPDATE host_interface SET addresses = '{198.51.100.2/24}' WHERE name = 'br0'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`ip link set v1 up mtu 1200 && ip address add 192.0.2.1/32 dev v1 && ip link set v3 master br0 && ip link add br1 type bridge`)
	w.quiet("br0|bridge|t|1400|-|{198.51.100.2/24} br1|bridge|f|1500|-|{} v0|veth|v1|t|1500|-|{} v1|veth|v0|t|1200|-|{192.0.2.1/32} v2|veth|v3|f|1300|br0|{} v3|veth|v2|f|1500|br0|{}",
		all)
	// Deleted by both, replaced by a rename.
	w.PSQL(`DELETE FROM host_interface WHERE name = 'v0'`, `UPDATE host_interface SET name = 'br2' WHERE name = 'br1'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`ip link del v3`)
	w.quiet("br0 br2", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_interface`)
	if out := m.must(`ip -o link | wc -l`); out != "4" {
		t.Errorf("left over: %s", m.must("ip link"))
	}
	w.refused("no scope of host web", `INSERT INTO host_interface (account, name) VALUES ('web', 'eth7')`)
	w.refused("host_interface", `INSERT INTO host_interface (account, name, kind) VALUES ('web', 'v9', 'physical')`)
	w.PSQL(`INSERT INTO host_interface (account, name, kind) VALUES ('web', 'v9', 'veth')`)
	w.Becomes(shortly, "t", `SELECT message LIKE '%veth "v9" has no peer%' FROM iasql_status WHERE state = 'CreatingFailed'`)
}

// TestRoutes takes host_route through its life from both sides.
func TestRoutes(t *testing.T) {
	t.Parallel()
	w, m := networked(t)
	all := `SELECT string_agg(concat_ws('|', destination, metric, coalesce(host(gateway), '-'), interface), ' ' ORDER BY destination, metric) FROM host_route`
	m.must(`ip link add br0 type bridge && ip link set br0 up && ip -6 address add 2001:db8:1::2/64 dev eth0 nodad && ip route add 203.0.113.0/24 via $E`)
	w.PSQL(m.fill(`INSERT INTO host_route (account, destination, gateway) VALUES ('web', '198.51.100.0/25', '$E')`),
		`INSERT INTO host_route (account, destination, interface, metric) VALUES ('web', '198.51.100.0/25', 'br0', 50), ('web', '2001:db8:9::/48', 'br0', 1024)`)
	w.quiet(m.fill(`198.51.100.0/25|0|$E|eth0 198.51.100.0/25|50|-|br0 2001:db8:9::/48|1024|-|br0`), all)
	w.PSQL(`UPDATE host_route SET gateway = '2001:db8:1::1', interface = NULL WHERE family(destination) = 6`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`ip route replace 198.51.100.0/25 dev br0 && ip route add 198.51.100.128/25 via $E metric 7`)
	w.quiet(m.fill(`198.51.100.0/25|0|-|br0 198.51.100.0/25|50|-|br0 198.51.100.128/25|7|$E|eth0 2001:db8:9::/48|1024|2001:db8:1::1|eth0`), all)
	w.PSQL(`DELETE FROM host_route WHERE metric = 50`, `UPDATE host_route SET metric = 9 WHERE metric = 7`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`ip -6 route del 2001:db8:9::/48`)
	w.quiet(m.fill(`198.51.100.0/25|0|-|br0 198.51.100.128/25|9|$E|eth0`), all)
	if out := m.must(`ip route show 203.0.113.0/24`); out == "" {
		t.Error("a route that no scope names is gone")
	}
	w.refused("host_route", `INSERT INTO host_route (account, destination, gateway) VALUES ('web', '2001:db8:9::/48', '2001:db8:1::1')`)
	// A route waits for what leads to its gateway.
	w.PSQL(`INSERT INTO host_route (account, destination, gateway) VALUES ('web', '198.51.100.64/26', '192.0.2.1')`)
	w.Becomes(shortly, "t", `SELECT message LIKE '%no address or route leads to its gateway%' FROM iasql_status WHERE state <> 'Present'`)
	m.must(`ip address add 192.0.2.2/24 dev br0`)
	w.quiet(m.fill(`198.51.100.0/25|0|-|br0 198.51.100.64/26|0|192.0.2.1|br0 198.51.100.128/25|9|$E|eth0`), all)
}

// TestFirewall takes host_firewall_rule through its life from both sides. What is not ours stays.
func TestFirewall(t *testing.T) {
	t.Parallel()
	w, m := networked(t)
	all := `SELECT string_agg(concat_ws('|', name, chain, position, interface, states, source, destination, protocol, port, action), ' ' ORDER BY chain, position, name) FROM host_firewall_rule`
	m.must(`nft 'add table inet theirs; add chain inet theirs input { type filter hook input priority 0; }; add rule inet theirs input tcp dport 9 drop'`)
	w.PSQL(`INSERT INTO host_firewall_rule (account, name, position, states, action) VALUES ('web', 'known', 1, '{established,related}', 'accept')`,
		`INSERT INTO host_firewall_rule (account, name, position, source, protocol, port, action) VALUES ('web', 'web', 30, '10.0.0.0/8', 'tcp', '80', 'accept'), ('web', 'high', 20, NULL, 'udp', '8000-8100', 'drop')`,
		`INSERT INTO host_firewall_rule (account, name, chain, interface, destination, protocol, action) VALUES ('web', 'ping', 'output', 'br0', '2001:db8::/32', 'icmpv6', 'reject'), ('web', 'one', 'forward', 'br0', '192.0.2.1/32', NULL, 'drop')`)
	w.quiet(`one|forward|100|br0|192.0.2.1/32|drop known|input|1|{established,related}|accept high|input|20|udp|8000-8100|drop web|input|30|10.0.0.0/8|tcp|80|accept ping|output|100|br0|2001:db8::/32|icmpv6|reject`, all)
	listed := m.must(`nft list chain inet iasql input`)
	order := []int{strings.Index(listed, `ct state established,related accept comment "1 known"`), strings.Index(listed, `udp dport 8000-8100 drop comment "20 high"`),
		strings.Index(listed, `ip saddr 10.0.0.0/8 tcp dport 80 accept comment "30 web"`)}
	if order[0] < 0 || order[1] < order[0] || order[2] < order[1] {
		t.Errorf("nft lists %v\n%s", order, listed)
	}
	if out := m.must(`nft list chain inet iasql output; nft list chain inet iasql forward`); !strings.Contains(out, `oifname "br0" ip6 daddr 2001:db8::/32`) ||
		!strings.Contains(out, `reject`) || !strings.Contains(out, `iifname "br0" ip daddr 192.0.2.1 drop`) {
		t.Errorf("nft lists %s", out)
	}
	// Each column changed by SQL, and rules by others.
	w.PSQL(`UPDATE host_firewall_rule SET position = 5, source = '2001:db8:1::7/128', port = '443' WHERE name = 'web'`, `UPDATE host_firewall_rule SET states = '{new}', action = 'reject', chain = 'forward' WHERE name = 'known'`,
		`UPDATE host_firewall_rule SET interface = 'v0', protocol = NULL, destination = NULL WHERE name = 'ping'`)
	w.Becomes(3*shortly, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.distrust()
	m.must(`nft 'add rule inet iasql input ip saddr 172.16.0.0/12 tcp dport 1-9 counter accept comment "40 theirs"; add rule inet iasql input iifname "lo" accept comment "no position"; add rule inet iasql input udp dport 99 drop comment "50 last"'`)
	m.must(`nft delete rule inet iasql forward handle $(nft -a list chain inet iasql forward | sed -n 's/.*"100 one" # handle //p')`)
	w.quiet(`known|forward|1|{new}|reject web|input|5|2001:db8:1::7/128|tcp|443|accept high|input|20|udp|8000-8100|drop theirs|input|40|172.16.0.0/12|tcp|1-9|accept last|input|50|udp|99|drop ping|output|100|v0|reject`, all)
	w.PSQL(`DELETE FROM host_firewall_rule WHERE name IN ('last', 'theirs')`, `UPDATE host_firewall_rule SET name = 'higher' WHERE name = 'high'`)
	w.quiet(`known|forward|1|{new}|reject web|input|5|2001:db8:1::7/128|tcp|443|accept higher|input|20|udp|8000-8100|drop ping|output|100|v0|reject`, all)
	if out := m.must(`nft list ruleset`); !strings.Contains(out, "tcp dport 9 drop") || !strings.Contains(out, "no position") {
		t.Errorf("what is not ours is gone: %s", out)
	}
	// What a row cannot say is not shown wrongly.
	m.must(`nft 'add rule inet iasql input tcp dport 7 limit rate 1/second accept comment "60 limited"'`)
	if said, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err == nil {
		w.Becomes(shortly, "t", `SELECT count(*) > 0 FROM iasql_problems WHERE message LIKE '%asks for more than a row can say%'`)
	} else if !strings.Contains(fmt.Sprint(said, err), "more than a row can say") {
		t.Errorf("%s %v", said, err)
	}
	w.row("0", `SELECT count(*) FROM host_firewall_rule WHERE name = 'limited'`)
	w.refused("host_firewall_rule", `INSERT INTO host_firewall_rule (account, name, port, action) VALUES ('web', 'x', '22', 'drop')`)
}
