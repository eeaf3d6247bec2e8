package acceptance

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// Bad input gets a clear error that names the thing, and loses nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	before := w.PSQL(`SELECT count(*) FROM vpc`)
	for _, c := range []struct{ statement, says string }{
		{`INSERT INTO vpc (cidr_block) VALUES ('10.0.0.300/16')`,
			`22P02: invalid input syntax for type cidr: "10.0.0.300/16"`},
		{`INSERT INTO vpc (cidr_block) VALUES ('10.0.0.1/16')`, `22P02: invalid cidr value: "10.0.0.1/16"`},
		{`UPDATE vpc SET vpc_id = 'vpc-1'`, `IA001: column vpc_id of vpc (record`},
		{`UPDATE subnet SET id = id + 100000`, `IA005: column id of subnet cannot be changed`},
		{`SELECT iasql_install('aws_vcp')`, `Did you mean 'aws_vpc'?`},
		{`SELECT iasql_install()`, `no module is named`},
		{`SELECT iasql_uninstall('aws_account')`,
			`IA016: module aws_account cannot be uninstalled: aws_vpc depends on it`},
		{`SELECT iasql_wait_for('nothing', 1, 'true')`, `IA006: table nothing is not managed`},
		{`DELETE FROM aws_regions WHERE region = 'eu-west-1'`, `IA003: records of aws_regions cannot be deleted`},
		{`UPDATE iasql_settings SET value = 'soon' WHERE name = 'sync_interval'`,
			`IA007: setting sync_interval cannot be 'soon'`},
	} {
		if got := w.Refused(c.statement); !strings.Contains(got, c.says) {
			t.Errorf("%s\n says %s\n want %s", c.statement, got, c.says)
		}
	}
	if got, err := w.TryPSQL(w.AdminURL, `TRUNCATE vpc CASCADE`); err == nil ||
		!strings.Contains(err.Error(), "IA004") {
		t.Errorf("TRUNCATE: %s %v", got, err)
	}
	if after := w.PSQL(`SELECT count(*) FROM vpc`); after != before {
		t.Errorf("there were %s records and are %s", before, after)
	}
}

// Without an engine, functions that need one fail within five seconds and say
// so; edits wait.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc")
	engine.Stop()
	for _, statement := range []string{`SELECT iasql_install('aws_s3')`, `SELECT iasql_uninstall('aws_vpc')`,
		`SELECT iasql_sync_now()`} {
		begun := stopwatch.Start()
		if got := w.Refused(statement); !strings.Contains(got, "no engine is connected") ||
			!strings.Contains(got, "engine serve") {
			t.Errorf("%s says %s", statement, got)
		}
		if took := begun.Took(); took > 5*time.Second {
			t.Errorf("%s took %s", statement, took)
		}
	}
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
	if got := w.PSQL(`SELECT state FROM iasql_status WHERE state <> 'Present'`); got != "Creating" {
		t.Errorf("the state is %q", got)
	}
	w.Serve()
	w.Settled()
}

// What is wrong with the surroundings is said in one line.
func TestOneLineErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"serve", "--database-url", "postgres://nobody@127.0.0.1:1/none"},
			"the database at 127.0.0.1:1 cannot be reached"},
		{[]string{"migrate", "--database-url", "postgres://nobody@127.0.0.1:1/none"},
			"the database at 127.0.0.1:1 cannot be reached"},
		{[]string{"status", "--database-url", "postgres://nobody@127.0.0.1:1/none"},
			"the database at 127.0.0.1:1 cannot be reached"},
	} {
		out, err := exec.Command(harness.Engine(), c.args...).CombinedOutput()
		if err == nil {
			t.Errorf("%v did not fail", c.args)
		}
		if text := strings.TrimSpace(string(out)); !strings.Contains(text, c.says) || strings.Contains(text, "\n") {
			t.Errorf("%v says %s", c.args, text)
		}
	}
}

// An endpoint that cannot be reached is said in one line, by the function that
// needs it, and soon.
func TestUnreachableEndpoint(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Endpoint = "http://127.0.0.1:1"
	w.Serve()
	begun := stopwatch.Start()
	got := w.Refused(`SELECT * FROM iasql_install('aws_account')`)
	if !strings.Contains(got, "127.0.0.1:1") || !strings.Contains(got, "endpoint") {
		t.Errorf("says %s", got)
	}
	// The cycle that is under way and the installation's own may each pause for up to 2, 4 and
	// 8 seconds between four attempts (aws/retry, ExponentialJitterBackoff).
	if took := begun.Took(); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	message, _, _ := strings.Cut(got, "\n")
	t.Logf("%s (%s)", message, begun.Took())
}
