package batches

import (
	"context"
	"fmt"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// day is a team's day: eight people at their sessions, and their batches by number.
//
// Batch n of the day changes the queue work<n>, which AWS's console changes, too, while
// the batch is open; deletes old<n>, and inserts new<n>. So it can be told at the end
// what became of each one's edits, and which batch each call was made for.
type day struct {
	*harness.World
	people [8]*session
	ended  map[int]string // the outcome that the owner was told
}

// batches is how many there are in the day.
const batches = 20

// TestTeamsDay: what is written in any of twenty batches is neither lost, nor pushed
// early, nor undone by somebody else, whatever happens to the others; and each ends with
// the outcome that its owner was told.
func TestTeamsDay(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	copied := second(t, d.World, east) // a restored copy, whose engine works beside
	restore(t, d.World, copied, "--inserts", "--on-conflict-do-nothing")

	d.together()
	d.overlapping()
	d.crashed()
	d.cancelled()
	d.abandoned()
	d.mistyped()
	d.takenBack()
	d.approved()

	d.tally()
	copied.PSQL(`SELECT iasql_sync_now()`)
	copied.Settled()
	if got := copied.PSQL(`SELECT string_agg(kind || ' ' || action, ',') FROM iasql_operations`); got != "" {
		t.Errorf("the restored copy made calls: %s", got)
	}
}

func newDay(t *testing.T) *day {
	t.Helper()
	w, proxy := harness.StartBehindProxy(t, east, "aws_vpc", "aws_sqs", "aws_ec2")
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		switch {
		case c.Action == "RunInstances" && strings.Contains(c.Body, "ami-0bad"): // an emulator takes any
			return faultproxy.Fault{Status: 400, Code: "InvalidAMIID.Malformed", Message: `Invalid id: "ami-0bad"`}
		case c.Action == "CreateQueue" && strings.Contains(c.Body, "slow"):
			return faultproxy.Fault{Status: 500, Code: "InternalError", Message: "out of order"}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`,
		fmt.Sprintf(`INSERT INTO queue (name) SELECT kind || n FROM generate_series(1, %d) n, unnest('{work,old}'::text[]) kind`, batches),
		`INSERT INTO queue (name) SELECT 'plain' || n FROM generate_series(0, 7) n`)
	w.Settled()
	d := &day{World: w, ended: map[int]string{}}
	for i, name := range []string{"ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal"} {
		d.people[i] = connect(w, w.Login(name, "iasql_user"))
	}
	return d
}

// edits are what batch n writes.
func edits(n int) []string {
	return []string{
		fmt.Sprintf(`CALL iasql_begin('batch%d')`, n),
		fmt.Sprintf(`UPDATE queue SET delay_seconds = %[1]d WHERE name = 'work%[1]d'`, n),
		fmt.Sprintf(`DELETE FROM queue WHERE name = 'old%d'`, n),
		fmt.Sprintf(`INSERT INTO queue (name) VALUES ('new%d')`, n),
	}
}

// open has somebody open batch n and write its edits, and changes one of its queues in
// the console.
func (d *day) open(n, person int) *session {
	d.Helper()
	s := d.people[person]
	s.do(edits(n)...)
	d.console(n)
	return s
}

// console changes in AWS's console what batch n has staged.
func (d *day) console(n int) {
	d.Helper()
	url := d.PSQL(fmt.Sprintf(`SELECT url FROM queue WHERE name = 'work%d'`, n))
	d.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", fmt.Sprintf("VisibilityTimeout=%d", 100+n))
}

// each has all people do something at once.
func (d *day) each(do func(i int, s *session) error) {
	d.Helper()
	var group gosync.WaitGroup
	var failed [len(d.people)]error
	for i, s := range d.people {
		group.Go(func() { failed[i] = do(i, s) })
	}
	group.Wait()
	for i, err := range failed {
		if err != nil {
			d.Errorf("person %d: %s", i, spelled(err))
		}
	}
}

// together: eight people have a batch each at the same time, and edit beside it.
func (d *day) together() {
	d.Helper()
	d.each(func(i int, s *session) error { return s.try(edits(i + 1)...) })
	for n := 1; n <= 8; n++ {
		d.console(n)
	}
	var beside [8]*session
	for i := range beside {
		beside[i] = user(d.World)
	}
	d.each(func(i int, _ *session) error {
		return beside[i].try(fmt.Sprintf(`UPDATE queue SET delay_seconds = 7 WHERE name = 'plain%d'`, i))
	})
	d.PSQL(`SELECT iasql_wait_for_all(60)`) // for none of what is staged
	if got := d.PSQL(`SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`,
		`SELECT count(*) FROM queue WHERE name LIKE 'new%' AND url IS NOT NULL`,
		`SELECT count(*) FROM iasql_operations WHERE key LIKE '%plain%' AND kind = 'update'`); got != "8\n0\n8" {
		d.Errorf("while eight batches are open: %s", got)
	}
	d.each(func(i int, s *session) error { return s.try(`SELECT * FROM iasql_preview()`, `CALL iasql_commit()`) })
	for n := 1; n <= 8; n++ {
		d.ended[n] = "committed"
	}
}

// overlapping: what one batch has staged another cannot have, before it has ended.
func (d *day) overlapping() {
	d.Helper()
	first, second := d.open(9, 0), d.open(10, 1)
	const both = `UPDATE queue SET message_retention_period = 3600 WHERE name = 'work9'`
	second.refused("IA020", []string{"(batch9) of ann"}, both)
	d.people[2].refused("IA020", []string{"(batch10) of ben"}, `DELETE FROM queue WHERE name = 'new10'`)
	first.do(`CALL iasql_commit()`)
	second.do(both, `CALL iasql_commit()`)
	d.ended[9], d.ended[10] = "committed", "committed"
	if got := d.PSQL(`SELECT message_retention_period FROM queue WHERE name = 'work9'`); got != "3600" {
		d.Errorf("what the second batch wrote is %s", got)
	}
}

// crashed: an engine is killed while it commits. Who is told so commits once more, and
// another engine goes on from where it was.
func (d *day) crashed() {
	d.Helper()
	one := d.Serve()
	var done []<-chan error
	var owners []*session
	for n := 11; n <= 12; n++ {
		s := d.open(n, n%8)
		s.do(fmt.Sprintf(`INSERT INTO queue (name) SELECT 'many%d_' || n FROM generate_series(1, 30) n`, n))
		done, owners = append(done, s.later(`CALL iasql_commit()`)), append(owners, s)
	}
	d.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM queue WHERE name LIKE 'many%' AND url IS NOT NULL`)
	one.Kill()
	for i, ended := range done {
		err := <-ended
		if strings.HasPrefix(spelled(err), "IA010") {
			err = owners[i].try(`CALL iasql_commit()`)
		}
		if err != nil {
			d.Errorf("the commit of batch %d says %s", 11+i, spelled(err))
		}
		d.ended[11+i] = "committed"
	}
	if got := d.PSQL(`SELECT count(*) FROM queue WHERE name LIKE 'many%' AND url IS NOT NULL`); got != "60" {
		d.Errorf("after the crash there are %s of 60 queues", got)
	}
}

// cancelled: somebody cancels a commit, and has said that the batch is to be undone then.
func (d *day) cancelled() {
	d.Helper()
	s := d.open(13, 3)
	s.do(`INSERT INTO queue (name) VALUES ('slow')`)
	pid := s.get(`SELECT pg_backend_pid()`)
	done := s.later(`CALL iasql_commit(on_cancel => 'rollback')`)
	d.Becomes(time.Minute, "1", `SELECT retrying FROM iasql_progress`)
	d.Admin(`SELECT pg_cancel_backend(` + pid + `)`)
	if text := spelled(<-done); !strings.HasPrefix(text, "57014") || !strings.Contains(text, "rolls the batch back") {
		d.Errorf("cancelled, the commit says %s", text)
	}
	d.ended[13] = "rolled back"
	d.Becomes(time.Minute, "rolled back", `SELECT outcome FROM iasql_batches WHERE name = 'batch13'`)
}

// abandoned: a session ends and leaves its batch, which somebody else closes later.
func (d *day) abandoned() {
	d.Helper()
	left := connect(d.World, d.Login("left", "iasql_user"))
	left.do(edits(14)...)
	d.console(14)
	_ = left.conn.Close(context.WithoutCancel(d.Context()))
	d.Admin(`UPDATE iasql_internal.batch SET opened_at = opened_at - interval '2 hours' WHERE name = 'batch14'`)
	d.Becomes(time.Minute, "t", `SELECT abandoned FROM iasql_batches WHERE name = 'batch14'`)
	// it holds up nobody
	d.PSQL(`UPDATE queue SET delay_seconds = 8 WHERE name = 'plain0'`, `SELECT iasql_wait_for_all(60)`)
	d.people[4].do(`CALL iasql_join('batch14')`, `CALL iasql_rollback(true)`)
	d.ended[14] = "rolled back"
}

// mistyped: an AMI that does not exist fails a commit, which is undone or, where that
// was asked for, kept without it.
func (d *day) mistyped() {
	d.Helper()
	const instance = `INSERT INTO instance (ami, instance_type) VALUES ('ami-0bad', 't3.micro')`
	s := d.open(15, 5)
	s.do(instance)
	s.refused("IA026", []string{"InvalidAMIID.Malformed", "ami-0bad"}, `CALL iasql_commit()`)
	d.ended[15] = "rolled back"
	s = d.open(16, 6)
	s.do(instance, `CALL iasql_commit(on_error => 'keep')`)
	if said := s.notices(); !strings.Contains(said, "InvalidAMIID.Malformed") {
		d.Errorf("with keep, the commit said %s", said)
	}
	d.ended[16] = "committed"
	d.PSQL(`DELETE FROM instance WHERE ami = 'ami-0bad'`, `SELECT iasql_wait_for_all(60)`)
}

// takenBack: a batch is rolled back before it is committed, and one is committed by the
// pipeline, which has looked at it before.
func (d *day) takenBack() {
	d.Helper()
	d.open(17, 7).do(`SELECT * FROM iasql_preview()`, `CALL iasql_rollback()`)
	d.ended[17] = "rolled back"
	d.open(18, 0)
	if out, problem, code := pipeline(d.T, d.World, "preview", "batch18", "--exit-code"); code != 2 {
		d.Errorf("the pipeline's preview ends with %d: %s%s", code, out, problem)
	}
	if out, problem, code := pipeline(d.T, d.World, "commit", "batch18"); code != 0 {
		d.Errorf("the pipeline's commit ends with %d: %s%s", code, out, problem)
	}
	d.ended[18] = "committed"
}

// approved: from now on a commit needs the word of somebody else.
func (d *day) approved() {
	d.Helper()
	d.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	owner, lead := d.open(19, 1), d.people[2]
	owner.refused("IA027", []string{"0 of 1 approvals"}, `CALL iasql_commit()`)
	batch := owner.get(`SELECT id FROM iasql_batches WHERE name = 'batch19'`)
	lead.do(`CALL iasql_join('batch19')`)
	lead.do(`SELECT iasql_approve(` + batch + `, '` + lead.get(`SELECT iasql_preview_hash()`) + `')`)
	owner.do(`CALL iasql_commit()`)
	d.ended[19] = "committed"
	refused := d.open(20, 3)
	refused.refused("IA027", nil, `CALL iasql_commit()`)
	refused.do(`CALL iasql_rollback()`)
	d.ended[20] = "rolled back"
}

// tally compares what there is with what people were told.
func (d *day) tally() {
	d.Helper()
	d.PSQL(`SELECT iasql_wait_for_all(60)`, `SELECT iasql_sync_now()`)
	d.Settled()
	for n := 1; n <= batches; n++ {
		name := fmt.Sprintf("batch%d", n)
		if got := d.PSQL(`SELECT string_agg(outcome, ',') FROM iasql_batches WHERE name = '` + name + `'`); got != d.ended[n] {
			d.Errorf("%s: its owner was told %q, and it is %q", name, d.ended[n], got)
		}
		want := fmt.Sprintf("work%d:%d:%d", n, n, 100+n)
		if d.ended[n] == "committed" {
			want = fmt.Sprintf("new%d:0:30,", n) + want
		} else {
			want = fmt.Sprintf("old%d:0:30,work%d:0:%d", n, n, 100+n)
		}
		if got := d.PSQL(fmt.Sprintf(`SELECT string_agg(name || ':' || delay_seconds || ':' || visibility_timeout, ',' ORDER BY name)
			FROM queue WHERE name IN ('work%[1]d', 'old%[1]d', 'new%[1]d') AND url IS NOT NULL`, n)); got != want {
			d.Errorf("%s, which was %s, leaves %s instead of %s", name, d.ended[n], got, want)
		}
		// Each call was the batch's, and none was made before the commit. (What was made
		// at the beginning of the day was nobody's.)
		if got := d.PSQL(fmt.Sprintf(`SELECT count(*) FROM iasql_operations o, iasql_batches b WHERE b.name = '%[2]s' AND o.id > (
				SELECT max(id) FROM iasql_operations WHERE kind = 'create' AND (key LIKE '%%work%%' OR key LIKE '%%old%%'))
			AND o.transaction_id IS DISTINCT FROM b.id AND o.key ~ '(work|old|new)%[1]d$' AND o.key !~ 'work9$'`, n,
			name)); got != "0" {
			d.Errorf("%s: %s calls were made for others", name, got)
		}
	}
	if got := d.PSQL(`SELECT string_agg(delay_seconds::text, ',' ORDER BY name) FROM queue WHERE name LIKE 'plain%'`); got != "8,7,7,7,7,7,7,7" {
		d.Errorf("what was edited beside the batches is %s", got)
	}
	// The cloud says the same, to one who asks it.
	cloud := d.CLI("sqs", "list-queues")["QueueUrls"].([]any)
	if got := d.PSQL(`SELECT count(*) FROM queue`); got != fmt.Sprint(len(cloud)) {
		d.Errorf("there are %s records and %d queues", got, len(cloud))
	}
}
