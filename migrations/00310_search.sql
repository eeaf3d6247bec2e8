-- +goose Up
-- Derived from the records, by iasql_internal.index_search(): no trigger of theirs writes it, so that writing costs nothing
-- more. What it says counts only if the record, read with the rights of who searches, says it too.
CREATE TABLE iasql_internal.search_entry (
    table_name text NOT NULL,
    kind       smallint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    record_id  bigint NOT NULL,
    PRIMARY KEY (table_name, kind, term, record_id)
);
CREATE INDEX search_entry_record ON iasql_internal.search_entry (record_id, table_name);
COMMENT ON TABLE iasql_internal.search_entry IS 'Index of the search: in lower case what each record is found by. kind 0: a whole value; 1: what follows the beginning of a word in one.';

CREATE TABLE iasql_internal.search_pending (
    table_name text NOT NULL,
    record_id  bigint NOT NULL,
    n          bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (table_name, record_id)
);
CREATE INDEX search_pending_n ON iasql_internal.search_pending (n);
COMMENT ON TABLE iasql_internal.search_pending IS 'Records whose entries in the index of the search are to be made anew, in the order of n.';

CREATE TABLE iasql_internal.search_state (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    low     bigint NOT NULL,
    seen    pg_snapshot NOT NULL,
    next    bigint NOT NULL,
    next_by xid8 NOT NULL
);
COMMENT ON TABLE iasql_internal.search_state IS 'Which rows of the audit log the index of the search knows: those up to low, and those that were visible in seen. Once every transaction before next_by has ended, low becomes next.';
INSERT INTO iasql_internal.search_state (low, seen, next, next_by)
SELECT 0, pg_current_snapshot(), coalesce(max(l.id), 0), pg_snapshot_xmax(pg_current_snapshot()) FROM public.iasql_audit_log l;

-- What is there already: numbers only. The engine makes the entries.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT m.name FROM iasql_internal.managed_table m WHERE to_regclass(format('public.%I', m.name)) IS NOT NULL ORDER BY 1 LOOP
        EXECUTE format('INSERT INTO iasql_internal.search_pending (table_name, record_id) SELECT %L, t.id FROM public.%I t', name, name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION IF EXISTS public.iasql_search(text, integer);
DROP TABLE iasql_internal.search_entry, iasql_internal.search_pending, iasql_internal.search_state CASCADE;
DROP FUNCTION IF EXISTS iasql_internal.index_search(integer), iasql_internal.forget_searched(), iasql_internal.found(text, bigint[], text),
    iasql_internal.search_terms(jsonb[], text[]), iasql_internal.search_values(jsonb[], text[]), iasql_internal.search_rank(text, text),
    iasql_internal.search_columns(text) CASCADE;
