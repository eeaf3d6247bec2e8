package conformance

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/test/testaws"
)

// seen is the check that what the CLI does to a table's objects is in the table by its
// events alone, before any listing that was asked for, and with its author.
const seen = "seen by events"

// soon has the engine read a queue of the events of what the CLI does to the tables of all
// modules, and checks that each change is seen by them, with its author, within the time that
// is promised: go test ./test/conformance -args -soon. Every run does so with a few modules,
// in some of which changes are pulled before their own events come, and leaves aside how long
// it takes, as it has not the machine for itself.
var (
	soon   = flag.Bool("soon", false, "check that what events tell of is in its table soon, with its author")
	sooner = []string{"aws_cloudwatch", "aws_codepipeline", "aws_ecs_fargate", "aws_eventbridge", "aws_iam",
		"aws_route53", "aws_sqs"}
)

// watches reports whether the engine reads a queue of events.
func (s *suite) watches() bool { return *soon || slices.Contains(sooner, s.Name) }

// patience is how long events may take to be seen in a test.
const patience = time.Minute

// watchRegion is a region that no world looks at: the queue is in no table.
const watchRegion = "sa-east-1"

// watched makes a queue that events are sent to, and has the engine read it.
func (s *suite) watched(account testaws.Account) {
	s.t.Helper()
	if !s.watches() {
		return
	}
	client := sqs.NewFromConfig(account.Config(watchRegion))
	queue, err := client.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: awssdk.String("watch")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.heard.lock.Lock()
	s.heard.send = func(id, event string) {
		if _, err := client.SendMessage(s.t.Context(),
			&sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &event}); err != nil {
			s.t.Errorf("send an event: %v", err)
			return
		}
		s.heard.lock.Lock()
		s.heard.sent[id] = time.Now()
		s.heard.lock.Unlock()
	}
	s.heard.lock.Unlock()
	s.sql(fmt.Sprintf(`INSERT INTO aws_event_source (queue) VALUES ('arn:aws:sqs:%s:%s:watch')`, watchRegion,
		account.ID))
}

// sight is a change that is to be seen: one of the record's rows of the audit log.
type sight struct {
	table, change, column string
	wait                  time.Duration // after its event
}

func (g sight) String() string { return strings.TrimSpace(g.change + " " + g.column) }

// sights are those of all worlds, for the summary.
var sights struct {
	lock sync.Mutex
	all  []sight
}

// sees waits until the audit log has what a step of the CLI has done, as its events tell,
// and notes what it does not have.
func (s *suite) sees(check, change string) {
	s.t.Helper()
	if !s.watches() {
		return
	}
	s.heard.trail.Wait()
	wanted := map[string]sight{}
	var parts []string
	want := func(table *Table, column, record string) {
		key := strconv.Itoa(len(wanted))
		wanted[key] = sight{table: table.key(), change: change, column: column}
		where := fmt.Sprintf(`l.table_name = '%s' AND l.change_type = '%s' AND l.origin = 'engine' AND l.id > %s AND l.record_id = %s`, table.Name, change, s.heard.mark, record)
		if column != "" {
			where += fmt.Sprintf(` AND l.change -> 'change' ? '%s'`, column)
		}
		parts = append(parts, fmt.Sprintf(
			`(SELECT '%s', extract(epoch FROM l.ts), l.event_id FROM iasql_audit_log l WHERE %s AND l.actor LIKE 'arn:aws:%%' AND l.user_agent LIKE 'aws-cli/%%' ORDER BY l.id DESC LIMIT 1)`, key, where))
	}
	s.each(check, func(table *Table) {
		if table.Skip[seen] != "" {
			return
		}
		switch change {
		case "INSERT":
			o := s.thing(table, "cli")
			where := table.Find
			if where == "" {
				where = table.Identity + " = '$id'"
			}
			want(table, "", fmt.Sprintf(`(SELECT id FROM %s WHERE %s)`, table.Name, s.expand(where, table, o)))
		case "UPDATE":
			for _, c := range table.Change {
				// A command that sets what SQL has set before changes nothing.
				if len(c.CLI) > 0 && table.Skip[c.Column+" by the CLI"] == "" && table.Skip[c.Column+" "+seen] == "" &&
					!s.unchanged(table, c) {
					want(table, c.Column, s.thing(table, "sql").record)
				}
			}
		case "DELETE":
			if table.Skip[createBySQL] == "" {
				want(table, "", s.thing(table, "sql").record)
			}
		}
	})
	s.awaits(wanted, strings.Join(parts, " UNION ALL "))
	// What is looked into once more is not to disturb what follows.
	s.admin(`UPDATE iasql_internal.hint SET due = NULL`)
}

