-- Applied after every change of a function or view. What is not granted here or by a module is the engine's alone.
--
-- Nothing is PUBLIC's: neither what is there nor what modules bring later. (A trigger function that anybody may execute
-- anybody may put on a table of his own, where it acts with its owner's rights.) What modules have in schema public is
-- what columns have as defaults.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO iasql_reader;
DO $$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT p.oid::regprocedure AS signature, p.proname LIKE 'iasql\_%' AS platform
        FROM pg_proc p
        WHERE p.proowner = 'iasql_engine'::regrole AND p.pronamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)
          AND (p.pronamespace = 'public'::regnamespace OR p.prorettype = 'trigger'::regtype)
    LOOP
        EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', f.signature);
        IF f.platform THEN
            EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM iasql_reader', f.signature);
        ELSIF f.signature::text NOT LIKE 'iasql\_internal.%' THEN
            EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO iasql_reader', f.signature);
        END IF;
    END LOOP;
END
$$;

DO $$
DECLARE
    sequence regclass;
BEGIN
    -- So that pg_dump works as a reader.
    FOR sequence IN SELECT c.oid FROM pg_class c WHERE c.relkind = 'S' AND c.relnamespace = 'public'::regnamespace AND c.relowner = 'iasql_engine'::regrole LOOP
        EXECUTE format('GRANT SELECT ON SEQUENCE %s TO iasql_reader', sequence);
    END LOOP;
END
$$;

-- A backslash in the text of a function, or in what it runs, means itself, whatever its caller has set. (What is written in
-- sql/ pins search_path where it stands; this is the same for all. The condition of iasql_wait_for is the caller's own SQL.)
DO $$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT p.oid::regprocedure AS signature FROM pg_proc p
        WHERE p.proowner = 'iasql_engine'::regrole AND p.pronamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)
          AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig) AND NOT 'standard_conforming_strings=on' = ANY (p.proconfig)
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('ALTER ROUTINE %s SET standard_conforming_strings = on', f.signature);
    END LOOP;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iasql_internal FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO iasql_reader;
GRANT USAGE ON SCHEMA iasql_internal TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.writer(), iasql_internal.engine_connected(), iasql_internal.failure(text, bigint), iasql_internal.just_created(text, bigint) TO iasql_reader;
-- Tables that have policies, and descriptions of the tables, for functions that run with the caller's rights.
GRANT SELECT ON iasql_internal.record_state, iasql_internal.garbage, iasql_internal.managed_table, iasql_internal.hidden_table, iasql_internal.module_function,
    iasql_internal.listing_errors, iasql_internal.previewed, iasql_internal.connected TO iasql_reader;
GRANT INSERT (table_name, record_id, may) ON iasql_internal.permit TO iasql_reader;
GRANT SELECT ON public.iasql_protection, public.iasql_ignore, public.iasql_forgotten, public.iasql_expiring, iasql_internal.expiry, iasql_internal.ending_line TO iasql_reader;
GRANT INSERT, UPDATE, DELETE ON public.iasql_ignore TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_protect(text, bigint, timestamptz), public.iasql_protect(text, bigint), public.iasql_protect(text), public.iasql_unprotect(text, bigint), public.iasql_unprotect(text),
    public.iasql_forget(text, bigint), public.iasql_adopt(text, text), iasql_internal.set_protection(text, bigint, boolean, timestamptz),
    public.iasql_expire(text, bigint, timestamptz), iasql_internal.set_expiry(text, bigint, timestamptz),
    iasql_internal.forget(text, bigint), iasql_internal.adopt(text, text), iasql_internal.refuse_null(text, text, text) TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_drift(), iasql_internal.modes(), iasql_internal.tags() TO iasql_reader;
GRANT SELECT ON public.iasql_tables, public.iasql_audit_log, public.iasql_mode, public.iasql_settings, public.iasql_cycles,
    public.iasql_operations, public.iasql_conflicts, public.iasql_status, public.iasql_listings, public.iasql_batches, public.iasql_progress, public.iasql_calls, public.iasql_problems, public.iasql_event_sources,
    public.iasql_tags, public.iasql_properties, public.iasql_type_names TO iasql_reader;
