package testdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
	"iasql/sql"
)

// standins are what modules' own SQL calls of the platform, doing nothing.
var standins = []string{
	"DO $$ BEGIN CREATE ROLE iasql_engine; CREATE ROLE iasql_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
	"CREATE SCHEMA iasql_internal",
	"CREATE FUNCTION iasql_internal.audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE FUNCTION iasql_internal.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE FUNCTION iasql_internal.mention_conflicting() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
	"CREATE FUNCTION iasql_internal.account_changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE TABLE iasql_internal.account ()",
	"CREATE TABLE iasql_internal.account_secret (table_name text, account text, column_name text, value text, " +
		"PRIMARY KEY (table_name, account, column_name))",
	"CREATE TABLE iasql_internal.account_secret_staged (LIKE iasql_internal.account_secret INCLUDING INDEXES)",
	"CREATE TABLE iasql_internal.kept_secret (table_name text, account text, key text, version text, value text, " +
		"sha256 text, sent bigint, PRIMARY KEY (table_name, account, key, version))",
	"CREATE TABLE iasql_internal.managed_table (name text, rules_of text, required text[], names text[])",
	"CREATE FUNCTION iasql_internal.plain(said text) RETURNS text LANGUAGE sql AS 'SELECT said'",
	"CREATE TABLE iasql_internal.value_rule (table_name text, name text, columns text[], condition text, hint text, " +
		"of_null boolean, active boolean DEFAULT true, PRIMARY KEY (table_name, name))",
	"CREATE FUNCTION iasql_internal.writer_is_engine() RETURNS boolean LANGUAGE sql AS $$SELECT " +
		"coalesce(current_setting('iasql.origin', true), '') = 'engine'$$",
	"CREATE FUNCTION iasql_internal.clear_staged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE FUNCTION iasql_internal.leave_beside() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
	"CREATE FUNCTION iasql_internal.leave_records() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
	"CREATE FUNCTION iasql_internal.keep_records() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
	"CREATE FUNCTION iasql_internal.delete_parts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
	"CREATE TABLE iasql_internal.scoped_reference (table_name text, column_name text, target text, part_if text)",
	"CREATE FUNCTION iasql_internal.other_scope(name text, ids bigint[], columns text[], there boolean, moved " +
		"bigint[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''% % of % refers to another region'', columns, " +
		"ids, name USING ERRCODE = ''23503''; END'",
	"CREATE FUNCTION iasql_internal.moved(text, bigint[]) RETURNS void LANGUAGE sql AS ''",
	"CREATE FUNCTION iasql_internal.writer() RETURNS text LANGUAGE sql AS 'SELECT session_user::text'",
	"CREATE FUNCTION iasql_internal.open_batch() RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint'",
	"CREATE FUNCTION iasql_internal.filled_records() RETURNS TABLE (table_name text, record_id bigint, account text) " +
		"LANGUAGE sql AS 'SELECT NULL::text, NULL::bigint, NULL::text WHERE false'",
	"CREATE TABLE iasql_internal.reverting (xid xid8 PRIMARY KEY DEFAULT pg_current_xact_id(), batch bigint)",
	"CREATE FUNCTION iasql_internal.refuse_untrusted(text[]) RETURNS void LANGUAGE sql AS ''",
}

// TablesAlone makes the tables of modules as [InstallAlone] does, without what the modules
// have besides.
func TablesAlone(ctx context.Context, url string, registry *modules.Registry) error {
	return installAlone(ctx, url, registry, false)
}

// InstallAlone makes the tables of modules in an empty database, in the order of
// their dependencies, as the engine's installer does, but without the platform:
// what its triggers are to do, stand-ins leave undone. It is for tests of what the
// modules' tables themselves let in.
func InstallAlone(ctx context.Context, url string, registry *modules.Registry) error {
	return installAlone(ctx, url, registry, true)
}

func installAlone(ctx context.Context, url string, registry *modules.Registry, whole bool) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	statements := slices.Clone(standins)
	// What the tables let in, and who logs in with what, they say.
	for _, name := range []string{"values.sql", "account_secrets.sql"} {
		file, err := sql.FS.ReadFile("internal/" + name)
		if err != nil {
			return err
		}
		statements = append(statements, string(file))
	}
	for _, m := range registry.Modules() {
		statements = append(statements, m.Migrations[0])
		for _, table := range modules.Order(m.Tables()) {
			statements = append(statements, table.DDL(registry.Table)...)
		}
		for v := 1; whole && v <= m.Version; v++ {
			statements = append(statements, m.Migrations[v])
		}
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%w: %s", err, statement)
		}
	}
	return nil
}
