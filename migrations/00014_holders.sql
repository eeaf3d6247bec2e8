-- +goose Up
ALTER TABLE iasql_internal.engine ADD COLUMN role oid;
COMMENT ON COLUMN iasql_internal.engine.pid IS 'Backend of the engine''s presence; the engine is connected while it is there with this role and the engine''s id in its application_name.';
COMMENT ON COLUMN iasql_internal.engine.role IS 'Login role of that backend. NULL: an engine of an earlier version, which holds an advisory lock instead.';
COMMENT ON TABLE iasql_internal.engine IS 'Engines that have connected.';

ALTER TABLE iasql_internal.lease ADD COLUMN pid integer, ADD COLUMN role oid;
COMMENT ON COLUMN iasql_internal.lease.pid IS 'Backend of the holder, which has the lease while it is there with this role and the engine''s id in its application_name. NULL: nobody holds it.';
COMMENT ON COLUMN iasql_internal.lease.role IS 'Login role of that backend.';
COMMENT ON TABLE iasql_internal.lease IS 'Who may run cycles of an account: the living holder that the row names. An advisory lock serves for waiting only; anybody may take one.';

-- +goose Down
-- Functions that use the columns go with them; the earlier version applies its own.
ALTER TABLE iasql_internal.lease DROP COLUMN pid CASCADE, DROP COLUMN role CASCADE;
ALTER TABLE iasql_internal.engine DROP COLUMN role CASCADE;
