// Package upgrade tests that a database of an earlier version becomes, by
// engine migrate, the same as a new one, and keeps what its users have.
//
// testdata holds dumps of databases as earlier versions made them: engine dev
// of that version, its modules installed, a few objects made; then, as the
// superuser, pg_dump without schema cron, without the extension pg_cron, the
// loopback's user mapping, and grants to roles of that one cluster.
package upgrade
