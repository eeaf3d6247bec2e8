-- +goose Up
CREATE TABLE iasql_internal.listing (
    account    text NOT NULL REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    table_name text NOT NULL REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    region     text NOT NULL,
    tried      timestamptz NOT NULL,
    listed     timestamptz,
    changed    timestamptz,
    objects    bigint NOT NULL DEFAULT 0,
    rules      text NOT NULL,
    denied     text,
    partly     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (account, table_name, region)
) WITH (fillfactor = 70);
COMMENT ON TABLE iasql_internal.listing IS 'When the engine last listed a table of the cloud, by account and region, and what came of it. How often it does depends on that.';
COMMENT ON COLUMN iasql_internal.listing.region IS 'Region; empty for what an account has once.';
COMMENT ON COLUMN iasql_internal.listing.tried IS 'When the last listing began, complete or denied.';
COMMENT ON COLUMN iasql_internal.listing.listed IS 'When the last complete listing began. NULL: there has been none, and ENFORCE deletes nothing there.';
COMMENT ON COLUMN iasql_internal.listing.changed IS 'When the last listing began that found something new. NULL: none has.';
COMMENT ON COLUMN iasql_internal.listing.objects IS 'How many objects the last complete listing showed.';
COMMENT ON COLUMN iasql_internal.listing.rules IS 'Version of the rules of iasql_mode that the last listing was decided by.';
COMMENT ON COLUMN iasql_internal.listing.denied IS 'Why the cloud did not allow the last listing, or what of it; NULL if it did.';
COMMENT ON COLUMN iasql_internal.listing.partly IS 'All but what denied names was listed.';

ALTER TABLE public.iasql_tables ADD COLUMN last_seen timestamptz;
COMMENT ON COLUMN public.iasql_tables.last_seen IS 'Everything the cloud has of the table was looked at then or later. NULL: something has never been, or may not be (iasql_listings), or the table is not read from the cloud.';

INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('max_staleness', '10 minutes', 'How old the newest listing of a table may become in a region where nothing changes. 0: every full cycle lists everything.');

-- What was imported before listings were remembered was imported everywhere: ENFORCE goes on there as it did.
-- +goose StatementBegin
DO $$
BEGIN
    INSERT INTO iasql_internal.listing (account, table_name, region, tried, listed, changed, rules)
    SELECT i.account, i.table_name, '', i.at, i.at, i.at, '' FROM iasql_internal.imported i JOIN iasql_internal.managed_table m ON m.name = i.table_name AND NOT m.regional;
    IF to_regclass('public.aws_regions') IS NOT NULL THEN
        INSERT INTO iasql_internal.listing (account, table_name, region, tried, listed, changed, rules)
        SELECT i.account, i.table_name, r.region, i.at, i.at, i.at, ''
        FROM iasql_internal.imported i JOIN iasql_internal.managed_table m ON m.name = i.table_name AND m.regional
        JOIN public.aws_regions r ON r.account = i.account AND r.is_enabled;
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- The earlier version makes its trigger anew.
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
DELETE FROM public.iasql_settings WHERE name = 'max_staleness';
-- Views that use the columns go with them; the earlier version has none.
ALTER TABLE public.iasql_tables DROP COLUMN last_seen CASCADE;
DROP TABLE iasql_internal.listing CASCADE;
