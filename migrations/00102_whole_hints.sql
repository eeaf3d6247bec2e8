-- +goose Up
CREATE INDEX hint_whole ON iasql_internal.hint (table_name, account, region, id) WHERE column_name IS NULL;
COMMENT ON COLUMN public.iasql_audit_log.actor IS 'Of what was found in the cloud: who changed it there (an ARN), as the newest event between since and ts says that names the object or, if none does, that is about its table and region and names none. NULL: no event has told.';

-- +goose Down
DROP INDEX iasql_internal.hint_whole;
COMMENT ON COLUMN public.iasql_audit_log.actor IS 'Of what was found in the cloud: who changed it there, as the newest event between since and ts that names the object says (an ARN). NULL: no event has told.';
