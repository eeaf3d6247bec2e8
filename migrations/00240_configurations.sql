-- +goose Up
CREATE TABLE iasql_internal.declaration (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    configuration text NOT NULL,
    batch         bigint NOT NULL REFERENCES iasql_internal.batch ON DELETE CASCADE,
    own           boolean NOT NULL,
    removes       boolean NOT NULL DEFAULT false,
    revision      text,
    declared_by   text NOT NULL,
    begun_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz,
    ended_xid     xid8,
    closed_at     timestamptz,
    previous      bigint
);
COMMENT ON TABLE iasql_internal.declaration IS 'The declarations of configurations: those that are open, the one in force of each configuration, and the one before it.';
COMMENT ON COLUMN iasql_internal.declaration.batch IS 'The batch that it is part of: it is in force once that is committed.';
COMMENT ON COLUMN iasql_internal.declaration.own IS 'Its batch was opened for it, and is committed with its end.';
COMMENT ON COLUMN iasql_internal.declaration.removes IS 'It takes the configuration away, with all that only this one mentions.';
COMMENT ON COLUMN iasql_internal.declaration.ended_at IS 'When iasql_declared() was called: what is written from then on is no part of it.';
COMMENT ON COLUMN iasql_internal.declaration.ended_xid IS 'The transaction of that call: until it has committed, the engine does not see what it has deleted.';
COMMENT ON COLUMN iasql_internal.declaration.closed_at IS 'When its batch was closed.';
COMMENT ON COLUMN iasql_internal.declaration.previous IS 'The declaration that it has replaced, which is in force again once this one is undone.';
CREATE UNIQUE INDEX declaration_of_configuration ON iasql_internal.declaration (configuration) WHERE closed_at IS NULL;
CREATE UNIQUE INDEX declaration_of_batch ON iasql_internal.declaration (batch) WHERE ended_at IS NULL;
CREATE INDEX declaration_batch ON iasql_internal.declaration (batch);

CREATE TABLE iasql_internal.mention (
    declaration bigint NOT NULL REFERENCES iasql_internal.declaration ON DELETE CASCADE,
    table_name  text NOT NULL REFERENCES iasql_internal.managed_table (name) ON UPDATE CASCADE ON DELETE CASCADE,
    record_id   bigint NOT NULL,
    with_table  text,
    with_record bigint,
    PRIMARY KEY (declaration, table_name, record_id)
);
COMMENT ON TABLE iasql_internal.mention IS 'The records that declarations have written or named. A module that is installed again numbers its records anew, so that mentions go with the table.';
COMMENT ON COLUMN iasql_internal.mention.with_table IS 'It was made for this record, and is mentioned as long as that is.';
CREATE INDEX mention_record ON iasql_internal.mention (record_id, table_name);

CREATE TABLE iasql_internal.configuration (
    name        text PRIMARY KEY,
    declaration bigint NOT NULL UNIQUE REFERENCES iasql_internal.declaration,
    declared_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE iasql_internal.configuration IS 'The configurations, each with the declaration of it that is in force.';

ALTER TABLE iasql_internal.managed_table ADD COLUMN follows text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.follows IS 'The columns with names in the cloud of what another column refers to by its record.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN follows CASCADE;
DROP TABLE iasql_internal.configuration, iasql_internal.mention, iasql_internal.declaration CASCADE;
