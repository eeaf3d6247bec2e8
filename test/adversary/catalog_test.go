package adversary

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// what every function in the catalogue is held to, and who may call which.
var (
	// forReaders are the platform's functions in schema public that only read.
	forReaders = []string{"iasql_apply", "iasql_as_of", "iasql_batch_costs", "iasql_console_token", "iasql_create_review", "iasql_engines",
		"iasql_get_errors", "iasql_get_sql_for_transaction",
		"iasql_changes_by", "iasql_changes_since", "iasql_drift", "iasql_get_sql_since", "iasql_help", "iasql_history", "iasql_mode_explain",
		"iasql_mode_of", "iasql_modules_installed", "iasql_modules_list", "iasql_monthly", "iasql_preview_costs",
		"iasql_preview", "iasql_preview_apply", "iasql_preview_hash", "iasql_preview_sync", "iasql_preview_text", "iasql_search",
		"iasql_ready", "iasql_sync", "iasql_version", "iasql_wait_for", "iasql_wait_for_all"}
	// forUsers are those that act.
	forUsers = []string{"iasql_adopt", "iasql_approve", "iasql_begin", "iasql_commit", "iasql_confirm", "iasql_declare",
		"iasql_declared", "iasql_expire", "iasql_forget", "iasql_install", "iasql_join", "iasql_mention", "iasql_protect", "iasql_unprotect", "iasql_restore", "iasql_retry", "iasql_rollback",
		"iasql_sync_now", "iasql_types", "iasql_undo", "iasql_uninstall"}
	// withCallersPath are functions with the caller's rights that also look names
	// up as the caller does: the condition of iasql_wait_for is the caller's SQL.
	withCallersPath = []string{"iasql_wait_for"}
	// definersForAll are the functions with the system's rights that readers can
	// call directly. Each is looked at here, and by what the tests of this package
	// call it with.
	definersForAll = []string{
		"about",                           // descriptions of tables
		"batch_exists",                    // a number
		"batch_origins",                   // names of batches and of configurations, which everybody sees
		"batch_progress", "batch_headway", // numbers
		"batch_text",     // what errors call a batch
		"approvers",      // of batches, who has approved of which plan, which everybody sees
		"batches",        // of batches, whose they are and how many records they hold
		"engine_there",   // yes or no
		"call",           // asks for grants and permits, then the engine
		"check_can_wait", // raises about the caller's own transaction
		"check_table",    // names of tables
		"called",         // a text about an image that the caller has
		"condition_hint", // names of columns
		"currency",       // three letters
		// of instances of compositions that the caller has written in this transaction: numbers of records; and numbers for
		// records that he may insert, and a note of those that he has inserted with them
		"composing", "parts_of", "number_parts", "note_parts",
		"refuse_protected",                  // raises of a record that the caller is deleting
		"refuse_standby",                    // raises on a standby, with where the primary was, to which its readers log in too
		"takes_contents",                    // what the caller's transaction has set
		"writer_is_engine",                  // yes or no
		"engine_alive",                      // yes or no
		"engine_connected",                  // yes or no
		"declared_name",                     // names of configurations, which everybody sees
		"deferred_commits", "failed_commit", // of the caller's own batches
		"hash_of",          // of a preview of the caller's
		"imports",          // times, of accounts and tables that the caller names
		"in_the_way",       // who holds locks, which pg_locks shows
		"log_since",        // a time
		"open_batch_text",  // which batch the session works in
		"open_declaration", // a number
		"preview",          // shown through a view that filters
		"secrets",          // names of columns
		"session_batch",    // a number
		"setting",          // settings are everybody's to read
		"to_review",        // numbers of audit rows
		"undone_batches",   // numbers
		"value_rules",      // descriptions of tables
		"waits_in_batch",   // yes or no
	}
	definersForUsers = []string{
		// within the session's own declaration: what is inserted there twice, numbers of records that the caller may
		// delete, and an error about those that are left; the end takes that none is
		"begin_declaration", "require_declaration", "again", "may_go", "refuse_left", "end_declaration",
		"drop_configuration",      // takes that nothing is left which only that has
		"mention_named",           // takes a permit to see
		"constraint_names",        // of managed tables
		"adopt",                   // takes the right to INSERT, and that no policy applies to the caller
		"ask_approval", "approve", // the halves of iasql_approve: a preview; permits to see all of it
		"confirm_identity", "confirm_restored", // refuse all but administrators
		"confirm_vanished", // takes permits to delete
		"commit",           // takes the right to every change of the batch, and permits for the caller's own
		"forget",           // takes a permit and the right to DELETE
		"hidden_changes",   // yes or no, of records that the caller has deleted himself
		"planned",          // numbers of records of a preview of the caller's
		"retry",            // takes permits for all that is pending
		"set_expiry",       // takes a permit and the right to DELETE, none of the table hidden
		// takes a permit, or for a whole table the right to UPDATE and DELETE in it, none of it hidden
		"set_protection",
		"touched", // numbers of records of a batch
		// the halves of iasql_undo: permits before, permits after; a transaction without the second does not commit
		"undo", "undone",
	}
)

