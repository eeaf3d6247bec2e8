-- +goose Up
-- Schemas, roles and extensions are made by sql/bootstrap.sql, which runs before the migrations and as another role.
CREATE TABLE iasql_internal.installation (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    id      uuid NOT NULL DEFAULT gen_random_uuid(),
    version text NOT NULL DEFAULT ''
);
COMMENT ON TABLE iasql_internal.installation IS 'This installation: its identity, and the version of the engine that last migrated it.';
INSERT INTO iasql_internal.installation DEFAULT VALUES;

---------------------------------------------------------------------------------------------------------------------
-- Modules

CREATE TABLE iasql_internal.module (
    name         text PRIMARY KEY,
    version      integer NOT NULL,
    doc          text NOT NULL,
    dependencies text[] NOT NULL,
    tables       text[] NOT NULL,
    installed    integer
);
COMMENT ON TABLE iasql_internal.module IS 'Every module the engine brings: version is what it would install, installed what is installed (NULL: nothing).';

CREATE TABLE public.iasql_tables (
    "table" text PRIMARY KEY,
    module  text NOT NULL REFERENCES iasql_internal.module (name)
);
COMMENT ON TABLE public.iasql_tables IS 'Every managed table with its module.';
COMMENT ON COLUMN public.iasql_tables."table" IS 'Name of the table.';
COMMENT ON COLUMN public.iasql_tables.module IS 'Module the table belongs to.';

CREATE TABLE iasql_internal.managed_table (
    name        text PRIMARY KEY REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    settings    boolean NOT NULL, -- no counterpart in the cloud
    identity    text[] NOT NULL,
    assigned    text[] NOT NULL,
    write_only  text[] NOT NULL,
    columns     text[] NOT NULL,  -- the described ones; others are the user's own
    can_insert  boolean NOT NULL,
    can_delete  boolean NOT NULL,
    regional    boolean NOT NULL
);
COMMENT ON TABLE iasql_internal.managed_table IS 'What the write triggers need to know of a table, from its description.';

CREATE TABLE iasql_internal.account (
    name     text PRIMARY KEY,
    provider text NOT NULL
);
COMMENT ON TABLE iasql_internal.account IS 'The accounts there are: the units of synchronization. Kept by triggers on the tables that define accounts.';

CREATE TABLE iasql_internal.imported (
    account    text NOT NULL REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    table_name text NOT NULL REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, table_name)
);
COMMENT ON TABLE iasql_internal.imported IS 'Tables whose full import has completed once for an account: before that ENFORCE deletes nothing.';

CREATE TABLE iasql_internal.applied_sql (
    path   text PRIMARY KEY,
    sha256 bytea NOT NULL
);
COMMENT ON TABLE iasql_internal.applied_sql IS 'The function and view files in force, to re-apply those whose text changed.';

CREATE VIEW iasql_internal.records AS SELECT ''::text AS table_name, 0::bigint AS record_id, ''::text AS account WHERE false;
COMMENT ON VIEW iasql_internal.records IS 'Every record of every managed table; made anew when a module is installed or uninstalled.';

---------------------------------------------------------------------------------------------------------------------
-- Audit log

