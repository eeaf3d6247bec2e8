package aws_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/modules/awss3"
	"iasql/internal/modules/awssqs"
	"iasql/internal/modules/awsvpc"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, install) }

func install(ctx context.Context, url string) error {
	c := aws.New(aws.Options{})
	registry, err := modules.NewRegistry(awsaccount.Module(c), awsvpc.Module(c), awss3.Module(c), awssqs.Module(c))
	if err != nil {
		return err
	}
	return testdb.InstallAlone(ctx, url, registry)
}

// What AWS documents to be possible can be written, with the defaults AWS
// documents, and what it documents to be impossible cannot.
func TestTables(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), testdb.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(),
		"INSERT INTO aws_regions (region, is_default) VALUES ('eu-west-1', true), ('us-east-1', false)"); err != nil {
		t.Fatal(err)
	}
	for sql, allowed := range map[string]bool{
		"INSERT INTO vpc (cidr_block) VALUES ('10.0.0.0/16')":                                                          true,
		"INSERT INTO vpc (cidr_block, region) VALUES ('10.0.0.0/28', 'us-east-1')":                                     true,
		"INSERT INTO vpc (cidr_block) VALUES ('10.0.0.0/8')":                                                           false,
		"INSERT INTO vpc (cidr_block) VALUES ('10.0.0.1/16')":                                                          false,
		"INSERT INTO vpc (cidr_block) VALUES ('fd00::/64')":                                                            false,
		"INSERT INTO vpc (cidr_block, region) VALUES ('10.0.0.0/16', 'mars-1')":                                        false,
		"INSERT INTO vpc (cidr_block, account) VALUES ('10.0.0.0/16', 'nobody')":                                       false,
		"INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{\"Name\": \"a\"}')":                               true,
		"INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{\"iasql:token\": \"a\"}')":                        false,
		"INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.0.1.0/24' FROM vpc WHERE region = 'eu-west-1' LIMIT 1": true,
		// A subnet cannot be in another region than its VPC.
		"INSERT INTO subnet (vpc_id, cidr_block, region) SELECT id, '10.0.1.0/24', 'us-east-1' FROM vpc WHERE region = 'eu-west-1' LIMIT 1": false,
		"INSERT INTO subnet (vpc_id, cidr_block) VALUES (NULL, '10.0.1.0/24')":                                                              false,
		"INSERT INTO bucket (name) VALUES ('my.bucket-1')":                                                                                  true,
		"INSERT INTO bucket (name) VALUES ('no')":                                                                                           false,
		"INSERT INTO bucket (name) VALUES ('a/b/c')":                                                                                        false,
		"INSERT INTO bucket (name, policy) VALUES ('policy-1', '[]')":                                                                       false,
		"INSERT INTO bucket (name, policy) VALUES ('policy-2', '{}')":                                                                       true,
		"INSERT INTO queue (name) VALUES ('q')":                                                                                             true,
		"INSERT INTO queue (name, fifo_queue) VALUES ('q.fifo', true)":                                                                      true,
		"INSERT INTO queue (name) VALUES ('r.fifo')":                                                                                        false,
		"INSERT INTO queue (name, fifo_queue) VALUES ('r', true)":                                                                           false,
		"INSERT INTO queue (name) VALUES ('r s')":                                                                                           false,
		"INSERT INTO queue (name) VALUES (repeat('r', 81))":                                                                                 false,
		"INSERT INTO queue (name, visibility_timeout) VALUES ('s', 43201)":                                                                  false,
		"INSERT INTO queue (name, message_retention_period) VALUES ('s', 59)":                                                               false,
		"INSERT INTO queue (name, maximum_message_size) VALUES ('s', 1048577)":                                                              false,
		"INSERT INTO aws_account (name, account_id) VALUES ('x', '12')":                                                                     false,
		"INSERT INTO aws_account (name, role_arn) VALUES ('y', 'admin')":                                                                    false,
		"INSERT INTO aws_account (name, role_arn) VALUES ('z', 'arn:aws:iam::123456789012:role/a/b')":                                       true,
	} {
		// Subnets need the VPC; every statement is undone.
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, setup := tx.Exec(t.Context(), "INSERT INTO vpc (cidr_block) VALUES ('10.0.0.0/16')")
		_, err = tx.Exec(t.Context(), sql)
		if (err == nil) != allowed {
			t.Errorf("%s: got %v, want allowed: %t", sql, err, allowed)
		}
		if rollback := tx.Rollback(t.Context()); errors.Join(setup, rollback) != nil {
			t.Fatal(setup, rollback)
		}
	}
	var defaults string
	err = conn.QueryRow(t.Context(), `WITH v AS (INSERT INTO vpc (cidr_block) VALUES ('10.0.0.0/16') RETURNING *),
		q AS (INSERT INTO queue (name) VALUES ('d') RETURNING *)
		SELECT concat_ws(' ', v.account, v.region, v.enable_dns_support, v.enable_dns_hostnames, q.region, q.visibility_timeout, q.maximum_message_size)
		FROM v, q`).Scan(&defaults)
	if want := "default eu-west-1 t f eu-west-1 30 1048576"; err != nil || defaults != want {
		t.Errorf("defaults: got %s, %v, want %s", defaults, err, want)
	}
}
