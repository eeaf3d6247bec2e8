-- +goose Up
ALTER TABLE public.iasql_mode ADD COLUMN until timestamptz, ADD COLUMN since timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN public.iasql_mode.until IS 'When the rule ends by itself; NULL: it does not.';
COMMENT ON COLUMN public.iasql_mode.since IS 'When the rule was made.';
ALTER TABLE public.iasql_ignore ADD COLUMN until timestamptz;
COMMENT ON COLUMN public.iasql_ignore.until IS 'When the rule ends by itself; NULL: it does not.';
ALTER TABLE public.iasql_protection ADD COLUMN until timestamptz;
COMMENT ON COLUMN public.iasql_protection.until IS 'When the protection ends by itself; NULL: it does not.';

CREATE TABLE iasql_internal.expiry (
    table_name text NOT NULL REFERENCES iasql_internal.managed_table (name) ON UPDATE CASCADE ON DELETE CASCADE,
    record_id  bigint NOT NULL,
    until      timestamptz NOT NULL,
    set_by     text NOT NULL,
    set_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    refused    text,
    due        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (table_name, record_id)
);
COMMENT ON TABLE iasql_internal.expiry IS 'The records that are deleted at a time: written by iasql_expire.';
COMMENT ON COLUMN iasql_internal.expiry.set_by IS 'The role that said so, by whose right the record is deleted.';
COMMENT ON COLUMN iasql_internal.expiry.due IS 'The last tick has found its time past: the next that does deletes it.';
COMMENT ON COLUMN iasql_internal.expiry.refused IS 'Why the record could not be deleted when its time had come.';
CREATE INDEX expiry_until ON iasql_internal.expiry (until);
ALTER TABLE iasql_internal.expiry ENABLE ROW LEVEL SECURITY;

-- +goose Down
DROP TABLE iasql_internal.expiry CASCADE;
ALTER TABLE public.iasql_protection DROP COLUMN until CASCADE;
ALTER TABLE public.iasql_ignore DROP COLUMN until CASCADE;
ALTER TABLE public.iasql_mode DROP COLUMN until CASCADE, DROP COLUMN since CASCADE;
