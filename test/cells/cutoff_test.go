package cells

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/cells"
	"iasql/internal/test/harness"
)

var trials = flag.Int("trials", 6, "how many moves are killed in TestMoveKilled")

// tryMove runs engine cells move, and kills it some time after it has said that it begins a step; without a step it does not.
func (m *moving) tryMove(kill cells.Step, after time.Duration, args ...string) (string, error) {
	cmd := exec.CommandContext(m.Context(), harness.Engine(), append([]string{"cells", "move", "shop", "--deadline", "5m"}, args...)...)
	cmd.Env = append(os.Environ(), "IASQL_REGISTRY_URL="+m.registry, "PGPASSFILE="+m.passfile)
	said, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var out strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(&out, lines.Text())
		if kill != "" && lines.Text() == string(kill) {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	return out.String(), cmd.Wait()
}

// finish goes on with a move to a cell, which may have ended.
func (m *moving) finish(to string) error {
	out, err := m.tryMove("", 0, "--to", to)
	if err != nil && !strings.Contains(out, "is in cell "+to+" already") {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// killed tells whether a call was, and has not failed by itself.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && !exit.Exited()
}

// editor writes the account's records wherever that is allowed, for as long as the test moves it, and keeps what was committed.
type editor struct {
	*moving
	vpcs    []string // made, and not deleted
	done    int      // transactions that were committed
	count   int      // the last value of the tag count of queue q1
	refused int
	failure error
}

// most is how many VPCs there are at a time: the more there are, the longer a cycle takes.
const most = 12

// work writes once in one of the cells. That a cell refuses it because the account moves or is not there is not a failure,
// nor that an engine was in the way.
func (e *editor) work(n int) {
	w := e.cells[e.names[rand.IntN(len(e.names))]]
	name := fmt.Sprintf("v%d", n)
	statements := []string{`BEGIN`, fmt.Sprintf(`INSERT INTO vpc (account, cidr_block, tags) VALUES ('shop', '10.%d.%d.0/24', '{"Name": "%s"}')`,
		n/250%250, n%250, name), fmt.Sprintf(`UPDATE queue SET tags = '{"count": "%d"}' WHERE account = 'shop' AND name = 'q1'`, n), `COMMIT`}
	if n%3 == 0 {
		statements[0] = `BEGIN ISOLATION LEVEL REPEATABLE READ`
	}
	keep := e.vpcs[max(0, len(e.vpcs)-most+1):]
	if old := e.vpcs[:len(e.vpcs)-len(keep)]; len(old) > 0 {
		// After the INSERT, which succeeds only where the account is: before it there may be nothing to delete yet.
		statements = slices.Insert(statements, 2, fmt.Sprintf(`DELETE FROM vpc WHERE account = 'shop' AND tags ->> 'Name' = ANY ('{%s}')`,
			strings.Join(old, ",")))
	}
	_, err := w.TryPSQL(w.UserURL, statements...)
	switch {
	case err == nil:
		e.vpcs, e.count = append(slices.Clone(keep), name), n
		e.done++
	case slices.ContainsFunc([]string{"IA070", "23503", "40001", "40P01"}, func(code string) bool {
		return strings.Contains(err.Error(), code)
	}):
		e.refused++
	default:
		e.failure = err
	}
}

// edit writes until done is closed.
func (e *editor) edit(done <-chan struct{}) {
	for n := 1; e.failure == nil; n++ {
		e.work(n)
		select {
		case <-done:
			return
		case <-time.After(200 * time.Millisecond): // so that the cloud stays small, and cycles short
		}
	}
}

// servedByOne fails if both cells serve the account: one that does before and after the other does is at the same time.
func (m *moving) servedByOne() error {
	serves := func(name string) (bool, error) {
		w := m.cells[name]
		got, err := w.TryPSQL(w.AdminURL, `SELECT count(*) FROM iasql_internal.account a WHERE a.name = 'shop'
			AND NOT EXISTS (SELECT FROM iasql_internal.moving m WHERE m.account = a.name)`)
		return got == "1", err
	}
	var all [3]bool
	for i, name := range []string{"eu", "us", "eu"} {
		var err error
		if all[i], err = serves(name); err != nil {
			return err
		}
	}
	if all == [3]bool{true, true, true} {
		return errors.New("both cells serve the account")
	}
	return nil
}

// TestMoveKilled: an account moves to and fro while its records are written, and the command is killed in each step. Nothing
// that was committed is lost, nothing is made twice in the cloud, and never do both cells serve the account.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_sqs", "aws_vpc")
	m.cells["eu"].PSQL(`INSERT INTO queue (account, name) VALUES ('shop', 'q1')`)
	m.cells["eu"].Settled()

	e := &editor{moving: m}
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { e.edit(done) })
	var both error
	all.Go(func() {
		for both == nil {
			both = m.servedByOne()
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	stop := sync.OnceFunc(func() {
		close(done)
		all.Wait()
	})
	defer stop()

	steps := []cells.Step{cells.Hold, cells.Copy, cells.HandOver, cells.Release, cells.Remove}
	cut := map[cells.Step]int{}
	from, to := "eu", "us"
	for trial := range *trials {
		step := steps[trial%len(steps)]
		out, err := m.tryMove(step, time.Duration(rand.IntN(30_000))*time.Microsecond, "--to", to)
		switch {
		case killed(err):
			cut[step]++
		case err != nil:
			t.Fatalf("trial %d: %v\n%s", trial, err, out)
		}
		undone := false
		if err != nil && trial%3 == 1 {
			out, err = m.tryMove("", 0, "--undo")
			undone = err == nil
			if !undone && !strings.Contains(out, "already") && !strings.Contains(out, "no move of account") {
				t.Fatalf("trial %d: undo: %v\n%s", trial, err, out)
			}
			if undone && !slices.Equal(m.has(), []string{from}) {
				t.Fatalf("trial %d: after an undo %q serve the account", trial, m.has())
			}
		}
		if err := m.finish(to); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if got := m.has(); !slices.Equal(got, []string{to}) {
			t.Fatalf("trial %d, killed in %q: %q serve the account", trial, step, got)
		}
		if got := m.traces(from); got != "" {
			t.Fatalf("trial %d, killed in %q: the source still has something in: %s", trial, step, got)
		}
		from, to = to, from
		if trial%10 == 9 {
			t.Logf("%d moves, killed in steps %v", trial+1, cut)
		}
	}
	stop()
	if e.failure != nil || both != nil {
		t.Fatal(e.failure, both)
	}
	w := m.cells[from]
	w.Settled()
	slices.Sort(e.vpcs)
	if got := m.vpcs(); !slices.Equal(got, e.vpcs) {
		t.Errorf("%d VPCs in the cloud, want %d:\n%q\n%q", len(got), len(e.vpcs), got, e.vpcs)
	}
	if got := w.PSQL(`SELECT count(*), count(DISTINCT tags ->> 'Name') FROM vpc WHERE account = 'shop' AND NOT is_default`); got !=
		fmt.Sprintf("%d|%[1]d", len(e.vpcs)) {
		t.Errorf("VPCs in the database: %s, want %d", got, len(e.vpcs))
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc v WHERE account = 'shop' AND NOT is_default AND 1 <> (SELECT count(*) FROM iasql_audit_log l
		WHERE l.table_name = 'vpc' AND l.record_id = v.id AND l.change_type = 'INSERT')`); got != "0" {
		t.Errorf("%s VPCs do not have one insertion in their history", got)
	}
	if got := w.PSQL(`SELECT tags ->> 'count' FROM queue WHERE account = 'shop' AND name = 'q1'`); got != fmt.Sprint(e.count) {
		t.Errorf("the tag is %s, want %d", got, e.count)
	}
	t.Logf("killed in steps %v; %d transactions of users, %d refused; ids are up to %s", cut, e.done, e.refused,
		w.Admin(`SELECT max(id) FROM vpc`))
}
