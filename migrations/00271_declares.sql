-- +goose Up
ALTER TABLE iasql_internal.batch ADD COLUMN declares text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.batch.declares IS 'The configurations that were declared in it: of the declarations themselves only the newest are kept.';
UPDATE iasql_internal.batch b SET declares = d.names
FROM (SELECT d.batch, array_agg(d.configuration ORDER BY d.id) AS names FROM iasql_internal.declaration d GROUP BY d.batch) d
WHERE d.batch = b.id;

-- +goose Down
ALTER TABLE iasql_internal.batch DROP COLUMN declares CASCADE;
