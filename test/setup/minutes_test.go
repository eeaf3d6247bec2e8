package setup

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// TestWrongCredentials: somebody starts with credentials that AWS does not know, and
// gets them right afterwards. Nothing that the first try has left is in the way.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	proxy.Set(func(faultproxy.Call) faultproxy.Fault {
		return faultproxy.Fault{Status: http.StatusForbidden, Code: "InvalidClientTokenId",
			Message: "The security token included in the request is invalid."}
	})
	const install, insert = `SELECT * FROM iasql_install('aws_vpc', 'aws_sqs')`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.77.0.0/16')`
	for _, part := range []string{"InvalidClientTokenId", "correct access_key_id in aws_account"} {
		if said := w.Refused(install); !strings.Contains(said, part) {
			t.Errorf("it does not say %s: %s", part, said)
		}
	}
	if said := w.Refused(insert); !strings.Contains(said, "IA028") || !strings.Contains(said, "iasql_get_errors()") ||
		strings.Contains(said, "fkey") {
		t.Errorf("a riddle: %s", said)
	}
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	if said := w.PSQL(install); !strings.Contains(said, "aws_vpc|vpc|24") {
		t.Errorf("installed again, it imports %s", said)
	}
	w.PSQL(insert, `SELECT iasql_wait_for_all(120)`)
	if errors := w.PSQL(`SELECT * FROM iasql_get_errors()`); errors != "" {
		t.Errorf("of the first try is left: %s", errors)
	}
	if again := w.PSQL(install); again != "" {
		t.Errorf("what is installed is imported again: %s", again)
	}
}

// TestThereAtOnce: what the cloud gives a new object is there when iasql_wait_for returns.
func TestThereAtOnce(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.78.0.0/16')`)
	for i := range 10 {
		got := w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.78.`+string(rune('0'+i))+
			`.0/24' FROM vpc WHERE cidr_block = '10.78.0.0/16'`,
			`SELECT iasql_wait_for('subnet', max(id), 'subnet_id IS NOT NULL', 60) FROM subnet`,
			`SELECT availability_zone, state FROM subnet ORDER BY id DESC LIMIT 1`)
		if lines := strings.Fields(got); !strings.HasPrefix(lines[len(lines)-1], "us-east-1") ||
			!strings.HasSuffix(got, "available") {
			t.Errorf("subnet %d: %s", i, got)
		}
	}
	// Who waits for something else does not wait for that.
	began := stopwatch.Start()
	w.PSQL(`INSERT INTO queue (name) VALUES ('at-once')`,
		`SELECT iasql_wait_for('queue', max(id), $$name = 'at-once'$$, 60) FROM queue`)
	if took := began.Took(); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestForPeople: the views that are made to be looked at fit a terminal.
func TestForPeople(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('wide')`, `SELECT iasql_wait_for_all(60)`)
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.79.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.31.7.0/24' FROM vpc WHERE cidr_block = '10.79.0.0/16'`)
	w.Becomes(time.Minute, "t", `SELECT needs_you FROM iasql_problems WHERE record LIKE 'subnet %'`)
	if newest := w.PSQL(`SELECT call, record, result FROM iasql_calls LIMIT 1`); !strings.HasPrefix(newest, "EC2.CreateSubnet|subnet ") || !strings.HasSuffix(newest, "|failed") {
		t.Errorf("the newest call is %s", newest)
	}
	for _, query := range []string{`SELECT started, call, record, took, result FROM iasql_calls LIMIT 5`,
		`SELECT record, state, needs_you, since FROM iasql_problems`} {
		for line := range strings.Lines(w.PSQL(`\pset format aligned`, query)) {
			if len(strings.TrimRight(line, "\n")) > 100 {
				t.Errorf("%s is wide:\n%s", query, line)
			}
		}
	}
}
