package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// TestOrganizations: the accounts of an organization are added by rule, each once, and none is taken away.
func TestOrganizations(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1"}, "aws_organizations")
	var lock sync.Mutex
	paths := map[string]string{}
	// moto has neither State, which took Status's place in September 2026, nor Paths (Organizations API Reference, Account).
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "ListAccounts" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			var answer map[string][]map[string]any
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Errorf("%v: %s", err, body)
				return body
			}
			lock.Lock()
			defer lock.Unlock()
			for _, account := range answer["Accounts"] {
				account["State"] = account["Status"]
				delete(account, "Status")
				account["Paths"] = []string{"o-exampleorgid/r-ab12/" + paths[account["Id"].(string)] + account["Id"].(string) + "/"}
			}
			body, _ = json.Marshal(answer)
			return body
		}}
	})
	create := func(name, unit string) string {
		t.Helper()
		made := w.CLI("organizations", "create-account", "--account-name", name, "--email", "root@example.com")
		id := made["CreateAccountStatus"].(map[string]any)["AccountId"].(string)
		lock.Lock()
		paths[id] = unit
		lock.Unlock()
		return id
	}
	managed := `SELECT string_agg(name, ' ' ORDER BY name) FROM aws_account`
	is := func(want string) {
		t.Helper()
		if got := w.PSQL(managed); got != want {
			t.Errorf("aws_account has %s, not %s", got, want)
		}
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM organization_account`); got != "0" {
		t.Errorf("without an organization it has %s accounts", got)
	}
	w.CLI("organizations", "create-organization", "--feature-set", "ALL")
	const prod = "ou-ab12-11111111/"
	shop, again, test := create("shop", prod), create("shop", prod+"ou-ab12-22222222/"), create("test", "ou-ab12-33333333/")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*), count(DISTINCT path) FROM organization_account WHERE state = 'ACTIVE'`); got != "4|4" {
		t.Fatalf("the organization has %s accounts", got)
	}
	is("default")

	const rule = `INSERT INTO aws_organization_rule (organizational_unit, account_name, role_name, external_id, prefix) VALUES `
	for _, statement := range []string{rule + `(NULL, '*', 'admin', NULL, '')`, `UPDATE aws_organization_rule SET is_enabled = true`,
		`DELETE FROM aws_organization_rule`} {
		if got := w.Refused(statement); !strings.Contains(got, "42501") {
			t.Errorf("%s: %s", statement, got)
		}
	}
	for _, wrong := range []string{`('prod', '*', 'admin', NULL, '')`, `(NULL, '*', 'arn:aws:iam::1:role/x', NULL, '')`,
		`(NULL, '', 'admin', NULL, '')`, `(NULL, '*', 'admin', ' ', '')`} {
		if out, err := w.TryPSQL(w.AdminURL, rule+wrong); err == nil || !strings.Contains(err.Error(), "23514") {
			t.Errorf("%s: %s %v", wrong, out, err)
		}
	}
	w.Admin(rule + `('ou-ab12-11111111', 'sh*', '/iasql/engine', 'secret-id', 'org-')`)
	is(fmt.Sprintf("default org-shop-%s org-shop-%s", min(shop, again), max(shop, again)))
	if got := w.PSQL(fmt.Sprintf(`SELECT role_arn, external_id, is_default FROM aws_account WHERE account_id = '%s'`,
		shop)); got != "arn:aws:iam::"+shop+":role/iasql/engine|secret-id|f" {
		t.Errorf("the engine is let in by %s", got)
	}
	w.Becomes(time.Minute, "2", `SELECT count(DISTINCT account) FROM aws_regions WHERE account LIKE 'org-%'`)

	// One that comes later is added as soon as it is seen, one that is called otherwise is not.
	third := create("shed", prod)
	create("web", prod)
	w.PSQL(`SELECT iasql_sync_now()`)
	is(fmt.Sprintf("default org-shed org-shop-%s org-shop-%s", min(shop, again), max(shop, again)))

	// What is removed does not come back by itself.
	w.PSQL(`DELETE FROM aws_account WHERE name = 'org-shed'`)
	fourth := create("shore", prod)
	w.PSQL(`SELECT iasql_sync_now()`)
	is(fmt.Sprintf("default org-shop-%s org-shop-%s org-shore", min(shop, again), max(shop, again)))
	w.Admin(fmt.Sprintf(`UPDATE aws_organization_rule SET except_accounts = '{%s}'`, fourth))
	is(fmt.Sprintf("default org-shed org-shop-%s org-shop-%s org-shore", min(shop, again), max(shop, again)))

	// One that leaves the organization, or whose rule goes, stays. One that is managed already is left as it is.
	w.CLI("organizations", "remove-account-from-organization", "--account-id", third)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Becomes(time.Minute, "0", fmt.Sprintf(`SELECT count(*) FROM organization_account WHERE aws_account_id = '%s'`, third))
	w.Admin(`DELETE FROM aws_organization_rule`)
	is(fmt.Sprintf("default org-shed org-shop-%s org-shop-%s org-shore", min(shop, again), max(shop, again)))
	w.Admin(rule + `(NULL, 'test', 'one', NULL, ''), (NULL, '*', 'two', NULL, 'all-')`)
	if got := w.PSQL(`SELECT string_agg(name || ' ' || split_part(role_arn, '/', 2), ', ' ORDER BY name) FROM aws_account
		WHERE name NOT LIKE 'org-%' AND NOT is_default`); got != "all-web two, test one" {
		t.Errorf("rules add %s", got)
	}
	if got := w.PSQL(fmt.Sprintf(`SELECT count(*) FROM aws_account WHERE account_id = '%s'`, test)); got != "1" {
		t.Errorf("it was added %s times", got)
	}
}
