package console

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// policy lets a page run the console's own scripts and styles, and nothing that
// stands in the page itself: what somebody has smuggled into a name does nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// mostForm bounds what a form may send.
const mostForm = 256 << 10

// mostRecord bounds what the form of a record may send, whose columns hold documents.
const mostRecord = 1 << 20

// guard is what holds for every request.
func (c *Console) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if c.options.TLS {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if len(c.options.Hosts) > 0 && !slices.Contains(c.options.Hosts, hostname(r.Host)) {
			http.Error(w, "This console is not reached by that name; --http-name adds one.",
				http.StatusMisdirectedRequest)
			return
		}
		if !c.visitors.of(c.address(r)).Allow() {
			header.Set("Retry-After", "5")
			http.Error(w, "Too many requests: wait a few seconds.", http.StatusTooManyRequests)
			return
		}
		most := int64(mostForm)
		if strings.HasPrefix(r.URL.Path, "/records/") {
			most = mostRecord
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// hostname returns a Host header's name without the port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// address returns where a request comes from, as limits count it. Anybody can say
// in X-Forwarded-For where he comes from; a trusted proxy adds whom it has really
// heard, at the end. So the header is read from the end, for as long as it names
// trusted proxies: what is left of the first other address is hearsay.
func (c *Console) address(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	from := peer.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && c.trusts(from); i-- {
		hop, ok := hopAddress(hops[i])
		if !ok {
			break
		}
		from = hop
	}
	if from.Is4() {
		return from.String()
	}
	return netip.PrefixFrom(from, 64).Masked().Addr().String() // who has an IPv6 address has 2^64
}

func (c *Console) trusts(from netip.Addr) bool {
	return slices.ContainsFunc(c.options.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(from) })
}

// hopAddress reads an address of X-Forwarded-For; some proxies add the port.
func hopAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	hop, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		var with netip.AddrPort
		if with, err = netip.ParseAddrPort(text); err != nil {
			return netip.Addr{}, false
		}
		hop = with.Addr()
	}
	return hop.Unmap().WithZone(""), true
}

// limiters are rates by visitor. They hold a bounded number.
type limiters struct {
	lock  sync.Mutex
	rate  rate.Limit
	burst int
	by    map[string]*rate.Limiter
}

func newLimiters(perSecond rate.Limit, burst int) *limiters {
	return &limiters{rate: perSecond, burst: burst, by: map[string]*rate.Limiter{}}
}

func (l *limiters) of(who string) *rate.Limiter {
	l.lock.Lock()
	defer l.lock.Unlock()
	if found, ok := l.by[who]; ok {
		return found
	}
	if len(l.by) >= 4096 {
		for name, other := range l.by { // those who have not come lately start anew anyway
			if other.Tokens() >= float64(l.burst) {
				delete(l.by, name)
			}
		}
		if len(l.by) >= 4096 {
			who = "" // all others share one
			if found, ok := l.by[who]; ok {
				return found
			}
		}
	}
	made := rate.NewLimiter(l.rate, l.burst)
	l.by[who] = made
	return made
}

// attempts bounds attempts to sign in: by where they come from, by that and the
// name, and how many are tried at once. A name alone is not limited, or anybody
// could keep somebody out.
type attempts struct {
	from, named *limiters
	all         *rate.Limiter
	slots       chan struct{}
}

func newAttempts() *attempts {
	every := rate.Every(10 * time.Second)
	return &attempts{from: newLimiters(every, 20), named: newLimiters(every, 5), all: rate.NewLimiter(5, 50),
		slots: make(chan struct{}, 4)}
}

// begin reports whether an attempt may be made; done ends it. Those that fail
// count, and all that are made by everybody.
func (a *attempts) begin(from, name string) (done func(failed bool), ok bool) {
	limits := []*rate.Limiter{a.from.of(from), a.named.of(from + " " + name)}
	for _, limit := range limits {
		if limit.Tokens() < 1 {
			return nil, false
		}
	}
	if !a.all.Allow() {
		return nil, false
	}
	select {
	case a.slots <- struct{}{}:
	default:
		return nil, false
	}
	return func(failed bool) {
		<-a.slots
		for _, limit := range limits {
			if failed {
				limit.Allow()
			}
		}
	}, true
}
