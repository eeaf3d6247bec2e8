package contract

import (
	"testing"

	"iasql/internal/test/harness"
)

// TestProperties: iasql_properties says where each property is, and what it says is there.
func TestProperties(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_rds", "aws_sqs")
	for query, want := range map[string]string{
		`SELECT table_name, column_name, reason FROM iasql_properties WHERE type = 'AWS::RDS::DBInstance' AND property = 'MonitoringInterval'`: "rds|monitoring_interval|",
		`SELECT table_name, column_name, reason FROM iasql_properties WHERE type = 'AWS::RDS::DBInstance' AND property = 'VPCSecurityGroups'`:  "rds_security_groups||",
		// Of what is installed, every column that is named is there.
		`SELECT count(*) FROM iasql_properties p WHERE to_regclass(p.table_name) IS NOT NULL AND p.column_name IS NOT NULL
			AND NOT EXISTS (SELECT FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.table_name = p.table_name AND c.column_name = p.column_name)`: "0",
		`SELECT count(*) FROM iasql_properties WHERE (table_name IS NULL) = (reason IS NULL)`: "0",
		// It tells where a property would be of modules that are not installed, too.
		`SELECT bool_or(to_regclass(table_name) IS NULL) FROM iasql_properties WHERE table_name IS NOT NULL`: "t",
		`SELECT count(*) > 100 FROM iasql_properties`:                                                        "t",
	} {
		if got := firstLine(w.PSQL(query)); got != want {
			t.Errorf("%s says %s, want %s", query, got, want)
		}
	}
	// What no calls take is refused where a user writes it, in words.
	if said := w.Refused(`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, promotion_tier) VALUES ('x', 'postgres', 'db.t4g.micro', -1)`); said == "" {
		t.Error("a tier below zero is taken")
	}
}
