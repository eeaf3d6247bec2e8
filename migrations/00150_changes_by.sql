-- +goose Up
-- For iasql_changes_by.
CREATE INDEX iasql_audit_log_user ON public.iasql_audit_log ("user", ts) WHERE origin = 'user';
CREATE INDEX iasql_audit_log_also ON public.iasql_audit_log (ts) WHERE also IS NOT NULL;
COMMENT ON COLUMN public.iasql_audit_log.actor_session IS 'Name of the actor''s session, if it has assumed a role: with IAM Identity Center, of the person. Of a user of IAM, the user''s name.';

-- +goose Down
DROP INDEX public.iasql_audit_log_user, public.iasql_audit_log_also;
COMMENT ON COLUMN public.iasql_audit_log.actor_session IS 'Name of the actor''s session, if it has assumed a role: with IAM Identity Center, of the person.';
