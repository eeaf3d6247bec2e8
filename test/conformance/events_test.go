package conformance

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/aws/events"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
)

// told is the check that events tell of a table's changes.
const told = "told by events"

// heard is what the events of the CLI's calls say, in the form of CloudTrail's.
type heard struct {
	trail *likeness.Trail
	lock  sync.Mutex
	hints []events.Hint
	calls []string

	// What is sent to a queue that the engine reads (seen_test.go).
	send   func(id, event string)
	sent   map[string]time.Time // by the event's id
	mark   string               // the newest row of the audit log before the step
	unseen map[string][]string  // what was not seen, by table
	on     bool                 // events are sent
}

var registered = sync.OnceValues(func() (*modules.Registry, error) {
	return modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
})

// listenIn returns an account whose calls are recorded, and what hears of them.
func listenIn(t *testing.T, account testaws.Account) (testaws.Account, *heard) {
	t.Helper()
	registry, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{sent: map[string]time.Time{}}
	h.trail = &likeness.Trail{Lose: 1, Each: func(event []byte) {
		e, err := events.Parse(event)
		if err != nil {
			t.Errorf("%v: %s", err, event)
			return
		}
		h.lock.Lock()
		h.calls = append(h.calls, e.Source+" "+e.Name)
		h.hints = append(h.hints, events.Hints(registry, "default", e)...)
		send := h.send
		if !h.on {
			send = nil
		}
		h.lock.Unlock()
		if send != nil {
			send(e.ID, string(event))
		}
	}}
	l := likeness.Start(t, account.Endpoint)
	l.Record(h.trail)
	account.Endpoint = l.URL
	return account, h
}

// listens forgets what was heard so far, and has what the step's calls tell sent to the
// queue that the engine reads. It returns what ends that.
func (s *suite) listens() (end func()) {
	s.t.Helper()
	h := s.heard
	h.trail.Wait()
	h.mark = s.admin(`SELECT coalesce(max(id), 0) FROM iasql_audit_log`)
	h.lock.Lock()
	defer h.lock.Unlock()
	h.hints, h.calls, h.on = nil, nil, true
	return func() {
		h.trail.Wait()
		h.lock.Lock()
		defer h.lock.Unlock()
		h.on = false
	}
}

// hinted checks that the events of the step's calls have the engine look at the table.
func (s *suite) hinted(table *Table) {
	s.t.Helper()
	if table.Skip[told] != "" {
		return
	}
	s.heard.trail.Wait()
	s.heard.lock.Lock()
	defer s.heard.lock.Unlock()
	if !slices.ContainsFunc(s.heard.hints, func(h events.Hint) bool { return h.Table == table.Name }) {
		s.t.Errorf("none of the events tells of %s: %q", table.Name, s.heard.calls)
	}
}

// Every command by which the description changes an object is among the calls that its table
// says touch it.
func TestCommandsTouch(t *testing.T) {
	t.Parallel()
	registry, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range described {
		for _, table := range m.Tables {
			mappings := map[string]bool{}
			for _, mapping := range registry.Table(table.Name).EventMappings {
				mappings[strings.ToLower(mapping.Name)] = true
			}
			for _, c := range table.Change {
				if len(c.CLI) > 0 && table.Skip[c.Column+" by the CLI"] == "" &&
					!slices.ContainsFunc(c.CLI, func(command string) bool { return mappings[operationOf(command)] }) {
					t.Errorf("%s: column %s: no touch is one of %q", table.Name, c.Column, c.CLI)
				}
			}
		}
	}
}

// asLogged are the operations of S3 whose events have other names ("Amazon S3 bucket-level actions tracked by CloudTrail
// logging", S3 User Guide).
var asLogged = strings.NewReplacer("publicaccessblock", "bucketpublicaccessblock",
	"bucketlifecycleconfiguration", "bucketlifecycle")

// operationOf returns what CloudTrail calls the operation of a command, in small letters.
func operationOf(command string) string {
	words := strings.Fields(assignment.ReplaceAllString(command, ""))
	if len(words) < 2 {
		return ""
	}
	return asLogged.Replace(strings.ReplaceAll(words[1], "-", ""))
}