// TestEveryFunction looks at all functions, procedures and triggers of the
// system's that the catalogue has, with every module installed.
func TestEveryFunction(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Serve()
	w.PSQL(`SELECT * FROM iasql_install('aws_account')`, `UPDATE aws_regions SET is_enabled = false`,
		`SELECT count(*) FROM iasql_install(VARIADIC (SELECT array_agg(module_name) FROM iasql_modules_list()))`)
	list := w.Admin(`SELECT concat_ws('|', n.nspname, p.proname, p.prosecdef, coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false), coalesce('standard_conforming_strings=on' = ANY (p.proconfig), false), p.prorettype = 'trigger'::regtype,
			has_function_privilege('iasql_reader', p.oid, 'EXECUTE'), has_function_privilege('iasql_user', p.oid, 'EXECUTE'),
			EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0), p.proowner = 'iasql_engine'::regrole,
			replace(replace(p.prosrc, E'\n', ' '), '|', '!'))
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname IN ('public', 'iasql_internal') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`)
	functions := strings.Split(list, "\n")
	if len(functions) < 120 {
		t.Fatalf("only %d functions", len(functions))
	}
	for _, line := range functions {
		f := strings.SplitN(line, "|", 11)
		schema, name, body := f[0], f[1], f[10]
		definer, pinned, strung, trigger, reader, user, public, ours := f[2] == "t", f[3] == "t", f[4] == "t",
			f[5] == "t", f[6] == "t", f[7] == "t", f[8] == "t", f[9] == "t"
		fail := func(what string, args ...any) { t.Errorf("%s.%s "+what, append([]any{schema, name}, args...)...) }
		if !ours {
			fail("is not the engine's")
		}
		if !pinned && !slices.Contains(withCallersPath, name) {
			fail("has the caller's search path")
		}
		if definer && !pinned {
			fail("runs with the system's rights and the caller's search path")
		}
		if pinned && !strung || definer && !strung {
			fail("reads backslashes in strings as its caller has set")
		}
		if public {
			fail("may be called by PUBLIC")
		}
		switch {
		case trigger:
			if reader || user {
				fail("is a trigger function that others may put on tables of their own")
			}
		case schema == "public" && strings.HasPrefix(name, "iasql_"):
			if reader != slices.Contains(forReaders, name) || !user ||
				!slices.Contains(append(forReaders, forUsers...), name) {
				fail("may be called by: reader %t, user %t", reader, user)
			}
		case definer && schema == "iasql_internal":
			if reader != slices.Contains(definersForAll, name) ||
				user != (reader || slices.Contains(definersForUsers, name)) {
				fail("runs with the system's rights and may be called by: reader %t, user %t", reader, user)
			}
		}
		if !definer {
			continue
		}
		// What a definer must never do: fire whatever is deferred, or write a managed table unasked.
		if upper := strings.ToUpper(body); strings.Contains(upper, "SET CONSTRAINTS ALL") {
			fail("fires everybody's deferred triggers")
		}
		for _, writes := range []string{"UPDATE public.%", "INSERT INTO public.%", "DELETE FROM public.%",
			"UPDATE public.aws_", "INSERT INTO public.aws_"} {
			if strings.Contains(body, writes) && !strings.Contains(body, "refuse_untrusted") {
				fail("writes managed tables and does not look what code that runs: %s", writes)
			}
		}
	}
	catalog(t, w)
}

// catalog looks at grants and settings.
func catalog(t *testing.T, w *harness.World) {
	for what, query := range map[string]string{
		"views with the system's rights that others' functions could look into": `SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'v' AND n.nspname IN ('public', 'iasql_internal') AND has_table_privilege('iasql_reader', c.oid, 'SELECT')
			  AND c.relowner = 'iasql_engine'::regrole AND NOT coalesce(c.reloptions && ARRAY['security_barrier=true', 'security_invoker=true'], false)`,
		"tables that users may attach code to": `SELECT c.oid::regclass FROM pg_class c WHERE c.relowner = 'iasql_engine'::regrole AND c.relkind IN ('r', 'v')
			AND has_table_privilege('iasql_user', c.oid, 'TRUNCATE, REFERENCES, TRIGGER')`,
		"what is granted to PUBLIC": `SELECT c.oid::regclass FROM pg_class c, aclexplode(c.relacl) a WHERE c.relowner = 'iasql_engine'::regrole AND a.grantee = 0`,
		"internal tables without policies that others read": `SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname IN ('iasql_internal', 'iasql_river') AND c.relkind = 'r' AND has_any_column_privilege('iasql_user', c.oid, 'SELECT, INSERT, UPDATE')
			  AND NOT c.relrowsecurity AND c.relname NOT IN ('managed_table', 'hidden_table', 'module_function', 'composition', 'composition_part')`,
		"roles that a user may become":     `SELECT rolname FROM pg_roles WHERE pg_has_role('iasql_user', oid, 'MEMBER') AND rolname NOT IN ('iasql_user', 'iasql_reader')`,
		"code of others in managed tables": `SELECT * FROM iasql_internal.untrusted_code(ARRAY(SELECT to_regclass('public.' || "table")::oid FROM iasql_tables))`,
	} {
		if got := w.Admin(query); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
}
