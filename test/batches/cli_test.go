package batches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// pipeline runs a batch command as a pipeline does, and returns what it prints and the
// code it ends with.
func pipeline(t *testing.T, w *harness.World, args ...string) (out, problem string, code int) {
	t.Helper()
	return command(t, w, append([]string{"batch"}, args...)...)
}

// command runs the engine's binary as a user.
func command(t *testing.T, w *harness.World, args ...string) (out, problem string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, harness.Engine(), args...) // #nosec G204 -- the engine under test
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.UserURL)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("engine %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// One step of a pipeline previews, another commits just that; what fails, fails the
// step, and each outcome has a code of its own.
func TestPipeline(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	ends := func(want int, says string, args ...string) string {
		t.Helper()
		out, problem, code := pipeline(t, w, args...)
		if code != want || !strings.Contains(out+problem, says) {
			t.Errorf("engine batch %s ends with %d instead of %d, or does not say %q:\n%s%s", strings.Join(args, " "),
				code, want, says, out, problem)
		}
		return out
	}
	ends(1, "no batch called shop", "status", "shop")
	s := user(w)
	s.do(`CALL iasql_begin('shop')`, `INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "shop"}')`)

	ends(0, "open", "status")
	var status []struct {
		Name, Phase string
		Records     int
	}
	if err := json.Unmarshal([]byte(ends(0, "", "status", "shop", "--json")), &status); err != nil ||
		len(status) != 1 || status[0].Name != "shop" || status[0].Phase != "open" || status[0].Records != 1 {
		t.Errorf("status: %v %+v", err, status)
	}
	ends(4, "has not ended", "wait", "shop", "--timeout", "0s")
	var plan struct {
		Hash    string
		Changes []struct {
			Action, Table string
			Changes       map[string]any
		}
	}
	if err := json.Unmarshal([]byte(ends(0, "", "preview", "shop", "--json")), &plan); err != nil ||
		len(plan.Changes) != 1 || plan.Changes[0].Action != "create" || plan.Changes[0].Table != "vpc" ||
		plan.Changes[0].Changes["cidr_block"] == nil || plan.Hash == "" {
		t.Errorf("preview: %v %+v", err, plan)
	}
	ends(2, "1 to create, 0 to update", "preview", "shop", "--exit-code")
	s.do(`UPDATE vpc SET enable_dns_hostnames = true WHERE cidr_block = '10.9.0.0/16'`)
	ends(5, "IA023", "commit", "shop", "--preview-hash", plan.Hash)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != "0" {
		t.Errorf("%s calls before the commit", got)
	}
	if err := json.Unmarshal([]byte(ends(0, "", "preview", "shop", "--json")), &plan); err != nil {
		t.Error(err)
	}
	var outcome struct {
		Outcome  string
		Warnings []string
	}
	if err := json.Unmarshal([]byte(ends(0, "", "commit", "shop", "--preview-hash", plan.Hash, "--message",
		"by the pipeline", "--json")), &outcome); err != nil || outcome.Outcome != "committed" ||
		outcome.Warnings == nil || len(outcome.Warnings) != 0 {
		t.Errorf("commit: %v %+v", err, outcome)
	}
	ends(0, "committed", "wait", "shop")
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE vpc_id IS NOT NULL AND enable_dns_hostnames AND cidr_block = '10.9.0.0/16'`); got != "1" {
		t.Errorf("after the commit: %s", got)
	}

	const wrong = `INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, block::cidr, '{"of": "pipeline"}' FROM vpc, (VALUES ('10.9.1.0/24'), ('192.168.1.0/24')) b (block) WHERE cidr_block = '10.9.0.0/16'`
	user(w).do(`CALL iasql_begin('wrong')`, wrong)
	ends(1, "InvalidSubnet.Range", "commit", "wrong")
	ends(1, "rolled back", "wait", "wrong")
	user(w).do(`CALL iasql_begin('half')`, wrong)
	ends(3, "InvalidSubnet.Range", "commit", "half", "--on-error", "keep")
	user(w).do(`CALL iasql_begin('dropped')`, `INSERT INTO vpc (cidr_block) VALUES ('10.10.0.0/16')`)
	ends(0, "rolled back", "rollback", "dropped")
	if got := w.PSQL(`SELECT count(*) FROM subnet WHERE tags ->> 'of' = 'pipeline' AND subnet_id IS NOT NULL`,
		`SELECT count(*) FROM vpc WHERE cidr_block = '10.10.0.0/16'`); got != "1\n0" {
		t.Errorf("in the end: %s", got)
	}

	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	user(w).do(`CALL iasql_begin('approved')`,
		`UPDATE vpc SET enable_dns_hostnames = false WHERE cidr_block = '10.9.0.0/16'`)
	ends(5, "0 of 1 approvals", "commit", "approved")
}
