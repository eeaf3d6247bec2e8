package adversary

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestIdentities: which of the engine's host's identities an account may have is
// the administrators' to say.
func TestIdentities(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.PSQL(`UPDATE aws_regions SET is_enabled = false`)
	w.PSQL(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('own', 'AKIAIOSFODNN7EXAMPLE', 'key')`)
	const role = `arn:aws:iam::123456789012:role/`
	for _, statement := range []string{
		`INSERT INTO aws_account (name, profile) VALUES ('a', 'admin')`,
		`INSERT INTO aws_account (name, role_arn) VALUES ('a', '` + role + `admin')`,
		`INSERT INTO aws_account (name, role_arn, access_key_id, secret_access_key) VALUES ('a', '` + role +
			`admin', '', '')`,
		`INSERT INTO aws_account (name) VALUES ('a')`,
		`INSERT INTO aws_account (name, access_key_id) VALUES ('a', '')`,
		`INSERT INTO aws_account (name, profile) VALUES ('own', 'admin') ON CONFLICT (name) DO UPDATE SET profile = EXCLUDED.profile`,
		`UPDATE aws_account SET profile = 'admin' WHERE name = 'own'`, `UPDATE aws_account SET role_arn = '` + role +
			`admin' WHERE name = 'own'`,
		`UPDATE aws_account SET access_key_id = NULL, secret_access_key = NULL WHERE name = 'own'`,
		`UPDATE aws_account SET access_key_id = '' WHERE name = 'own'`,
		`UPDATE aws_account SET profile = 'admin' WHERE name = 'default'`,
		`INSERT INTO aws_identity_allowed (profile) VALUES ('admin')`,
		`UPDATE aws_identity_allowed SET profile = 'admin'`, `DELETE FROM aws_identity_allowed`,
	} {
		if got := w.Refused(statement); !strings.Contains(got, "42501") {
			t.Errorf("%s: %s", statement, got)
		}
	}
	team := w.Login("team", "iasql_user")
	who, err := w.TryPSQL(team, `SELECT current_user`)
	if err != nil {
		t.Fatal(err)
	}
	w.Admin(`INSERT INTO aws_identity_allowed (role_arn, usable_by) VALUES ('`+role+`team-a_*', '`+who+`')`,
		`INSERT INTO aws_identity_allowed (profile) VALUES ('shared')`,
		`INSERT INTO aws_identity_allowed (environment, usable_by) VALUES (true, '`+who+`')`)
	for _, statement := range []string{
		`INSERT INTO aws_account (name, role_arn) VALUES ('b', '` + role + `team-a_1')`,
		`INSERT INTO aws_account (name, profile) VALUES ('c', 'shared')`, `INSERT INTO aws_account (name) VALUES ('d')`,
		`UPDATE aws_account SET external_id = 'x' WHERE name = 'b'`,
	} {
		if out, err := w.TryPSQL(team, statement); err != nil {
			t.Errorf("%s: %s %v", statement, out, err)
		}
	}
	for _, statement := range []string{
		`INSERT INTO aws_account (name, role_arn) VALUES ('e', '` + role + `team-aX1')`,
		`INSERT INTO aws_account (name, role_arn) VALUES ('e', 'arn:aws:iam::999999999999:role/team-a_1')`,
		`INSERT INTO aws_account (name, profile) VALUES ('e', 'share')`,
	} {
		if out, err := w.TryPSQL(team, statement); err == nil {
			t.Errorf("%s: %s", statement, out)
		}
	}
	if got := w.Refused(`INSERT INTO aws_account (name, role_arn) VALUES ('e', '` + role + `team-a_1')`); !strings.Contains(got, "42501") {
		t.Errorf("what another team may use: %s", got)
	}
}
