// Package disasters tests what becomes of the database and the cloud where PostgreSQL itself fails, is restored or is
// replaced. Each test plays what an administrator does, with servers of its own and the built engine, and in the end
// compares tables and cloud: no edit lost, no object made twice, nothing deleted that nobody asked to be deleted.
//
//   - failover_test.go: a standby is promoted, with and without the last commits;
//   - restore_test.go: recovery to a moment before, and a dump that is restored into a newer major version;
//   - pgbouncer_test.go: users behind PgBouncer, by session and by transaction;
//   - disk_test.go: the server's disk is full;
//   - upgrade_test.go: an engine of an earlier version works on while this one migrates;
//   - standby_test.go: what a standby does, and what it says of the rest; a console of its own.
//
// Three take longer, and are run by commands of their own, each of which prints a table:
//
//   - versions_test.go (make versions): versions of PostgreSQL, and each way from one to a newer one;
//   - upgrades_test.go (make upgrades): from each release to the next, and to this one, under load;
//   - patroni_test.go (make failover): a primary that Patroni keeps is killed, cut off and switched over.
//
// Frozen engines are TestFrozenEngine's in test/acceptance.
//
// Servers are of PostgreSQL 15, or what else the machine has; some tests are done with 17 as well, and with
// -args -every-version all of them. make test-disasters gets a PostgreSQL 17 (scripts/postgres.sh) and an engine of
// an earlier version (scripts/earlier-engine.sh), which tests that need them say are missing.
package disasters
