-- +goose Up
ALTER TABLE public.iasql_audit_log ADD COLUMN secret boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN public.iasql_audit_log.secret IS 'The change set a secret, whose value waits in the vault until the change is settled.';

CREATE TABLE iasql_internal.vault (
    audit_id    bigint NOT NULL,
    table_name  text NOT NULL,
    record_id   bigint NOT NULL,
    column_name text NOT NULL,
    value       text,
    PRIMARY KEY (audit_id, column_name)
);
COMMENT ON TABLE iasql_internal.vault IS 'Values of write-only columns that wait to be pushed, by the audit row that wants them; NULL: the user has taken an earlier one back. The engine alone reads them.';
CREATE INDEX vault_record ON iasql_internal.vault (table_name, record_id);
-- No sample of a secret in pg_statistic.
ALTER TABLE iasql_internal.vault ALTER COLUMN value SET STATISTICS 0;

CREATE TABLE iasql_internal.vault_staged (
    depth       integer NOT NULL,
    table_name  text NOT NULL,
    record_id   bigint NOT NULL,
    key         text,
    column_name text NOT NULL,
    value       text,
    PRIMARY KEY (table_name, record_id, column_name, depth)
);
COMMENT ON TABLE iasql_internal.vault_staged IS 'Secrets within the statement that writes them, on their way to the vault. Empty at all other times.';
ALTER TABLE iasql_internal.vault_staged ALTER COLUMN value SET STATISTICS 0;

CREATE TABLE iasql_internal.permit (
    xid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    table_name text NOT NULL,
    record_id  bigint NOT NULL,
    may        text NOT NULL CHECK (may IN ('see', 'change'))
);
COMMENT ON TABLE iasql_internal.permit IS 'Proof, for the functions that act with the system''s rights, that their caller may see or change a record: its policies let nobody insert what is not so. A row lives no longer than its transaction.';
CREATE INDEX permit_xid ON iasql_internal.permit (xid);
ALTER TABLE iasql_internal.permit ENABLE ROW LEVEL SECURITY;

CREATE TABLE iasql_internal.hidden_table (
    name text PRIMARY KEY
);
COMMENT ON TABLE iasql_internal.hidden_table IS 'Tables that were uninstalled while grants or row-level security hid something in them: what is left of their history is the administrators''.';

CREATE TABLE iasql_internal.cycle_details (
    cycle_id bigint PRIMARY KEY REFERENCES public.iasql_cycles (id) ON DELETE CASCADE,
    details  jsonb NOT NULL
);
COMMENT ON TABLE iasql_internal.cycle_details IS 'What failed in a cycle, as a list; iasql_get_errors() shows of it what its caller may see.';
INSERT INTO iasql_internal.cycle_details (cycle_id, details) SELECT id, details FROM public.iasql_cycles WHERE jsonb_typeof(details) = 'array';
-- Its body, which is bound to the column, comes back when the functions are re-applied; views on it stay.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION public.iasql_get_errors() RETURNS TABLE (ts timestamptz, table_name text, record_id bigint, message text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$ BEGIN END $$;
-- +goose StatementEnd
ALTER TABLE public.iasql_cycles DROP COLUMN details;

CREATE TABLE iasql_internal.module_function (
    name       text PRIMARY KEY,
    table_name text NOT NULL,
    needs      text NOT NULL,
    names      jsonb NOT NULL
);
COMMENT ON TABLE iasql_internal.module_function IS 'The functions of installed modules: the table each is about, the right on it that its caller needs, and which parameters name the record, as {"column": "parameter"}.';

ALTER TABLE iasql_internal.batch ADD COLUMN bound pg_snapshot;
COMMENT ON COLUMN iasql_internal.batch.bound IS 'What had been committed when the batch began to be: nothing else belongs to it.';

UPDATE public.iasql_settings SET description = 'If a cycle would delete more objects than this from the cloud, or replace them, it does neither and asks for review.' WHERE name = 'max_deletes';
UPDATE public.iasql_settings SET description = 'If a cycle would delete or replace a greater part of a table''s objects than this, it does neither and asks for review (see delete_ratio_floor).' WHERE name = 'max_delete_ratio';

ALTER TABLE public.iasql_audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_conflicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_cycles ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_mode ENABLE ROW LEVEL SECURITY;
ALTER TABLE iasql_internal.record_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE iasql_internal.garbage ENABLE ROW LEVEL SECURITY;

-- +goose Down
ALTER TABLE iasql_internal.garbage DISABLE ROW LEVEL SECURITY;
ALTER TABLE iasql_internal.record_state DISABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_mode DISABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_cycles DISABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_conflicts DISABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_operations DISABLE ROW LEVEL SECURITY;
ALTER TABLE public.iasql_audit_log DISABLE ROW LEVEL SECURITY;
ALTER TABLE iasql_internal.batch DROP COLUMN bound;
ALTER TABLE public.iasql_cycles ADD COLUMN details jsonb;
DROP TABLE iasql_internal.module_function, iasql_internal.cycle_details, iasql_internal.hidden_table, iasql_internal.permit, iasql_internal.vault_staged, iasql_internal.vault;
ALTER TABLE public.iasql_audit_log DROP COLUMN secret;
