// Package likeness is AWS in time, in front of the emulator: what AWS documents of how
// long things take, what it refuses meanwhile and what it makes of what it is told,
// which the emulator leaves out. Each rule says where AWS says so.
package likeness

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
)

// Likeness is a running endpoint.
type Likeness struct {
	URL   string
	Proxy *faultproxy.Proxy
	rules []Rule

	t        testing.TB
	endpoint string
}

// Rule is one thing that AWS does and the emulator does not. It is asked for every
// call, and must be safe for concurrent use. The first refusal ends a call: rules
// behind it do not see it. Where several rules change an answer, each gets what the
// one before it made.
type Rule interface {
	// Apply says what becomes of a call. What a rule learns of a call that AWS may
	// still refuse belongs into Rewrite, which is asked for good answers alone.
	Apply(c Call) faultproxy.Fault
}

// Call is a call with the parameters of the Query protocol.
type Call struct {
	faultproxy.Call
	Params url.Values
}

// Start starts AWS's likeness in front of the emulator's endpoint, with rules.
func Start(t testing.TB, endpoint string, rules ...Rule) *Likeness {
	t.Helper()
	proxy := faultproxy.Start(t, endpoint)
	l := &Likeness{URL: proxy.URL, Proxy: proxy, rules: rules, t: t, endpoint: endpoint}
	proxy.Set(l.decide)
	return l
}

// New starts AWS's likeness where there is no test, as Start does. It ends with stop.
func New(endpoint string, rules ...Rule) (_ *Likeness, stop func(), err error) {
	proxy, stop, err := faultproxy.New(endpoint)
	if err != nil {
		return nil, nil, err
	}
	l := &Likeness{URL: proxy.URL, Proxy: proxy, rules: rules, endpoint: endpoint}
	proxy.Set(l.decide)
	return l, stop, nil
}

func (l *Likeness) decide(c faultproxy.Call) faultproxy.Fault {
	params, _ := url.ParseQuery(c.Body)
	var all faultproxy.Fault
	for _, rule := range l.rules {
		fault := rule.Apply(Call{c, params})
		if fault.Status != 0 || fault.Answer != nil {
			return fault
		}
		all.Before, all.After = then(all.Before, fault.Before), then(all.After, fault.After)
		all.Instead = cmp.Or(all.Instead, fault.Instead)
		all.Stale = max(all.Stale, fault.Stale)
		all.Lose, all.Cut, all.Truncate = all.Lose || fault.Lose, all.Cut || fault.Cut, all.Truncate || fault.Truncate
		if !fault.Date.IsZero() {
			all.Date = fault.Date
		}
		if first, second := all.Rewrite, fault.Rewrite; first != nil && second != nil {
			all.Rewrite = func(body []byte) []byte { return second(first(body)) }
		} else if second != nil {
			all.Rewrite = second
		}
	}
	return all
}

// then is one function after another; either may be nil.
func then(first, second func()) func() {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func() { first(); second() }
}

// document changes an answer that is a JSON object.
func document(edit func(answer map[string]any)) func([]byte) []byte {
	return func(body []byte) []byte {
		var answer map[string]any
		if json.Unmarshal(body, &answer) != nil {
			return body
		}
		edit(answer)
		changed, err := json.Marshal(answer)
		if err != nil {
			return body
		}
		return changed
	}
}

// element finds the elements of one name in an answer, and gives each to edit.
func element(name string, edit func(inner string) string) func([]byte) []byte {
	pattern := regexp.MustCompile(`(?s)<` + name + `>.*?</` + name + `>`)
	return func(body []byte) []byte {
		return pattern.ReplaceAllFunc(body, func(found []byte) []byte { return []byte(edit(string(found))) })
	}
}

// member returns the text of the first member of that name.
func member(text, name string) string {
	_, rest, found := strings.Cut(text, "<"+name+">")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, "</"+name+">")
	return strings.TrimSpace(value)
}

// put replaces the text of the first member of that name.
func put(text, name, value string) string {
	before, rest, found := strings.Cut(text, "<"+name+">")
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, "</"+name+">")
	return before + "<" + name + ">" + value + "</" + name + ">" + after
}

// memory is what a rule remembers of calls.
type memory struct {
	lock  sync.Mutex
	texts map[string]string
	times map[string]time.Time
}

func (m *memory) set(key, value string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.texts == nil {
		m.texts = map[string]string{}
	}
	m.texts[key] = value
}

func (m *memory) get(key string) string {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.texts[key]
}

// begin notes when something began, unless it has already.
func (m *memory) begin(key string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.times == nil {
		m.times = map[string]time.Time{}
	}
	if _, begun := m.times[key]; !begun {
		m.times[key] = time.Now()
	}
}

// since returns how long ago something began; it is false if it has not.
func (m *memory) since(key string) (time.Duration, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	at, begun := m.times[key]
	return time.Since(at), begun
}

func (m *memory) forget(key string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.times, key)
	delete(m.texts, key)
}