GRANT INSERT, UPDATE, DELETE ON public.iasql_mode TO iasql_user;
GRANT UPDATE (value) ON public.iasql_settings TO iasql_user;
GRANT UPDATE (resolved) ON public.iasql_conflicts TO iasql_user;
REVOKE EXECUTE ON FUNCTION public.iasql_install(text[]), public.iasql_uninstall(text[]), public.iasql_types(text), public.iasql_sync_now(text[]), public.iasql_retry(text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.iasql_install(text[]), public.iasql_uninstall(text[]), public.iasql_types(text), public.iasql_sync_now(text[]), public.iasql_retry(text, bigint) TO iasql_user;

REVOKE EXECUTE ON PROCEDURE public.iasql_begin(text, boolean), public.iasql_join(text, boolean), public.iasql_commit(text, text, text, text), public.iasql_rollback(boolean), public.iasql_undo(bigint), public.iasql_restore(text, bigint, timestamptz) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION public.iasql_preview(), public.iasql_preview_text(), public.iasql_preview_hash() FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE public.iasql_begin(text, boolean), public.iasql_join(text, boolean), public.iasql_commit(text, text, text, text), public.iasql_rollback(boolean), public.iasql_undo(bigint), public.iasql_restore(text, bigint, timestamptz) TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_preview(), public.iasql_preview_text(), public.iasql_preview_hash(), public.iasql_approve(bigint, text) TO iasql_user;

GRANT EXECUTE ON FUNCTION public.iasql_as_of(text, timestamptz), public.iasql_as_of(anyelement, timestamptz),
    public.iasql_changes_by(text, timestamptz), public.iasql_changes_since(timestamptz), public.iasql_create_review(text, text), public.iasql_engines(), public.iasql_get_errors(), public.iasql_get_sql_for_transaction(bigint),
    public.iasql_get_sql_since(timestamptz), public.iasql_help(), public.iasql_history(text, bigint),
    public.iasql_mode_explain(text, bigint, text), public.iasql_mode_of(text, bigint, text), public.iasql_modules_installed(),
    public.iasql_modules_list(), public.iasql_preview(), public.iasql_preview_text(), public.iasql_preview_hash(), public.iasql_ready(text), public.iasql_version(), public.iasql_wait_for(text, bigint, text, double precision),
    public.iasql_wait_for_all(double precision, text),
    public.iasql_apply(), public.iasql_sync(), public.iasql_preview_apply(), public.iasql_preview_sync() TO iasql_reader;
-- What those of them call that run with the caller's rights.
GRANT EXECUTE ON FUNCTION iasql_internal.cell(text), iasql_internal.folded(text, integer), iasql_internal.plain(text, boolean), iasql_internal.author_text(jsonb), iasql_internal.changers(), iasql_internal.check_can_wait(text, bigint), iasql_internal.check_table(text),
    iasql_internal.log_since(), iasql_internal.mask(jsonb, text[]), iasql_internal.old_name(text, text), iasql_internal.repeat(bigint[]),
    iasql_internal.rows_as_of(text, timestamptz), iasql_internal.secrets(text), iasql_internal.to_review(),
    iasql_internal.about(text), iasql_internal.literal(text, text, jsonb, jsonb), iasql_internal.image(text, bigint, bigint),
    iasql_internal.part(jsonb, jsonb), iasql_internal.twins(text, bigint, jsonb, jsonb, bigint, jsonb, jsonb),
    iasql_internal.named(text, bigint, bigint, jsonb, integer), iasql_internal.undone_batches(), iasql_internal.batch_exists(bigint),
    iasql_internal.open_batch_text(), iasql_internal.session_batch(), iasql_internal.batch_text(bigint), iasql_internal.waits_in_batch(text, bigint), iasql_internal.check_whose(text), iasql_internal.unsettled(pg_snapshot, text), iasql_internal.failures(pg_snapshot, text), iasql_internal.failures_text(pg_snapshot, text, boolean),
    iasql_internal.others_only(text, bigint, text), iasql_internal.unfinished(pg_snapshot, text), iasql_internal.in_review(text), iasql_internal.failed_commit(), iasql_internal.deferred_commits(text), iasql_internal.check_seconds(double precision), iasql_internal.refuse_standby(text), iasql_internal.preview(),
    iasql_internal.restricted(), iasql_internal.limited(), iasql_internal.seen(), iasql_internal.filled_records(), iasql_internal.readable(text, jsonb),
    iasql_internal.seen_accounts(), iasql_internal.policy(oid, "char", boolean), iasql_internal.deed(text, oid),
    iasql_internal.may(text, text, bigint), iasql_internal.allowed(text, text, bigint[]), iasql_internal.claimed(), iasql_internal.permit(text, text, bigint[]),
    iasql_internal.not_ruled(text[]), iasql_internal.may_rule(text, bigint, text, text), iasql_internal.refuse_rule(text, bigint, text, text),
    iasql_internal.refuse_hidden(text, bigint), iasql_internal.allow_call(text, jsonb), iasql_internal.named_by(jsonb, jsonb), iasql_internal.is_subject(text, oid),
    iasql_internal.call(text, jsonb), iasql_internal.batches(), iasql_internal.batch_progress(bigint), iasql_internal.batch_headway(bigint), iasql_internal.batch_message(bigint), iasql_internal.engine_alive(iasql_internal.engine), iasql_internal.engine_there(iasql_internal.engine), iasql_internal.in_the_way(), iasql_internal.setting(text), iasql_internal.source_trouble(iasql_internal.event_source),
    iasql_internal.condition_hint(text, text), iasql_internal.takes_contents(), iasql_internal.writer_is_engine(), iasql_internal.refuse_protected(text, jsonb), iasql_internal.called(text, bigint, jsonb), iasql_internal.children_of(regclass),
    iasql_internal.in_the_way_of(jsonb), iasql_internal.going_with(text, jsonb, integer) TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.retry(text, bigint), iasql_internal.commit(text, text, text, text), iasql_internal.touched(bigint), iasql_internal.permit_batch(bigint, text[]),
    iasql_internal.undo(bigint), iasql_internal.undone(bigint), iasql_internal.ask_approval(bigint), iasql_internal.planned(bigint),
    iasql_internal.approve(bigint, text, bigint) TO iasql_user;
GRANT SELECT ON public.iasql_worlds, iasql_internal.status, iasql_internal.unread_place, iasql_internal.unread_line, iasql_internal.restored TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.unread_records() TO iasql_reader;
GRANT EXECUTE ON FUNCTION public.iasql_confirm(text, text, boolean), iasql_internal.confirm_vanished(text, bigint[]), iasql_internal.confirm_identity(text, boolean),
    iasql_internal.confirm_restored(boolean), iasql_internal.refuse_confirm(text) TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_console_token() TO iasql_reader;

GRANT SELECT ON public.iasql_configurations, public.iasql_mentions, iasql_internal.mentioned TO iasql_reader;
GRANT SELECT ON public.iasql_prices, public.iasql_bills, public.iasql_costs, public.iasql_configuration_costs, public.iasql_tag_costs TO iasql_reader;
GRANT EXECUTE ON FUNCTION public.iasql_batch_costs(bigint), public.iasql_preview_costs(), public.iasql_monthly(text, jsonb), iasql_internal.currency(), iasql_internal.costs(), iasql_internal.price_shapes(text), iasql_internal.priced_columns(text),
    iasql_internal.pricing(text, text), iasql_internal.differences(jsonb), iasql_internal.preview_costs(bigint) TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.mentions(), iasql_internal.preview_declared(), iasql_internal.open_declaration(), iasql_internal.declared_name(bigint),
    iasql_internal.hash_of(bigint) TO iasql_reader;
REVOKE EXECUTE ON PROCEDURE public.iasql_declare(text, text, boolean), public.iasql_declared(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE public.iasql_declare(text, text, boolean), public.iasql_declared(text, text, text) TO iasql_user;
GRANT DELETE ON public.iasql_configurations TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_mention(text, bigint), iasql_internal.mention_named(text, bigint),
    iasql_internal.begin_declaration(text, text, boolean, boolean), iasql_internal.require_declaration(), iasql_internal.end_declaration(),
    iasql_internal.drop_configuration(text), iasql_internal.prune_let_go(text, bigint), iasql_internal.may_go(text, bigint),
    iasql_internal.refuse_left(text, bigint), iasql_internal.again(text, bigint),
    iasql_internal.fold_again(text, bigint), iasql_internal.lists_in(text), iasql_internal.constraint_names() TO iasql_user;

-- What iasql_changes_since and iasql_restore call, which run with the caller's rights.
GRANT EXECUTE ON FUNCTION iasql_internal.changes(timestamptz), iasql_internal.was_replaced(public.iasql_audit_log), iasql_internal.asked_for(public.iasql_audit_log, text[]),
    iasql_internal.is_drift(public.iasql_audit_log, text[]), iasql_internal.label(jsonb, text[], text[]), iasql_internal.labels(text, bigint[]),
    iasql_internal.batch_origins(bigint[]), iasql_internal.imports(text[], text[]) TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.image_at(text, bigint, timestamptz), iasql_internal.hidden_changes(text, bigint, timestamptz, bigint[]),
    iasql_internal.to_restore(text, jsonb, jsonb), iasql_internal.lost_secrets(text, bigint, timestamptz),
    iasql_internal.without_lost_references(text, bigint, timestamptz, jsonb, jsonb), iasql_internal.references_of(oid),
    iasql_internal.write_restored(text, bigint, timestamptz, jsonb, boolean, text) TO iasql_user;

-- A composition writes its parts with the rights of whoever writes an instance.
GRANT USAGE ON SCHEMA iasql_composition TO iasql_reader;
GRANT SELECT ON public.iasql_parts, public.iasql_instances, iasql_internal.composed, iasql_internal.composition, iasql_internal.composition_part TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.parts(text, bigint), iasql_internal.wanted(text, text, jsonb, jsonb), iasql_internal.wanted_parts(text, jsonb, jsonb),
    iasql_internal.composing(text, bigint[]), iasql_internal.parts_of(text, bigint[]), iasql_internal.number_parts(text, bigint), iasql_internal.note_parts(text, jsonb),
    iasql_internal.refuse_part(text, text, text), iasql_internal.needed(text, text, text), iasql_internal.ids_of(jsonb), iasql_internal.insert_part(iasql_internal.composition_part, jsonb),
    iasql_internal.update_part(iasql_internal.composition_part, jsonb), iasql_internal.delete_composed(text, jsonb),
    iasql_internal.compose_rows(text, jsonb, jsonb, jsonb) TO iasql_reader;

GRANT EXECUTE ON FUNCTION public.iasql_search(text, integer), iasql_internal.found(text, bigint[], text), iasql_internal.search_columns(text),
    iasql_internal.search_values(jsonb[], text[]), iasql_internal.search_rank(text, text) TO iasql_reader;
GRANT SELECT ON iasql_internal.search_found TO iasql_reader;

GRANT SELECT ON public.iasql_queries TO iasql_reader;
GRANT INSERT (name, query, shared, owner), UPDATE (name, query, shared), DELETE ON public.iasql_queries TO iasql_user;

GRANT SELECT ON public.iasql_batch_comments, public.iasql_approvals TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.approvers(bigint) TO iasql_reader;
GRANT INSERT (batch, comment), DELETE ON public.iasql_batch_comments TO iasql_user;

-- What the console's forms ask.
GRANT EXECUTE ON FUNCTION iasql_internal.value_rules(text), iasql_internal.lists_in(text) TO iasql_reader;
