package economy

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules/all"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

var (
	fleetSize  = flag.Int("fleet", 6, "how many accounts TestFleet has, at least 4")
	allModules = flag.Bool("all-modules", false,
		"TestFleet installs every module of AWS, and keeps sync_interval as it is")
)

const (
	fleetEngines = 3
	// emulated is how many accounts with all modules the emulator carries, which is one process of Python. The reads
	// of more are answered by a recorder.
	emulated = 20
	// accountPlaces is how many accounts' cycles run at once in an engine: the default of --accounts.
	accountPlaces = 16
	// phaseCycles is how many full cycles each healthy account completes in a phase.
	phaseCycles = 2
	// fleetPatience is how long the fleet may take for what has to come, and editPatience an edit until its call. They
	// are no promises.
	fleetPatience = 10 * time.Minute
	editPatience  = 3 * time.Minute
)

// sick is what becomes of the calls of an account.
type sick string

const (
	throttledAccount sick = "throttled"
	deniedAccount    sick = "denied"
	hangingAccount   sick = "hanging"
)

// fleet is a world with many accounts and several engines.
type fleet struct {
	*harness.World
	proxy    *faultproxy.Proxy
	recorder *recorder // nil: the emulator answers everything
	engines  []*harness.Process
	admin    *pgxpool.Pool
	user     *pgxpool.Pool
	names    []string // of the accounts in aws_account; the last three fall sick
	called   map[string]chan time.Time

	ill     atomic.Pointer[map[string]sick] // by the account's id
	held    atomic.Int64                    // calls that nobody answers
	release chan struct{}
}

// lacking are reads that the emulator does not know, and fails. Here there is nothing of what they list.
var lacking = map[string]string{
	"ecr-public DescribeRepositories": `{"repositories": []}`,
	"codebuild ListSourceCredentials": `{"sourceCredentialsInfos": []}`,
}

// TestFleet: three engines keep many accounts, each in one region with a queue of its own. Edits arrive in each. When
// every call of one account is throttled, of another denied and of a third never answered, the cycles and edits of all
// others go on, nothing of the three is deleted, and their edits arrive when they are well again. What depends on the
// machine is printed.
//
// The emulator answers everything for up to 20 accounts. Of more it answers SQS, all writes, and each other read once,
// for the account that asks first; the others get the same from a recorder.
func TestFleet(t *testing.T) {
	f := newFleet(t)
	f.log("idle, before any account is read")
	f.install()
	f.log("after the first cycle of all")

	begun := f.now()
	watch := time.Now()
	n, most := calls(f.proxy, func() { f.cycle(begun, f.names) })
	t.Logf("quiet: %.0f calls a minute: %s", float64(n)/time.Since(watch).Minutes(), most)
	f.report("quiet", begun)

	healthy := f.names[:len(f.names)-3]
	begun = f.now()
	f.edit("all well", healthy, func() { f.cycle(begun, healthy) })
	f.report("all well", begun)

	deleted := f.deleted()
	f.fall()
	begun = f.now()
	f.edit("three sick", healthy, func() { f.cycle(begun, healthy) })
	if f.held.Load() == 0 {
		t.Error("no call of the hanging account waits for its answer any more")
	}
	f.report("three sick", begun)
	pending := f.PSQL(`SELECT count(DISTINCT account) FROM iasql_audit_log WHERE NOT settled`)
	if pending != "3" {
		t.Errorf("edits of %s accounts wait, not of the three sick ones", pending)
	}
	f.heal()
	f.Becomes(fleetPatience, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if now := f.deleted(); now != deleted {
		t.Errorf("%s records were deleted, and %s before anybody fell sick", now, deleted)
	}
	f.Becomes(fleetPatience, fmt.Sprint(len(f.names)), `SELECT count(*) FROM queue WHERE url IS NOT NULL`)
	f.log("at the end")
}

// newFleet starts the engines, and adds the accounts.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	if *fleetSize < 4 {
		t.Fatalf("-fleet %d: give at least 4, of which three fall sick", *fleetSize)
	}
	w, proxy := world(t)
	f := &fleet{World: w, proxy: proxy, called: map[string]chan time.Time{}, release: make(chan struct{})}
	f.ill.Store(&map[string]sick{})
	if *fleetSize > emulated {
		f.recorder = &recorder{live: "sqs", answers: map[string]faultproxy.Answer{}}
		proxy.Observe(f.recorder.record)
	}
	accounts := []testaws.Account{w.AWS}
	for len(accounts) < *fleetSize {
		accounts = append(accounts, testaws.NewAccount(t))
	}
	f.names = []string{"default"}
	for i, a := range accounts {
		f.called[a.ID] = make(chan time.Time, 1)
		if i > 0 {
			f.names = append(f.names, "a"+a.ID)
		}
	}
	proxy.Set(f.answer)
	t.Cleanup(f.heal) // before the proxy ends, which waits for calls
	for range fleetEngines {
		f.engines = append(f.engines, w.Serve())
	}
	f.admin, f.user = pool(t, w.AdminURL), pool(t, w.UserURL)
	w.PSQL(`SELECT * FROM iasql_install('aws_account')`)
	// Each account says its own id, so that the engine uses the credentials of no other.
	w.PSQL(fmt.Sprintf(`UPDATE aws_account SET account_id = '%s'`, w.AWS.ID))
	var rows []string
	for _, a := range accounts[1:] {
		rows = append(rows, fmt.Sprintf("('a%s', '%[1]s', '%s', '%s')", a.ID, a.AccessKeyID, a.SecretAccessKey))
	}
	w.PSQL(`INSERT INTO aws_account (name, account_id, access_key_id, secret_access_key) VALUES ` +
		strings.Join(rows, ", "))
	w.Becomes(fleetPatience, fmt.Sprint(len(accounts)),
		`SELECT count(DISTINCT account) FROM aws_regions WHERE is_default`)
	return f
}

func pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// install installs the modules, and makes a queue in each account. The first account is read alone, so that a recorder
// knows the answers when the others ask.
func (f *fleet) install() {
	f.Helper()
	names := []string{"aws_sqs", "aws_sns"}
	if *allModules {
		names = nil
		for _, m := range all.Modules(nil) {
			if strings.HasPrefix(m.Name, "aws_") && m.Name != "aws_account" {
				names = append(names, m.Name)
			}
		}
	} else {
		f.Admin(`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'sync_interval'`)
	}
	f.PSQL(`UPDATE aws_regions SET is_enabled = region = 'us-east-1' AND account = 'default'`)
	begun := time.Now()
	f.PSQL(fmt.Sprintf(`SELECT * FROM iasql_install('%s')`, strings.Join(names, "','")))
	f.Logf("%d modules installed, all accounts without regions but one: %s", len(names), took(begun))
	f.PSQL(`UPDATE aws_regions SET is_enabled = true WHERE region = 'us-east-1'`)
	begun = time.Now()
	at := f.now()
	n, _ := calls(f.proxy, func() { f.PSQL(`SELECT iasql_sync_now()`) })
	f.Logf("a full cycle of %d accounts in one region: %d calls, %s", len(f.names), n, took(begun))
	f.report("the first cycle", at)
	f.PSQL(`INSERT INTO queue (account, name) SELECT name, 'edited' FROM aws_account`)
	f.Becomes(fleetPatience, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	f.Becomes(fleetPatience, fmt.Sprint(len(f.names)), `SELECT count(*) FROM queue WHERE url IS NOT NULL`)
	// Nothing has changed for long, and everything was listed a moment ago.
	f.Admin(`UPDATE iasql_internal.listing SET changed = changed - interval '1 day'`)
}

// answer decides what becomes of a call, and tells who waits for an edit of its account.
func (f *fleet) answer(c faultproxy.Call) faultproxy.Fault {
	id := accountOf(c)
	switch (*f.ill.Load())[id] {
	case throttledAccount:
		return faultproxy.Fault{Status: 400, Code: "Throttling", Message: "Rate exceeded"}
	case deniedAccount:
		return new(faultproxy.Liar).Fault(faultproxy.Denied, c)
	case hangingAccount:
		f.held.Add(1)
		defer f.held.Add(-1)
		<-f.release
		return faultproxy.Fault{Cut: true}
	}
	if c.Action == "SetQueueAttributes" {
		select {
		case f.called[id] <- time.Now():
		default: // nobody waits: it is the same edit once more
		}
	}
	if body, ok := lacking[c.Service+" "+c.Action]; ok {
		return faultproxy.Fault{Answer: &faultproxy.Answer{Status: http.StatusOK, Body: []byte(body)}}
	}
	if f.recorder != nil {
		if a, ok := f.recorder.recorded(c); ok {
			return faultproxy.Fault{Answer: &a}
		}
	}
	return faultproxy.Fault{}
}

// fall makes the last three accounts sick, and edits each.
func (f *fleet) fall() {
	f.Helper()
	ill := map[string]sick{}
	for i, s := range []sick{throttledAccount, deniedAccount, hangingAccount} {
		name := f.names[len(f.names)-3+i]
		ill[strings.TrimPrefix(name, "a")] = s
		f.Logf("account %s is %s", name, s)
	}
	f.ill.Store(&ill)
	for _, name := range f.names[len(f.names)-3:] {
		f.PSQL(fmt.Sprintf(`UPDATE queue SET visibility_timeout = 100 WHERE account = '%s'`, name))
	}
	f.Eventually(fleetPatience, "a call to hang", func() bool { return f.held.Load() > 0 })
}

// heal ends all sickness, for good.
func (f *fleet) heal() {
	if old := f.ill.Swap(&map[string]sick{}); len(*old) > 0 {
		close(f.release)
	}
}

// cycle waits until each of the accounts has begun and completed some full cycles since. Meanwhile no engine may have
// given all its places to the accounts that are sick.
func (f *fleet) cycle(since string, accounts []string) {
	f.Helper()
	most := 0
	f.Eventually(fleetPatience, "the cycles of all healthy accounts to go on", func() bool {
		most = max(most, f.taken())
		return f.Admin(fmt.Sprintf(`
			SELECT count(*) FROM (SELECT FROM iasql_cycles
				WHERE kind = 'full' AND started > '%s' AND ended IS NOT NULL AND account = ANY ('{%s}')
				GROUP BY account HAVING count(*) >= %d) AS done`,
			since, strings.Join(accounts, ","), phaseCycles)) == fmt.Sprint(len(accounts))
	})
	f.Logf("the last three accounts had at most %d of %d places of an engine", most, accountPlaces)
	if most >= accountPlaces {
		f.Error("they had all of them")
	}
}

// taken returns how many places of an engine the last three accounts have, of the engine in which they have most.
func (f *fleet) taken() int {
	f.Helper()
	var n int
	err := f.admin.QueryRow(f.Context(), `
		SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM iasql_river.river_job
			WHERE state = 'running' AND queue = 'iasql' AND args ->> 'account' = ANY ($1)
			GROUP BY attempted_by[array_upper(attempted_by, 1)]) AS by_engine`, f.names[len(f.names)-3:]).Scan(&n)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// edit changes the queue of one account after the other, four times a second, while do runs. Each edit has to arrive.
func (f *fleet) edit(what string, accounts []string, do func()) {
	f.Helper()
	stop, times := make(chan struct{}), []time.Duration{}
	var editor sync.WaitGroup
	editor.Go(func() {
		next := time.NewTicker(250 * time.Millisecond)
		defer next.Stop()
		for i := 0; ; i++ {
			name := accounts[i%len(accounts)]
			d, err := f.once(name, 1000+i)
			if err != nil {
				f.Errorf("%s: the edit %d of account %s: %v", what, i, name, err)
				return
			}
			times = append(times, d)
			select {
			case <-stop:
				return
			case <-next.C:
			}
		}
	})
	func() {
		defer editor.Wait()
		defer close(stop)
		do()
	}()
	if f.Failed() {
		f.FailNow()
	}
	slices.Sort(times)
	f.Logf("%s: %d edits, each until its call: p50 %s, p99 %s, the longest %s", what, len(times),
		times[len(times)/2].Round(100*time.Microsecond), times[len(times)*99/100].Round(100*time.Microsecond),
		times[len(times)-1].Round(100*time.Microsecond))
	// What was edited last is confirmed by a further read.
	f.Becomes(fleetPatience, "0", fmt.Sprintf(
		`SELECT count(*) FROM iasql_audit_log WHERE NOT settled AND account = ANY ('{%s}')`,
		strings.Join(accounts, ",")))
}

// once edits an account's queue, and returns the time from before the edit until its call.
func (f *fleet) once(name string, timeout int) (time.Duration, error) {
	id := strings.TrimPrefix(name, "a")
	if name == "default" {
		id = f.AWS.ID
	}
	select {
	case <-f.called[id]: // of an earlier edit, made once more
	default:
	}
	begun := time.Now()
	_, err := f.user.Exec(f.Context(), `UPDATE queue SET visibility_timeout = $2 WHERE account = $1`, name, timeout)
	if err != nil {
		return 0, err
	}
	select {
	case at := <-f.called[id]:
		return at.Sub(begun), nil
	case <-time.After(editPatience):
		return 0, fmt.Errorf("it has not arrived within %s", editPatience)
	}
}

// now returns the server's time.
func (f *fleet) now() string { f.Helper(); return f.Admin(`SELECT clock_timestamp()`) }

// deleted returns how many records have been deleted, by whomever.
func (f *fleet) deleted() string {
	f.Helper()
	return f.Admin(`SELECT count(*) FROM iasql_audit_log WHERE change_type = 'DELETE'`)
}

// report prints how the full cycles since then were shared out among engines and accounts.
func (f *fleet) report(what, since string) {
	f.Helper()
	sickNames := strings.Join(f.names[len(f.names)-3:], ",")
	const window = `
		WITH full_cycles AS (
			SELECT *, ended - started AS took, account = ANY ('{%[2]s}') AS may_fall,
			       started - lag(ended, 1, '%[1]s') OVER (PARTITION BY account ORDER BY id) AS waited
			FROM iasql_cycles WHERE kind = 'full' AND started > '%[1]s')`
	f.Logf("%s: full cycles by engine: %s", what, f.Admin(fmt.Sprintf(window+`
		SELECT string_agg(n::text, ' ' ORDER BY n)
		FROM (SELECT count(*) AS n FROM full_cycles GROUP BY engine) AS by_engine`,
		since, sickNames)))
	for _, group := range []struct{ name, is string }{{"healthy", "NOT may_fall"}, {"last three", "may_fall"}} {
		f.Logf("%s, %s accounts: %s", what, group.name, f.Admin(fmt.Sprintf(window+`
			SELECT format('%%s accounts had cycles, of each %%s to %%s; an account waited for its next: at most %%s s; '
			           || 'a cycle took %%s to %%s s, on average %%s s',
			       count(*), min(n), max(n), round(max(waited), 2), round(min(least), 2), round(max(most), 2),
			       round(avg(mean), 2))
			FROM (SELECT count(*) AS n, extract(epoch FROM max(waited)) AS waited,
			             extract(epoch FROM min(took)) AS least, extract(epoch FROM max(took)) AS most,
			             extract(epoch FROM avg(took)) AS mean
			      FROM full_cycles WHERE `+group.is+` GROUP BY account) AS by_account`, since, sickNames)))
	}
}

// log prints what each engine's memory is now and at most, and how many problems there are.
func (f *fleet) log(when string) {
	f.Helper()
	for i, e := range f.engines {
		f.Logf("%s: engine %d: %s", when, i+1, harness.Resident(f.T, e.PID()))
	}
	f.Logf("%s: problems: %s", when, strings.ReplaceAll(f.PSQL(`
		SELECT count(*), split_part(record, ' ', 1), left(min(message), 160) FROM iasql_problems
		GROUP BY 2 ORDER BY 1 DESC LIMIT 5`), "\n", "; "))
}

func took(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Millisecond) }