// unchanged reports whether a column has had all the time what the CLI sets it to.
func (s *suite) unchanged(table *Table, c Change) bool {
	s.t.Helper()
	o := s.thing(table, "sql")
	return s.admin(fmt.Sprintf(`SELECT %[1]s IS NOT DISTINCT FROM %[2]s AND NOT EXISTS (SELECT FROM iasql_audit_log l WHERE l.table_name = '%[3]s' AND l.record_id = t.id AND l.id > %[4]s AND l.change -> 'change' ? '%[1]s') FROM %[3]s t WHERE id = %[5]s`,
		c.Column, s.expand(c.Then, table, o), table.Name, s.heard.mark, o.record)) == "t"
}

// awaits waits until a query tells of all that is wanted, and notes what it does not.
func (s *suite) awaits(wanted map[string]sight, query string) {
	s.t.Helper()
	s.heard.unseen = map[string][]string{}
	for deadline := time.Now().Add(patience); len(wanted) > 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		for line := range strings.Lines(s.admin(query)) {
			part := strings.Split(strings.TrimSpace(line), "|")
			g, open := wanted[part[0]]
			if !open {
				continue
			}
			at, err := strconv.ParseFloat(part[1], 64)
			if err != nil {
				s.t.Fatal(line, err)
			}
			s.heard.lock.Lock()
			g.wait = max(0, time.UnixMicro(int64(at*1e6)).Sub(s.heard.sent[part[2]]))
			s.heard.lock.Unlock()
			sights.lock.Lock()
			sights.all = append(sights.all, g)
			sights.lock.Unlock()
			delete(wanted, part[0])
		}
	}
	for _, g := range wanted {
		s.heard.unseen[g.table] = append(s.heard.unseen[g.table], g.String())
	}
}

// seen checks that the step's changes of a table were seen.
func (s *suite) seen(table *Table) {
	s.t.Helper()
	if missing := s.heard.unseen[table.key()]; len(missing) > 0 {
		slices.Sort(missing)
		s.t.Logf("what was found: %s",
			s.admin(fmt.Sprintf(`SELECT coalesce(string_agg(concat_ws(' ', record_id, change_type, (SELECT string_agg(k, ' ') FROM jsonb_object_keys(change -> 'change') k), 'at', ts::time, 'since', since::time, 'by', coalesce(event_id, 'nobody')), '; ' ORDER BY id), 'nothing')
			FROM iasql_audit_log WHERE table_name = '%s' AND origin = 'engine'`, table.Name)))
		s.t.Errorf("events do not have the engine see, with its author: %q; what they hint at: %s", missing,
			s.admin(fmt.Sprintf(
				`SELECT coalesce(string_agg(DISTINCT concat_ws(' ', e.call, e.at::time, h.region, h.column_name, h.value, h.tries, 'due', h.due::time, 'received', e.received::time, e.actor, (SELECT 'own' FROM iasql_internal.own_request r WHERE r.id = e.request_id), e.id), ', '), 'nothing') FROM iasql_internal.hint h JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event WHERE h.table_name = '%s'`, table.Name)))
	}
}

// summarize says how soon changes were seen, and checks that it was soon enough.
func summarize(t *testing.T) {
	sights.lock.Lock()
	defer sights.lock.Unlock()
	if len(sights.all) == 0 {
		return
	}
	tables := map[string][]sight{}
	var names []string
	for _, g := range sights.all {
		if tables[g.table] == nil {
			names = append(names, g.table)
		}
		tables[g.table] = append(tables[g.table], g)
	}
	slices.Sort(names)
	var report strings.Builder
	for _, name := range names {
		fmt.Fprintf(&report, "\n%-40s", name)
		for _, g := range tables[name] {
			fmt.Fprintf(&report, " %s %.1f,", g, g.wait.Seconds())
		}
	}
	slices.SortFunc(sights.all, func(a, b sight) int { return int(a.wait - b.wait) })
	half, nearly := sights.all[len(sights.all)/2].wait, sights.all[len(sights.all)*99/100].wait
	t.Logf("%d changes of %d tables were seen after their events, with their author: half after %s, nearly all after "+
		"%s, the last after %s; in seconds:%s",
		len(sights.all), len(names), half, nearly, sights.all[len(sights.all)-1].wait, report.String())
	if *soon && (half > 2*time.Second || nearly > 5*time.Second) {
		t.Error("that is too late")
	}
}
