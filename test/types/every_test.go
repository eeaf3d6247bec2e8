package types

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/cloudcontrol"
)

// every says that every published type is installed and taken through its life, which takes
// minutes.
var (
	every   = flag.Bool("every-type", false, "install every published resource type")
	livesOf = flag.String("lives-of", "",
		"take these published resource types through their lives, separated by commas")
)

// TestEveryType installs every published type that can be, and measures what that costs, within
// bounds: the installation, the engine's memory, an edit's way to its call, and a quiet minute.
func TestEveryType(t *testing.T) {
	if !*every {
		t.Skip("takes minutes: make types-sweep, which sets -every-type")
	}
	all := cloudcontrol.AWS(t, "../..")
	folder, err := schemas.ReadFile("schemas/sender.json")
	if err != nil {
		t.Fatal(err)
	}
	all[sender] = folder
	w := start(t, cloudcontrol.Options{Schemas: all}, sender)
	before := w.edits(t)
	t.Logf("an edit to its call, of one type: p50 %s; the engine has %s", before, w.memory())

	began := time.Now()
	w.PSQL(`SELECT * FROM iasql_install('AWS::SES')`)
	within(t, fmt.Sprintf("one service (%s types)",
		w.PSQL(`SELECT count(*) FROM iasql_modules_installed() WHERE module_name LIKE 'AWS::SES::%'`)),
		time.Since(began), 3*time.Second)
	began = time.Now()
	out, err := w.TryPSQL(w.UserURL, `SELECT count(*) FROM iasql_install('AWS::*')`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	within(t, fmt.Sprintf("every type (%s)",
		w.PSQL(`SELECT count(*) FROM iasql_modules_installed() WHERE module_name LIKE '%::%'`)), time.Since(began),
		5*time.Minute)
	within(t, "an edit to its call, of every type: p50", w.edits(t), before*6/5)
	began = time.Now()
	w.is("example_mail_sender", `SELECT table_name FROM iasql_status WHERE table_name LIKE 'example%'`)
	within(t, "iasql_status", time.Since(began), time.Second)
	calls := total(w.fake.AllCalls())
	began = time.Now()
	w.PSQL(`SELECT iasql_sync_now()`)
	t.Logf("a full cycle that is waited for: %s, %d calls", time.Since(began).Round(time.Millisecond),
		total(w.fake.AllCalls())-calls)
	calls = total(w.fake.AllCalls())
	time.Sleep(time.Minute)
	t.Logf("a quiet minute: %d calls", total(w.fake.AllCalls())-calls)
	kilobytes, _, _ := strings.Cut(w.memory(), " ")
	if n, err := strconv.Atoi(kilobytes); err != nil || n > 250*1024 {
		t.Errorf("the engine has %s (%v), of 250 MB", w.memory(), err)
	}
	t.Logf("the engine has %s", w.memory())
}

// within fails if something took longer than it may.
func within(t *testing.T, what string, took, atMost time.Duration) {
	t.Helper()
	took = took.Round(100 * time.Microsecond)
	if t.Logf("%s: %s", what, took); took > atMost {
		t.Errorf("%s: %s, longer than %s", what, took, atMost)
	}
}

func total(calls map[string]int) (n int) {
	for _, c := range calls {
		n += c
	}
	return n
}

// edits returns the median time from the commit of an edit to the update that it makes.
func (w *world) edits(t *testing.T) time.Duration {
	t.Helper()
	if w.PSQL(`SELECT count(*) FROM example_mail_sender`) == "0" {
		w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('edits')`)
		w.Settled()
	}
	var took []time.Duration
	for i := range 61 {
		calls := w.fake.Calls("UpdateResource", sender)
		w.PSQL(fmt.Sprintf(`UPDATE example_mail_sender SET display_name = 'edit %d %d'`, i, time.Now().UnixNano()))
		began := time.Now()
		for w.fake.Calls("UpdateResource", sender) == calls && time.Since(began) < 20*time.Second {
			time.Sleep(200 * time.Microsecond)
		}
		took = append(took, time.Since(began))
		w.Becomes(20*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}
	slices.Sort(took)
	return took[len(took)/2].Round(100 * time.Microsecond)
}

// memory returns the engine's resident memory.
func (w *world) memory() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.engine.PID()))
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
