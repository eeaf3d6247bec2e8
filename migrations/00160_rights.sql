-- +goose Up
-- A permit is for one deed: that of another is none (R33).
ALTER TABLE iasql_internal.permit DROP CONSTRAINT permit_may_check;
ALTER TABLE iasql_internal.permit ADD CONSTRAINT permit_may_check CHECK (may IN ('see', 'change', 'update', 'keep', 'delete', 'insert', 'lift', 'rule'));
COMMENT ON COLUMN iasql_internal.permit.may IS 'The deed; see iasql_internal.deed.';

-- An approval counts only while who gave it may still give it. Those that were given before are given again.
ALTER TABLE iasql_internal.approval
    ADD COLUMN login    oid,
    ADD COLUMN role     oid,
    ADD COLUMN tables   text[],
    ADD COLUMN policies text;
COMMENT ON COLUMN iasql_internal.approval.login IS 'Who logged in, by oid: a role that is dropped and made anew is somebody else.';
COMMENT ON COLUMN iasql_internal.approval.role IS 'The role that was set, or the login.';
COMMENT ON COLUMN iasql_internal.approval.tables IS 'The tables that the plan has lines of.';
COMMENT ON COLUMN iasql_internal.approval.policies IS 'What row-level security said of these tables to that role, as a sum: once it says something else, the approval does not count any more.';

CREATE TABLE iasql_internal.undo_doubt (
    batch  bigint PRIMARY KEY REFERENCES iasql_internal.batch ON DELETE CASCADE,
    undoes bigint NOT NULL
);
COMMENT ON TABLE iasql_internal.undo_doubt IS 'Batches that undo another, until the rows that they have written are found to be such as their caller might have written. A transaction that leaves one does not commit.';

ALTER TABLE iasql_internal.console_token ADD COLUMN login oid;
COMMENT ON COLUMN iasql_internal.console_token.login IS 'Who had logged in when the token was made: it is good only while that login may still be the role.';

-- The check of an earlier version does not know every setting; it comes back when the functions are re-applied.
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
UPDATE public.iasql_settings SET description = description || ' Administrators set it.'
WHERE name IN ('audit_retention', 'max_deletes', 'max_delete_ratio', 'delete_ratio_floor', 'batch_timeout', 'progress_timeout');

-- +goose Down
ALTER TABLE iasql_internal.console_token DROP COLUMN login;
DROP TABLE iasql_internal.undo_doubt CASCADE;
ALTER TABLE iasql_internal.approval DROP COLUMN login, DROP COLUMN role, DROP COLUMN tables, DROP COLUMN policies;
DELETE FROM iasql_internal.permit;
ALTER TABLE iasql_internal.permit DROP CONSTRAINT permit_may_check;
ALTER TABLE iasql_internal.permit ADD CONSTRAINT permit_may_check CHECK (may IN ('see', 'change'));
UPDATE public.iasql_settings SET description = replace(description, ' Administrators set it.', '')
WHERE name IN ('audit_retention', 'max_deletes', 'max_delete_ratio', 'delete_ratio_floor', 'batch_timeout', 'progress_timeout');
