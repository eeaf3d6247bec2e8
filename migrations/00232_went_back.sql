-- +goose Up
-- What was pending when the database went back may have been carried out; that stays so once somebody has confirmed it: R30.
ALTER TABLE iasql_internal.server_seen ADD COLUMN went_back_audit bigint, ADD COLUMN went_back_operation bigint, ADD COLUMN went_back_at timestamptz;
COMMENT ON COLUMN iasql_internal.server_seen.went_back_audit IS 'Newest row of the audit log when the database last was found to have gone back in time; NULL: it never was.';
COMMENT ON COLUMN iasql_internal.server_seen.went_back_operation IS 'Newest operation then.';
COMMENT ON COLUMN iasql_internal.server_seen.went_back_at IS 'When that was found.';
UPDATE iasql_internal.server_seen i
SET went_back_audit = i.restored_audit, went_back_operation = coalesce((SELECT max(o.id) FROM public.iasql_operations o), 0), went_back_at = i.restored_at
WHERE i.restored_at IS NOT NULL;

-- +goose Down
ALTER TABLE iasql_internal.server_seen DROP COLUMN went_back_audit CASCADE, DROP COLUMN went_back_operation CASCADE, DROP COLUMN went_back_at CASCADE;
