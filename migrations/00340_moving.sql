-- +goose Up
CREATE TABLE iasql_internal.moving (
    account text PRIMARY KEY REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    move    uuid NOT NULL,
    cell    text NOT NULL,
    side    text NOT NULL CHECK (side IN ('leaving', 'left', 'arriving')),
    since   timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE iasql_internal.moving IS 'Accounts that engine cells move takes to another database or brings from one. While a row is here, no engine has the account''s lease, and nobody writes its records.';
COMMENT ON COLUMN iasql_internal.moving.move IS 'Which move it is: the id in the registry of cells.';
COMMENT ON COLUMN iasql_internal.moving.cell IS 'The other cell.';
COMMENT ON COLUMN iasql_internal.moving.side IS 'leaving: it is still this database''s, and an undo gives it back. left: it is the other cell''s, and its rows here are about to go. arriving: it is the other cell''s until that says left.';

-- What an engine has seen of an account that has left is not missing: R30.
ALTER TABLE iasql_internal.server_seen ADD COLUMN left_audit bigint NOT NULL DEFAULT 0, ADD COLUMN left_operation bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN iasql_internal.server_seen.left_audit IS 'Newest row of the audit log when an account last left for another cell: rows up to it may have gone with it.';
COMMENT ON COLUMN iasql_internal.server_seen.left_operation IS 'Newest operation then.';

-- +goose Down
ALTER TABLE iasql_internal.server_seen DROP COLUMN left_audit, DROP COLUMN left_operation;
DROP TABLE iasql_internal.moving CASCADE;
