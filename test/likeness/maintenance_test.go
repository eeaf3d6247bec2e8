package likeness

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// AWS installs a minor version and lets storage grow (Amazon RDS User Guide, "Automatically
// upgrading the minor engine version" and "Managing capacity automatically with Amazon RDS
// storage autoscaling"). There is no way back: ENFORCE takes it over instead of asking for
// the old ones for ever, and a user's own change is pushed (finding B17).
func TestMaintenance(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.DBInstances{Creating: time.Second, Deleting: time.Second, Endpoint: endpoint}}
	}, "aws_rds")
	w.PSQL(strings.NewReplacer("skip_final_snapshot)", "engine_version)", "true)", "'16.4')").Replace(database))
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	w.CLI("rds", "modify-db-instance", "--db-instance-identifier", "shop", "--engine-version", "16.6",
		"--allocated-storage", "26", "--apply-immediately")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Becomes(20*time.Second, "16.6|26", `SELECT engine_version, allocated_storage FROM rds`)
	w.Settled()
	if n := l.Proxy.Count("ModifyDBInstance"); n != 0 {
		t.Errorf("ENFORCE asked %d times for what there is no way back to", n)
	}
	w.PSQL(`UPDATE rds SET allocated_storage = 40`)
	w.Settled()
	if got := w.CLI("rds", "describe-db-instances", "--query", "DBInstances[0].{storage:AllocatedStorage}")["storage"]; got != float64(40) {
		t.Errorf("a user's change arrived as %v", got)
	}
}

// A key that is fixed when an object is made is not given by an alias, from which AWS's
// answer could not be told (finding B17).
func TestKeysByAlias(t *testing.T) {
	t.Parallel()
	w, _ := start(t, func(string) []likeness.Rule { return nil }, "aws_ec2", "aws_ecr")
	for column, insert := range map[string]string{
		"kms_key_id of general_purpose_volume": `INSERT INTO general_purpose_volume (availability_zone, volume_type, size, encrypted, kms_key_id) VALUES ('us-east-1a', 'gp3', 8, true, 'alias/mine')`,
		"kms_key of repository":                `INSERT INTO repository (repository_name, encryption_type, kms_key) VALUES ('mine', 'KMS', 'arn:aws:kms:us-east-1:123456789012:alias/mine')`,
	} {
		if said := w.Refused(insert); !strings.Contains(said, "column "+column+" cannot be") ||
			!strings.Contains(said, "Not an alias") {
			t.Errorf("%s: %s", insert, said)
		}
	}
}
