-- +goose Up
-- What is known of a change decides who counts as its author: the function of that name has other parameters.
DROP FUNCTION IF EXISTS iasql_internal.suspect(text, text, bigint, text[], text[], timestamptz, timestamptz);

-- +goose Down
DROP FUNCTION IF EXISTS iasql_internal.suspect(text, text, bigint, text[], text[], timestamptz, timestamptz, text, boolean, text[]);
DROP FUNCTION IF EXISTS iasql_internal.suspects(text, text, bigint, text[], text[], timestamptz, timestamptz, text[]);
DROP FUNCTION IF EXISTS iasql_internal.is_drift(public.iasql_audit_log, text[]);
