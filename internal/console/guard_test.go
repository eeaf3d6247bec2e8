package console

import (
	"net/http"
	"net/netip"
	"testing"
)

// Who signs in through a trusted proxy is who that says he is, and nobody else can
// say that.
func TestAddressBehindProxies(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		proxies    []netip.Prefix
		want       string
	}{
		{"direct", "192.0.2.1:5", nil, trusted, "192.0.2.1"},
		{"nobody is trusted by default", "10.0.0.1:5", []string{"192.0.2.1"}, nil, "10.0.0.1"},
		{"a stranger says who he is", "203.0.113.9:5", []string{"192.0.2.1"}, trusted, "203.0.113.9"},
		{"through one proxy", "10.0.0.1:5", []string{"192.0.2.1"}, trusted, "192.0.2.1"},
		{"through two", "10.0.0.1:5", []string{"192.0.2.1, 10.9.9.9"}, trusted, "192.0.2.1"},
		{"in two headers", "10.0.0.1:5", []string{"192.0.2.1", "10.9.9.9"}, trusted, "192.0.2.1"},
		{"what the visitor has sent is hearsay", "10.0.0.1:5", []string{"198.51.100.7, 192.0.2.1"}, trusted,
			"192.0.2.1"},
		{"also where it names a proxy", "10.0.0.1:5", []string{"10.1.1.1, 192.0.2.1"}, trusted, "192.0.2.1"},
		{"and where it is nonsense", "10.0.0.1:5", []string{"nonsense, 192.0.2.1"}, trusted, "192.0.2.1"},
		{"a proxy that says nonsense", "10.0.0.1:5", []string{"192.0.2.1, unknown"}, trusted, "10.0.0.1"},
		{"a proxy that says nothing", "10.0.0.1:5", nil, trusted, "10.0.0.1"},
		{"all are proxies", "10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, trusted, "10.0.0.3"},
		{"with a port", "10.0.0.1:5", []string{"192.0.2.1:4711"}, trusted, "192.0.2.1"},
		{"IPv6 counts by its network", "[2001:db8:1::1]:5", []string{"[2001:db8:9:9:1:2:3:4]:4711"}, trusted,
			"2001:db8:9:9::"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:5", []string{"::ffff:192.0.2.1"}, trusted, "192.0.2.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := (&Console{options: Options{TrustedProxies: c.proxies}}).address(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// One visitor's attempts are not another's, though both come through one proxy.
	c := &Console{options: Options{TrustedProxies: trusted}, attempts: newAttempts()}
	from := func(visitor string) string {
		return c.address(&http.Request{RemoteAddr: "10.0.0.1:5", Header: http.Header{"X-Forwarded-For": {visitor}}})
	}
	for {
		done, ok := c.attempts.begin(from("192.0.2.1"), "alice")
		if !ok {
			break
		}
		done(true)
	}
	if _, ok := c.attempts.begin(from("192.0.2.2"), "alice"); !ok {
		t.Error("a visitor is locked out by another's attempts")
	}
}
