package support

// query is a part that one query reads. Its columns are text, each of the kind that stands at its place.
type query struct {
	name, what string
	kinds      []Kind
	sql        string
}

// recent bounds what is counted of the audit log and the operations, by their numbers: they may be long.
const recent = "100000"

// queries are the parts that are read from the database. Each returns some hundreds of rows at most.
var queries = []query{
	{"versions", "versions of the server, of its extensions, and of the engine that migrated the database last", nil, `
		SELECT v.what, v.version FROM (
			VALUES ('PostgreSQL', version()), ('engine that migrated last', (SELECT i.version FROM iasql_internal.installation i)),
			       ('migrated to', (SELECT max(g.version_id) FROM iasql_internal.goose_db_version g WHERE g.is_applied)::text),
			       ('server since', pg_postmaster_start_time()::text), ('standby', pg_is_in_recovery()::text), ('now', now()::text)
			UNION ALL SELECT 'extension ' || e.extname, e.extversion FROM pg_extension e) v (what, version)`},
	{"settings", "the settings in iasql_settings", []Kind{Plain, Plain, Role}, `
		SELECT s.name, CASE WHEN s.name <> 'approvers' AND s.value ~ '^[a-z0-9. :-]{0,40}$' THEN s.value END AS value, CASE WHEN s.name = 'approvers' THEN s.value END AS role
		FROM public.iasql_settings s ORDER BY 1`},
	{"server", "settings of PostgreSQL that matter to the engine", nil, `
		SELECT s.name, s.setting, s.unit, s.source FROM pg_settings s
		WHERE s.name = ANY ('{autovacuum,autovacuum_max_workers,autovacuum_naptime,autovacuum_vacuum_scale_factor,deadlock_timeout,default_transaction_isolation,effective_cache_size,fsync,
			full_page_writes,hot_standby,idle_in_transaction_session_timeout,jit,lock_timeout,maintenance_work_mem,max_connections,max_locks_per_transaction,max_wal_size,max_worker_processes,
			shared_buffers,ssl,statement_timeout,superuser_reserved_connections,synchronous_commit,track_counts,transaction_timeout,wal_level,work_mem}'::text[])
		ORDER BY 1`},
	{"modules", "the modules that are installed", []Kind{Table}, `
		SELECT m.name AS module, m.version::text AS brought, m.installed::text, cardinality(m.tables)::text AS tables
		FROM iasql_internal.module m WHERE m.installed IS NOT NULL ORDER BY 1`},
	{"modes", "the rules of iasql_mode and iasql_ignore, counted", []Kind{Plain, Table}, `
		SELECT m.mode, m.table_name, (m.record_id IS NOT NULL)::text AS of_a_record, (m.column_name IS NOT NULL)::text AS of_a_column, count(*)::text, min(m.until)::text AS first_ends
		FROM public.iasql_mode m GROUP BY 1, 2, 3, 4
		UNION ALL SELECT 'ignored', g.table_name, NULL, NULL, count(*)::text, min(g.until)::text FROM public.iasql_ignore g GROUP BY 2 ORDER BY 1, 2`},
	{"worlds", "the accounts: whether each is who it was, and why it is held", []Kind{Account, Plain, Plain, Plain, Plain, Plain, Text}, `
		SELECT w.account, w.kind, (w.says_it_is = w.pinned_as)::text AS is_who_it_was, w.pinned_at::text, w.reachable_at::text, w.last_seen::text, w.held, w.since::text
		FROM public.iasql_worlds w ORDER BY 1 LIMIT 500`},
	{"states", "records that are not Present, counted by table and state", []Kind{Table}, `
		SELECT s.table_name, s.state, s.code, s.review::text, count(*)::text, max(s.attempts)::text AS most_attempts, min(s.since)::text AS since
		FROM iasql_internal.record_state s GROUP BY 1, 2, 3, 4
		UNION ALL SELECT g.table_name, 'predecessor ' || g.state, g.code, g.review::text, count(*)::text, max(g.attempts)::text, min(g.since)::text FROM iasql_internal.garbage g GROUP BY 1, 2, 3, 4
		ORDER BY 1, 2 LIMIT 1000`},
	{"errors", "the last 200 errors, by table and record", []Kind{Plain, Table, Plain, Text}, `
		SELECT e.ts::text, e.table_name, e.record_id::text, e.message FROM public.iasql_get_errors() e ORDER BY e.ts DESC LIMIT 200`},
	{"cycles", "the last 100 cycles", []Kind{Plain, Account, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Text}, `
		SELECT c.id::text, c.account, c.kind, c.engine, c.started::text, c.ended::text, c.reads::text, c.pushes::text, c.pulls::text, c.errors::text, c.message, c.calls::text
		FROM public.iasql_cycles c ORDER BY c.id DESC LIMIT 100`},
	{"operations", "calls that changed something in the cloud, counted by result", []Kind{Plain, Plain, Plain, Table}, `
		SELECT o.service, o.action, o.kind, o.table_name, coalesce(o.result, 'under way') AS result, count(*)::text, min(o.started)::text AS first, max(o.started)::text AS last
		FROM public.iasql_operations o WHERE o.id > (SELECT max(k.id) FROM public.iasql_operations k) - ` + recent + ` GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2 LIMIT 1000`},
	{"failures", "the last 100 calls that failed", []Kind{Plain, Plain, Plain, Plain, Table, Plain, Plain, Plain, Text}, `
		SELECT o.id::text, o.cycle_id::text, o.service, o.action, o.table_name, o.record_id::text, o.started::text, o.result, o.error
		FROM public.iasql_operations o WHERE o.result IN ('failed', 'unknown') AND o.id > (SELECT max(k.id) FROM public.iasql_operations k) - ` + recent + `
		ORDER BY o.id DESC LIMIT 100`},
	{"listings", "when each table was last listed, by region", []Kind{Account, Table, Plain, Plain, Plain, Plain, Text, Text}, `
		SELECT l.account, l.table_name, l.region, l.last_seen::text, l.last_changed::text, l.objects::text, l.denied, l.failed, l.since::text
		FROM public.iasql_listings l ORDER BY l.since, l.last_seen LIMIT 2000`},
	{"sources", "the sources of events", []Kind{Account, Name, Plain, Text, Plain, Plain, Plain, Text}, `
		SELECT s.account, s.name, s.kind, s.state, s.last_answer::text, s.last_event::text, s.behind::text, s.heartbeat_error, s.events::text, s.doubles::text, s.foreign_events::text, s.malformed::text, s.dropped::text
		FROM public.iasql_event_sources s ORDER BY 1, 2 LIMIT 500`},
	{"engines", "the engines that are connected, and the accounts that they work on", []Kind{Plain, Plain, Host, Plain, Plain, Plain, Account}, `
		SELECT e.id, e.version, e.host, e.started_at::text, e.beat::text, iasql_internal.engine_alive(e)::text AS alive, l.account, l.fence::text, l.since::text, l.beat::text AS lease_beat
		FROM iasql_internal.engine e LEFT JOIN iasql_internal.lease l ON l.engine = e.id AND l.pid IS NOT NULL ORDER BY e.started_at DESC, l.account LIMIT 500`},
	{"jobs", "what waits in the queue, and what people wait for", nil, `
		SELECT j.queue, j.kind, j.state::text, count(*)::text, min(j.scheduled_at)::text AS first, max(j.attempt)::text AS most_attempts FROM iasql_river.river_job j GROUP BY 1, 2, 3
		UNION ALL SELECT 'requests', q.kind, CASE WHEN q.started IS NULL THEN 'waits' ELSE 'runs' END, count(*)::text, min(q.asked_at)::text, NULL FROM iasql_internal.request q WHERE q.ended IS NULL GROUP BY 2, 3
		ORDER BY 1, 2, 3`},
	{"batches", "the batches that are open, and the last 50 that are not", []Kind{Plain, Role, Plain, Plain, Plain, Plain, Plain, Plain, Text}, `
		SELECT b.id::text, b.opened_by, b.opened_at::text, b.phase, b.commit_asked::text, b.begun_at::text, b.closed_at::text, b.outcome, b.failure,
		       (SELECT count(*) FROM iasql_internal.staged s WHERE s.batch = b.id)::text AS staged
		FROM iasql_internal.batch b ORDER BY b.closed_at IS NULL DESC, b.id DESC LIMIT 50`},
	{"changes", "the newest changes of the audit log, counted", []Kind{Table}, `
		SELECT l.table_name, l.origin, l.change_type, l.settled::text, count(*)::text, min(l.ts)::text AS first, max(l.ts)::text AS last
		FROM public.iasql_audit_log l WHERE l.id > (SELECT max(k.id) FROM public.iasql_audit_log k) - ` + recent + ` GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT 1000`},
	{"conflicts", "conflicts that are open, counted", []Kind{Table}, `
		SELECT c.table_name, count(*)::text, min(c.at)::text AS first FROM public.iasql_conflicts c WHERE c.resolved IS NULL AND NOT c.closed GROUP BY 1 ORDER BY 1`},
	{"guard", "whether the database has gone back in time, and when old rows were last deleted", []Kind{Plain, Text}, `
		SELECT i.restored_at::text, i.restored_why, i.timeline::text, i.went_back_at::text, p.last_run::text AS pruned, p.log_since::text FROM iasql_internal.server_seen i CROSS JOIN iasql_internal.pruning p`},
	{"sessions", "sessions of the database, without their statements", []Kind{Plain, Role, Text}, `
		SELECT a.pid::text, a.usename::text, a.application_name, a.backend_type, a.state, a.wait_event_type, a.wait_event, (now() - a.backend_start)::text AS connected, (now() - a.xact_start)::text AS in_transaction,
		       (now() - a.query_start)::text AS in_statement, age(a.backend_xmin)::text AS holds_back
		FROM pg_stat_activity a WHERE a.datname = current_database() OR a.datname IS NULL ORDER BY a.xact_start NULLS LAST LIMIT 300`},
	{"locks", "locks that are waited for, and by whom they are held", []Kind{Plain, Plain, Plain, Plain, Table}, `
		SELECT l.pid::text, pg_blocking_pids(l.pid)::text AS held_by, l.locktype, l.mode, c.relname::text AS of, (now() - l.waitstart)::text AS waits
		FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		WHERE NOT l.granted ORDER BY l.waitstart LIMIT 300`},
	{"sizes", "sizes of the 200 largest tables, with what is dead in them", []Kind{Plain, Table}, `
		SELECT s.schemaname::text, s.relname::text, pg_total_relation_size(s.relid)::text AS bytes, pg_indexes_size(s.relid)::text AS of_indexes, s.n_live_tup::text AS live, s.n_dead_tup::text AS dead,
		       s.n_mod_since_analyze::text AS since_analyze, s.last_vacuum::text, s.last_autovacuum::text, s.last_analyze::text, s.last_autoanalyze::text, age(c.relfrozenxid)::text AS age
		FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid WHERE s.schemaname IN ('public', 'iasql_internal', 'iasql_river') ORDER BY pg_total_relation_size(s.relid) DESC LIMIT 200`},
	{"migrations", "the migrations that were applied, with their times", nil, `
		SELECT g.version_id::text, g.is_applied::text, g.tstamp::text FROM iasql_internal.goose_db_version g ORDER BY g.id`},
}
