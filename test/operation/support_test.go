package operation

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// support runs engine support-bundle without a terminal, and returns what it prints.
func support(w *harness.World, database string, args ...string) (string, error) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), harness.Engine(), append([]string{"support-bundle"}, args...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+database)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// opened returns the files of a bundle.
func opened(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	keep := func(name string, from io.Reader, err error) {
		text, failed := io.ReadAll(from)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		files[strings.TrimPrefix(name, "iasql-support/")] = string(text)
	}
	if strings.HasSuffix(path, ".zip") {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.File {
			from, err := file.Open()
			keep(file.Name, from, err)
		}
		return files
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		keep(header.Name, archive, nil)
	}
}

// TestSupportBundle: everything is in it but what is nobody's business, also where the engine is dead.
func TestSupportBundle(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_secrets_manager")
	// What must not be in it: a password, a secret, keys, names of people, of objects, of hosts and of accounts.
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('zebrafish-orders', '{"Owner": "Quagmire77", "cost": "xylophone"}')`,
		`INSERT INTO secret (name, value) VALUES ('vault-of-wonders', 'Tr0ub4dor-and-3')`)
	w.Settled()
	w.PSQL(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('zanzibar', 'AKIAIOSFODNN7EXAMPLE', 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY')`)
	login, err := url.Parse(w.Login("grandmaster", "iasql_engine"))
	if err != nil {
		t.Fatal(err)
	}
	w.Admin(`ALTER ROLE ` + login.User.Username() + ` PASSWORD 'hunter2000'`)
	login.User = url.UserPassword(login.User.Username(), "hunter2000")
	w.PSQL(`CALL iasql_begin('bonanza')`, `UPDATE queue SET delay_seconds = 4`)
	engine.Kill()
	// Errors have in them what the cloud says.
	w.Admin(`INSERT INTO iasql_internal.record_state (table_name, record_id, account, region, state, review, message)
			SELECT 'queue', id, 'default', 'us-east-1', 'UpdatingFailed', true, 'operation error SQS: SetQueueAttributes, InvalidAttributeValue: The tag Quagmire77 of zebrafish-orders is refused for AKIAIOSFODNN7EXAMPLE, password=Tr0ub4dor-and-3, "xylophone", arn:aws:iam::123456789012:role/zanzibar' FROM queue`,
		`UPDATE iasql_cycles SET message = 'account 123456789012 of grandmaster: cannot be read: xylophone' WHERE id = (SELECT max(id) FROM iasql_cycles)`,
		`INSERT INTO iasql_operations (cycle_id, account, region, table_name, record_id, kind, service, action, result, error, ended)
			SELECT max(id), 'zanzibar', 'us-east-1', 'queue', 1, 'update', 'SQS', 'SetQueueAttributes', 'failed', 'operation error SQS: SetQueueAttributes, AccessDenied: Quagmire77 may not', now() FROM iasql_cycles`)
	var host string
	if host, err = os.Hostname(); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	path := filepath.Join(dir, "bundle.tar.gz")
	out, err := support(w, login.String(), "--output", path)
	if err == nil || !strings.Contains(out, "no terminal") || !strings.Contains(out, "locks.csv") {
		t.Errorf("without a terminal: %v\n%s", err, out)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was written without a word")
	}
	if out, err = support(w, login.String(), "--output", path, "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := opened(t, path)
	for _, name := range []string{"about.txt", "versions.csv", "settings.csv", "server.csv", "modules.csv", "modes.csv",
		"worlds.csv", "states.csv", "errors.csv", "cycles.csv", "operations.csv", "failures.csv", "listings.csv",
		"sources.csv", "engines.csv", "jobs.csv", "batches.csv", "changes.csv", "conflicts.csv", "guard.csv",
		"sessions.csv", "locks.csv", "sizes.csv", "migrations.csv", "records.csv", "metrics.txt", "engine.txt",
		"doctor.txt"} {
		if files[name] == "" || strings.Contains(files[name], "could not be read") {
			t.Errorf("%s: %q", name, files[name])
		}
	}
	for name, text := range files {
		for _, secret := range []string{"Quagmire77", "xylophone", "zebrafish", "vault-of-wonders", "Tr0ub4dor", "AKIA",
			"wJalr", "zanzibar", "grandmaster", "hunter2000", "bonanza", "123456789012", w.AWS.ID, host} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s:\n%s", name, secret, text)
			}
		}
	}
	for name, wants := range map[string]string{
		"errors.csv": "queue,1,\"UpdatingFailed: operation error SQS: SetQueueAttributes, InvalidAttributeValue: " +
			"The tag … of … is refused for",
		"states.csv":   "queue,UpdatingFailed,,true,1",
		"records.csv":  "queue,1",
		"failures.csv": "SQS,SetQueueAttributes,queue",
		"versions.csv": "PostgreSQL",
		"metrics.txt":  `iasql_records_needing_review 1`,
		"worlds.csv":   "account-",
		"batches.csv":  "role-",
		"doctor.txt":   "database",
	} {
		if !strings.Contains(files[name], wants) {
			t.Errorf("%s has no %q:\n%s", name, wants, files[name])
		}
	}
	// One part, and the other form of file; a name is never used twice.
	if out, err := support(w, login.String(), "--show", "records"); err != nil || out != files["records.csv"] {
		t.Errorf("--show: %v\n%s", err, out)
	}
	if out, err := support(w, login.String(), "--show", "everything"); err == nil ||
		!strings.Contains(out, "there are about, versions") {
		t.Errorf("a part that is not there: %v\n%s", err, out)
	}
	if out, err := support(w, login.String(), "--output", path, "--yes"); err == nil ||
		!strings.Contains(out, "is there already") {
		t.Errorf("a file that is there: %v\n%s", err, out)
	}
	zipped := filepath.Join(dir, "bundle.zip")
	if out, err := support(w, login.String(), "--output", zipped, "--yes"); err != nil ||
		len(opened(t, zipped)) != len(files) {
		t.Errorf("a zip: %v\n%s", err, out)
	}
	// What a running engine tells of itself, if somebody says where.
	served := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(to, `iasql_cycles_total{account="zanzibar",kind="full"} 7`)
	}))
	defer served.Close()
	if out, err := support(w, login.String(), "--metrics", served.URL, "--show", "process"); err != nil ||
		!strings.HasPrefix(out, `iasql_cycles_total{account="account-`) || !strings.HasSuffix(out, `",kind="full"} 7`+"\n") {
		t.Errorf("--metrics: %v\n%s", err, out)
	}
	// What cannot be read is in it as its error: a table that is gone, and a database that is away.
	w.Admin(`ALTER TABLE iasql_internal.garbage RENAME TO lost`)
	path = filepath.Join(dir, "broken.tar.gz")
	if out, err := support(w, login.String(), "--output", path, "--yes"); err != nil ||
		!strings.Contains(out, "could not be read") {
		t.Errorf("with a table that is gone: %v\n%s", err, out)
	}
	w.Admin(`ALTER TABLE iasql_internal.lost RENAME TO garbage`)
	if broken := opened(t, path); !strings.Contains(broken["states.csv"], "could not be read") ||
		broken["cycles.csv"] != files["cycles.csv"] {
		t.Errorf("one part fails: %s", broken["states.csv"])
	}
	login.Host, path = "127.0.0.1:1", filepath.Join(dir, "away.tar.gz")
	if out, err := support(w, login.String(), "--output", path, "--yes"); err != nil {
		t.Errorf("a database that is away: %v\n%s", err, out)
	}
	for name, text := range opened(t, path) {
		if strings.Contains(text, "hunter2000") || strings.Contains(text, "grandmaster") {
			t.Errorf("%s has the login: %s", name, text)
		}
	}
}
