package adversary

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// recipe returns the statements of docs/permissions.md that have that name, for
// logins of the test's own.
func recipe(t *testing.T, name string, logins ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sql recipe=" + name + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("docs/permissions.md has no recipe %s", name)
	}
	sql := string(block[1])
	for i, old := range []string{"'alice'", "'bob'"} {
		if i < len(logins) {
			sql = strings.ReplaceAll(sql, old, "'"+logins[i]+"'")
		}
	}
	return sql
}

// people makes two users and returns their URLs and names.
func people(w *harness.World) (alice, bob, aliceName, bobName string) {
	w.Helper()
	alice, bob = w.Login("alice", "iasql_user"), w.Login("bob", "iasql_user")
	name := func(url string) string {
		out, err := w.TryPSQL(url, `SELECT current_user`)
		if err != nil {
			w.Fatal(err)
		}
		return out
	}
	return alice, bob, name(alice), name(bob)
}

// expect runs a statement and looks for its output, or for an error that has want
// in it; "" stands for whatever is no error.
func expect(w *harness.World, url, statement, want string) {
	w.Helper()
	out, err := w.TryPSQL(url, statement)
	if err == nil && want == "" {
		return
	}
	if err != nil {
		out = err.Error()
	}
	if out != want && !(err != nil && want != "" && strings.Contains(out, want)) {
		w.Errorf("%s: %s, want %s", statement, out, want)
	}
}

func TestRecipeTag(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	alice, bob, a, b := people(w)
	w.Admin(recipe(t, "tag", a, b))
	expect(w, alice, `INSERT INTO queue (name, tags) VALUES ('w', '{"team": "web"}')`, "")
	expect(w, alice, `INSERT INTO queue (name, tags) VALUES ('x', '{"team": "data"}')`, "42501")
	expect(w, alice, `INSERT INTO queue (name) VALUES ('x')`, "42501")
	expect(w, alice, `UPDATE queue SET tags = '{"team": "data"}'`, "42501")
	expect(w, bob, `SELECT count(*) FROM queue`, "0")
	expect(w, bob, `SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue'`, "0")
	expect(w, alice, `SELECT iasql_wait_for_all(30)`, "t")
	expect(w, alice, `SELECT count(*) FROM iasql_operations`, "1")
	expect(w, bob, `SELECT count(*) FROM iasql_operations`, "0")
	expect(w, bob, `DELETE FROM queue`, "")
	expect(w, alice, `SELECT count(*) FROM queue WHERE url IS NOT NULL`, "1")
}

func TestRecipeAccount(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	alice, bob, a, b := people(w)
	w.Admin(recipe(t, "account", a, b),
		`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('web', 'AKIAIOSFODNN7EXAMPLE', 'w'), ('data', 'AKIAIOSFODNN7EXAMPLD', 'd')`)
	w.Eventually(quickly, "the accounts' regions are known", func() bool {
		return w.Admin(`SELECT count(DISTINCT account) FROM aws_regions`) == "3"
	})
	w.Admin(`UPDATE aws_regions SET is_enabled = region = 'us-east-1'`)
	expect(w, alice, `INSERT INTO queue (account, name) VALUES ('web', 'w')`, "")
	expect(w, alice, `INSERT INTO queue (account, name) VALUES ('data', 'w')`, "42501")
	expect(w, alice, `SELECT string_agg(name, ' ') FROM aws_account`, "web")
	expect(w, bob, `SELECT string_agg(DISTINCT account, ' ') FROM aws_regions`, "data")
	w.Eventually(quickly, "cycles of both accounts", func() bool {
		return w.Admin(`SELECT count(DISTINCT account) FROM iasql_cycles WHERE account <> 'default' AND ended IS NOT NULL`) == "2"
	})
	expect(w, alice, `SELECT string_agg(DISTINCT account, ' ') FROM iasql_cycles`, "web")
	expect(w, bob, `SELECT string_agg(DISTINCT account, ' ') FROM iasql_audit_log WHERE table_name IS NOT NULL`, "data")
	expect(w, bob, `SELECT count(*) FROM iasql_status WHERE account <> 'data'`, "0")
	expect(w, bob, `SELECT count(*) FROM iasql_engines() WHERE doing LIKE '%web%' OR doing LIKE '%default%'`, "0")
}

func TestRecipeRegion(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "eu-west-1"}, "aws_sqs")
	alice, _, _, _ := people(w)
	w.Admin(`INSERT INTO queue (name) VALUES ('there')`)
	w.Admin(recipe(t, "region"))
	expect(w, alice, `INSERT INTO queue (name, region) VALUES ('w', 'us-east-1')`, "42501")
	expect(w, alice, `INSERT INTO queue (name, region) VALUES ('w', 'eu-west-1')`, "")
	expect(w, alice, `UPDATE queue SET delay_seconds = 3`, "")
	expect(w, alice, `SELECT string_agg(name, ' ') FROM queue WHERE delay_seconds = 3`, "w")
	expect(w, alice, `SELECT count(*) FROM queue`, "2")
	there := w.Admin(`SELECT id FROM queue WHERE name = 'there'`)
	expect(w, alice, `SELECT iasql_retry('queue', `+there+`)`, "42501")
}

func TestRecipeIdentity(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.PSQL(`UPDATE aws_regions SET is_enabled = false`)
	alice, bob, a, b := people(w)
	w.Admin(recipe(t, "identity", a, b))
	expect(w, alice, `INSERT INTO aws_account (name, role_arn) VALUES ('a', 'arn:aws:iam::123456789012:role/web-1')`,
		"")
	expect(w, bob, `INSERT INTO aws_account (name, role_arn) VALUES ('b', 'arn:aws:iam::123456789012:role/web-1')`,
		"42501")
	expect(w, bob, `INSERT INTO aws_account (name, profile) VALUES ('b', 'sandbox')`, "")
}
