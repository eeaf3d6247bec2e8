-- +goose Up
CREATE SCHEMA iasql_composition;
COMMENT ON SCHEMA iasql_composition IS 'What the rows of compositions stand for: a function for each part, made when a composition is installed.';
CREATE TYPE iasql_composition.part AS (part text, key text, id bigint);
COMMENT ON TYPE iasql_composition.part IS 'A record that an instance of a composition has: of which part, by which key, and its id.';

CREATE TABLE iasql_internal.composition (
    name text PRIMARY KEY REFERENCES iasql_internal.module (name) ON DELETE CASCADE,
    own  boolean NOT NULL
);
COMMENT ON TABLE iasql_internal.composition IS 'The modules that are compositions: their table is an interface, and each row of it stands for records of other tables.';
COMMENT ON COLUMN iasql_internal.composition.own IS 'It is from a folder of the user''s, and not one that the engine brings.';

CREATE TABLE iasql_internal.composition_part (
    composition text NOT NULL REFERENCES iasql_internal.composition (name) ON DELETE CASCADE,
    part        text NOT NULL,
    place       integer NOT NULL,
    table_name  text NOT NULL,
    columns     text[] NOT NULL,
    PRIMARY KEY (composition, part)
);
COMMENT ON TABLE iasql_internal.composition_part IS 'The parts of the installed compositions: the table that the records are of, and the columns that are written. Records are made in the order of place, and deleted in the other.';

CREATE TABLE iasql_internal.part (
    table_name  text NOT NULL REFERENCES iasql_internal.managed_table (name) ON UPDATE CASCADE ON DELETE CASCADE,
    record_id   bigint NOT NULL,
    composition text NOT NULL REFERENCES iasql_internal.managed_table (name) ON UPDATE CASCADE ON DELETE CASCADE,
    instance    bigint NOT NULL,
    part        text NOT NULL,
    key         text NOT NULL,
    PRIMARY KEY (table_name, record_id)
);
COMMENT ON TABLE iasql_internal.part IS 'Which records were made as parts of which instances. That is so for ever, as no number is given twice: it counts while both are there, and a rollback that brings a record back brings its part back.';
CREATE INDEX part_instance ON iasql_internal.part (composition, instance);

ALTER TABLE iasql_internal.managed_table ADD COLUMN composition boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN iasql_internal.managed_table.composition IS 'Its rows stand for records of other tables, and for nothing in the cloud themselves.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN composition CASCADE;
DROP TABLE iasql_internal.part, iasql_internal.composition_part, iasql_internal.composition CASCADE;
DROP SCHEMA iasql_composition CASCADE;