CREATE TABLE public.iasql_audit_log (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ts             timestamptz NOT NULL DEFAULT clock_timestamp(),
    "user"         text NOT NULL,
    table_name     text,
    record_id      bigint,
    account        text,
    change_type    text NOT NULL CHECK (change_type IN
        ('INSERT', 'UPDATE', 'DELETE', 'OPEN_TRANSACTION', 'CLOSE_TRANSACTION', 'START_COMMIT', 'END_COMMIT',
         'PREVIEW_START_COMMIT', 'PREVIEW_END_COMMIT', 'START_REVERT', 'END_REVERT', 'SET_COMMIT_MESSAGE', 'ERROR')),
    change         jsonb NOT NULL,
    message        text,
    transaction_id bigint,
    xid            xid8 NOT NULL DEFAULT pg_current_xact_id(),
    origin         text NOT NULL DEFAULT 'user' CHECK (origin IN ('user', 'engine')),
    key            text,
    settled        boolean NOT NULL DEFAULT false,
    settled_at     timestamptz
);
COMMENT ON TABLE public.iasql_audit_log IS 'Every change of a managed table, by users and by the engine. The engine decides by it what to push and what to pull.';
COMMENT ON COLUMN public.iasql_audit_log."user" IS 'Role that made the change.';
COMMENT ON COLUMN public.iasql_audit_log.record_id IS 'id of the changed record.';
COMMENT ON COLUMN public.iasql_audit_log.change IS '{"original": …, "change": …}: the row of an INSERT or DELETE, the changed columns of an UPDATE. Secrets are masked.';
COMMENT ON COLUMN public.iasql_audit_log.message IS 'Commit message of the batch the change belongs to.';
COMMENT ON COLUMN public.iasql_audit_log.transaction_id IS 'Batch the change belongs to, if any.';
COMMENT ON COLUMN public.iasql_audit_log.xid IS 'Database transaction that made the change.';
COMMENT ON COLUMN public.iasql_audit_log.origin IS 'user: somebody wants it so. engine: it was found so in the cloud.';
COMMENT ON COLUMN public.iasql_audit_log.key IS 'Identity the record had before, for changes that took it away.';
COMMENT ON COLUMN public.iasql_audit_log.settled IS 'Both sides have been seen to agree on the change, or it has been decided against.';
-- Record ids first: they are short, and tell more than the name of the table.
CREATE INDEX iasql_audit_log_record ON public.iasql_audit_log (record_id, table_name);
CREATE INDEX iasql_audit_log_pending ON public.iasql_audit_log (record_id) WHERE NOT settled;
CREATE INDEX iasql_audit_log_pending_account ON public.iasql_audit_log (account) WHERE NOT settled;
CREATE INDEX iasql_audit_log_pending_key ON public.iasql_audit_log (table_name, key) WHERE NOT settled AND key IS NOT NULL;
CREATE INDEX iasql_audit_log_transaction ON public.iasql_audit_log (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX iasql_audit_log_ts ON public.iasql_audit_log USING brin (ts);

---------------------------------------------------------------------------------------------------------------------
-- Modes and settings

CREATE TABLE public.iasql_mode (
    id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    table_name  text REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    record_id   bigint,
    column_name text,
    mode        text NOT NULL CHECK (mode IN ('NORMAL', 'ENFORCE', 'TRACK')),
    UNIQUE NULLS NOT DISTINCT (table_name, record_id, column_name),
    CHECK (table_name IS NOT NULL OR (record_id IS NULL AND column_name IS NULL))
);
COMMENT ON TABLE public.iasql_mode IS 'Who wins where database and cloud differ, one rule a row. NULL is the wildcard; the more specific rule wins; no rule means NORMAL.';
COMMENT ON COLUMN public.iasql_mode.table_name IS 'Table the rule is about; NULL: every table.';
COMMENT ON COLUMN public.iasql_mode.record_id IS 'id of the record the rule is about; NULL: every record.';
COMMENT ON COLUMN public.iasql_mode.column_name IS 'Column the rule is about; NULL: every column.';
COMMENT ON COLUMN public.iasql_mode.mode IS 'NORMAL: two-way, the audit log decides. ENFORCE: the database wins. TRACK: the cloud wins, nothing is pushed.';

CREATE TABLE public.iasql_settings (
    name        text PRIMARY KEY,
    value       text NOT NULL,
    description text NOT NULL
);
COMMENT ON TABLE public.iasql_settings IS 'Settings of this installation. UPDATE value to change one; values are checked.';
INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('sync_interval', '1 minute', 'How often a full cycle looks for changes made in the cloud, as an interval of at least 1 second.'),
    ('max_deletes', '100', 'A cycle that would delete more objects than this from the cloud stops before the first and asks for review.'),
    ('max_delete_ratio', '0.5', 'A cycle that would delete a greater part of a table''s objects than this stops before the first and asks for review (see delete_ratio_floor).'),
    ('delete_ratio_floor', '5', 'max_delete_ratio is not looked at when fewer objects than this would be deleted.'),
    ('conflict_policy', 'push', 'What to do with a column that moved on both sides: push the database''s value and record the cloud''s (push), or write neither side until a person resolves it (hold).'),
    ('consistency_window', '60 seconds', 'How long after the engine''s own write a read of the cloud may still show the state before it.'),
    ('audit_retention', '90 days', 'How long settled rows of the audit log are kept, as an interval of at least 1 day.'),
    ('batch_timeout', '1 hour', 'How long a batch may stay open before it is reported as abandoned.');

---------------------------------------------------------------------------------------------------------------------
-- What the engine did and saw

CREATE TABLE iasql_internal.engine (
    id         text PRIMARY KEY,
    pid        integer NOT NULL, -- backend that holds the engine's advisory lock
    version    text NOT NULL,
    host       text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iasql_internal.engine IS 'Engines that have connected; one is alive while its backend holds its advisory lock.';

CREATE TABLE public.iasql_cycles (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account  text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('full', 'push', 'preview', 'commit', 'revert')),
    started  timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended    timestamptz,
    engine   text NOT NULL,
    reads    bigint,
    calls    bigint,
    pushes   bigint,
    pulls    bigint,
    errors   bigint,
    message  text,
    details  jsonb
);
COMMENT ON TABLE public.iasql_cycles IS 'Every cycle: when, by which engine, and what it did.';
COMMENT ON COLUMN public.iasql_cycles.kind IS 'full: everything was listed. push: only records with pending changes were looked at.';
COMMENT ON COLUMN public.iasql_cycles.reads IS 'Objects read.';
COMMENT ON COLUMN public.iasql_cycles.calls IS 'Mutating calls made.';
COMMENT ON COLUMN public.iasql_cycles.pushes IS 'Operations on the cloud that succeeded.';
COMMENT ON COLUMN public.iasql_cycles.pulls IS 'Records written.';
COMMENT ON COLUMN public.iasql_cycles.errors IS 'Records and listings that failed.';
COMMENT ON COLUMN public.iasql_cycles.message IS 'Why the cycle as a whole ended early, or stopped for review.';
COMMENT ON COLUMN public.iasql_cycles.details IS 'The errors, as a list.';
CREATE INDEX iasql_cycles_started ON public.iasql_cycles (started);

CREATE TABLE iasql_internal.lease (
    account text PRIMARY KEY REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    fence   bigint NOT NULL,
    engine  text NOT NULL,
    since   timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iasql_internal.lease IS 'Who may run cycles of an account: the holder of the advisory lock, whose fence is the newest.';

CREATE TABLE public.iasql_operations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cycle_id   bigint NOT NULL,
    account    text NOT NULL,
    region     text NOT NULL,
    table_name text NOT NULL,
    record_id  bigint,
    kind       text NOT NULL CHECK (kind IN ('create', 'update', 'delete')),
    service    text NOT NULL,
    action     text NOT NULL,
    token      text,
    key        text,
    columns    jsonb NOT NULL DEFAULT '{}',
    up_to      bigint NOT NULL DEFAULT 0,
    replaces   boolean NOT NULL DEFAULT false,
    started    timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended      timestamptz,
    result     text CHECK (result IN ('ok', 'failed', 'unknown', 'abandoned')),
    error      text,
    transaction_id bigint
);
COMMENT ON TABLE public.iasql_operations IS 'The journal: every mutating call to the cloud, committed before it is made. A row without an end is looked for by the next cycle.';
COMMENT ON COLUMN public.iasql_operations.token IS 'Client token or tag by which a creation is found again.';
COMMENT ON COLUMN public.iasql_operations.key IS 'Identity of the object.';
COMMENT ON COLUMN public.iasql_operations.columns IS '{"column": {"from": …, "to": …}}; secrets are left out.';
COMMENT ON COLUMN public.iasql_operations.up_to IS 'Newest audit row of the record when the call was made.';
COMMENT ON COLUMN public.iasql_operations.replaces IS 'Part of a replacement.';
COMMENT ON COLUMN public.iasql_operations.result IS 'ok, failed, unknown (the answer was lost; being looked for), abandoned (proven to have had no effect, or made anew).';
COMMENT ON COLUMN public.iasql_operations.transaction_id IS 'Batch the operation belongs to, if any.';
CREATE INDEX iasql_operations_unfinished ON public.iasql_operations (account) WHERE ended IS NULL;
CREATE INDEX iasql_operations_recent ON public.iasql_operations (account, ended);
CREATE INDEX iasql_operations_record ON public.iasql_operations (table_name, record_id);

CREATE TABLE iasql_internal.record_state (
    table_name      text NOT NULL REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    record_id       bigint NOT NULL,
    account         text NOT NULL,
    region          text NOT NULL DEFAULT '',
    state           text NOT NULL,
    message         text NOT NULL DEFAULT '',
    code            text NOT NULL DEFAULT '',
    review          boolean NOT NULL DEFAULT false,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    since           timestamptz NOT NULL DEFAULT now(),
    failed_at       bigint NOT NULL DEFAULT 0,
    identity        jsonb,
    key             text,
    replacing       boolean NOT NULL DEFAULT false,
    unconfirmed     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (table_name, record_id)
);
COMMENT ON TABLE iasql_internal.record_state IS 'What is remembered of a record that is not settled. A record without a row here is as the tables and the audit log say.';
CREATE INDEX record_state_account ON iasql_internal.record_state (account);
CREATE INDEX record_state_key ON iasql_internal.record_state (table_name, key) WHERE key IS NOT NULL;

CREATE TABLE iasql_internal.garbage (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name      text NOT NULL REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    account         text NOT NULL,
    region          text NOT NULL DEFAULT '',
    key             text NOT NULL,
    identity        jsonb NOT NULL,
    record_id       bigint NOT NULL,
    state           text NOT NULL DEFAULT 'Replacing',
    message         text NOT NULL DEFAULT '',
    code            text NOT NULL DEFAULT '',
    review          boolean NOT NULL DEFAULT false,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    since           timestamptz NOT NULL DEFAULT now(),
    UNIQUE (table_name, account, region, key)
);
COMMENT ON TABLE iasql_internal.garbage IS 'Objects whose record has a successor in the cloud already: they have to go.';

CREATE TABLE public.iasql_conflicts (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name     text NOT NULL,
    record_id      bigint NOT NULL,
    column_name    text,
    database_value jsonb,
    cloud_value    jsonb,
    base           jsonb,
    audit_id       bigint NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    resolved       text CHECK (resolved IN ('database', 'cloud', 'pushed', 'pulled')),
    resolved_at    timestamptz,
    resolved_by    text,
    UNIQUE NULLS NOT DISTINCT (table_name, record_id, column_name, audit_id, cloud_value)
);
COMMENT ON TABLE public.iasql_conflicts IS 'Columns that moved on both sides. Each keeps the value that did not win. UPDATE resolved to database or cloud to decide one that is open.';
COMMENT ON COLUMN public.iasql_conflicts.column_name IS 'Column that moved on both sides; NULL: the record was changed here and deleted in the cloud.';
COMMENT ON COLUMN public.iasql_conflicts.database_value IS 'Value a user wrote.';
COMMENT ON COLUMN public.iasql_conflicts.cloud_value IS 'Value found in the cloud.';
COMMENT ON COLUMN public.iasql_conflicts.base IS 'Value both sides last agreed on.';
COMMENT ON COLUMN public.iasql_conflicts.resolved IS 'pushed, pulled: decided by the engine. database, cloud: decided by a person. NULL: open, both sides are left alone.';
CREATE INDEX iasql_conflicts_record ON public.iasql_conflicts (table_name, record_id);

---------------------------------------------------------------------------------------------------------------------
-- Batches and requests

CREATE TABLE iasql_internal.batch (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    opened_by text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    closed_at timestamptz,
    outcome   text,
    message   text,
    undoes    bigint
);
COMMENT ON TABLE iasql_internal.batch IS 'Batches; at most one is open.';
CREATE UNIQUE INDEX batch_open ON iasql_internal.batch ((true)) WHERE closed_at IS NULL;

CREATE TABLE iasql_internal.request (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind     text NOT NULL,
    args     jsonb NOT NULL,
    asked_by text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started  timestamptz,
    ended    timestamptz,
    result   jsonb,
    error    jsonb
);
COMMENT ON TABLE iasql_internal.request IS 'What blocking functions ask of the engine, and its answers.';

-- +goose Down
DROP TABLE iasql_internal.request, iasql_internal.batch, public.iasql_conflicts, iasql_internal.garbage, iasql_internal.record_state,
    public.iasql_operations, iasql_internal.lease, public.iasql_cycles, iasql_internal.engine, public.iasql_settings, public.iasql_mode,
    public.iasql_audit_log, iasql_internal.applied_sql, iasql_internal.imported, iasql_internal.account, iasql_internal.managed_table,
    public.iasql_tables, iasql_internal.module, iasql_internal.installation CASCADE;
