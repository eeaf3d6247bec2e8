package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	report "iasql/internal/doctor"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// ended is a command that has ended.
type ended struct {
	code        int
	out, errors string
}

// run runs engine doctor in the world's account, with what else there is in its
// environment.
func run(w *harness.World, env []string, args ...string) ended {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), harness.Engine(), append([]string{"doctor"}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "AWS_") || strings.HasPrefix(kv, "DATABASE_URL=")
	})
	cmd.Env = append(append(cmd.Env, w.AWS.Env()...), "AWS_ENDPOINT_URL="+w.Endpoint)
	cmd.Env = append(cmd.Env, env...)
	var out, failures bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failures
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), failures.String()}
}

// Somebody who has credentials and no database gets a report, and 0.
func TestAccountAlone(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	got := run(w, nil, "--regions", "us-east-1", "--modules", "aws_sqs,aws_vpc")
	for _, part := range []string{"skipped  connection: no --database-url",
		"ok       credentials: from EnvConfigCredentials", "as user", "ok       aws_vpc: readable: ",
		"Go on: no failures"} {
		if !strings.Contains(got.out, part) {
			t.Errorf("it does not say %q", part)
		}
	}
	if got.code != 0 || t.Failed() {
		t.Errorf("ends with %d:\n%s\n%s", got.code, got.out, got.errors)
	}
	// Who the account is, is for the person at the terminal, not for the report.
	if !strings.Contains(got.errors, "doctor: logged in as arn:aws:") || strings.Contains(got.out, w.AWS.ID) ||
		strings.Contains(got.out, w.AWS.AccessKeyID) {
		t.Errorf("progress:\n%s\nreport:\n%s", got.errors, got.out)
	}
	if got := run(w, nil, "--only", "database"); got.code != 1 ||
		!strings.Contains(got.errors, "missing flag: --database-url") {
		t.Errorf("no database, and only that: %+v", got)
	}
}

// What must be mended makes it end with 1. The report is JSON all the same, with
// the members that docs/doctor.md lists.
func TestFailureAsJSON(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "ListQueues" {
			return faultproxy.Fault{Status: 403, Code: "AccessDeniedException", Message: "no"}
		}
		return faultproxy.Fault{}
	})
	w.Endpoint = proxy.URL
	got := run(w, []string{"DATABASE_URL=" + w.AdminURL}, "--regions", "us-east-1", "--modules", "aws_sqs", "--json")
	var r report.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	if got.code != 1 || r.GoOn || r.Failures < 2 || !strings.Contains(got.errors, "Mend first: ") {
		t.Errorf("ends with %d: %s\n%s", got.code, got.out, got.errors)
	}
	if c := r.Check("database.login"); c == nil || c.Status != report.Failure {
		t.Errorf("the superuser's login: %+v", c)
	}
	if c := r.Check("module.aws_sqs"); c == nil || c.Status != report.Failure ||
		!strings.Contains(strings.Join(c.Details, "\n"), "sqs:ListQueues lacks") {
		t.Errorf("the denied module: %+v", c)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(got.out), &members); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/doctor.md does not list the member %s", name)
		}
	}
}

// The credentials of an account of the table are used, if it is named.
func TestAccountOfTheTable(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"})
	w.PSQL(`UPDATE aws_account SET access_key_id = '` + w.AWS.AccessKeyID + `', secret_access_key = '` +
		w.AWS.SecretAccessKey + `'`)
	env := []string{"DATABASE_URL=" + w.EngineURL, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}
	got := run(w, env, "--account", "default", "--regions", "us-east-1", "--modules", "aws_sqs")
	for _, part := range []string{"ok       credentials: from StaticCredentials",
		"ok       login: a plain member of iasql_engine", "ok       aws_sqs: readable"} {
		if !strings.Contains(got.out, part) {
			t.Errorf("it does not say %q:\n%s\n%s", part, got.out, got.errors)
		}
	}
	if got := run(w, env, "--account", "nobody"); got.code != 1 || !strings.Contains(got.errors, "nobody") {
		t.Errorf("an account that is not there: %+v", got)
	}
}

// Every check that a report has is described.
func TestChecksAreDescribed(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	got := run(w, []string{"DATABASE_URL=" + w.AdminURL}, "--regions", "us-east-1", "--modules", "aws_sqs", "--json")
	var r report.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	named := regexp.MustCompile(`^(module|objects)\..*`)
	for _, c := range r.Checks {
		id := named.ReplaceAllString(c.ID, "$1.…")
		if !strings.Contains(string(page), "| `"+id+"` |") {
			t.Errorf("docs/doctor.md does not describe the check %s", id)
		}
	}
}
