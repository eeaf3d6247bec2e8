-- +goose Up
-- What the audit log says of who has changed something in the cloud, conflicts say, too: what was overwritten there is in
-- no row of the audit log.
ALTER TABLE public.iasql_conflicts
    ADD COLUMN actor_session text,
    ADD COLUMN source_address text,
    ADD COLUMN user_agent text;
COMMENT ON COLUMN public.iasql_conflicts.actor_session IS 'Name of the actor''s session, if it has assumed a role: with IAM Identity Center, of the person. Of a user of IAM, the user''s name.';
COMMENT ON COLUMN public.iasql_conflicts.source_address IS 'Where the actor''s call came from: an IP address, or the name of a service.';
COMMENT ON COLUMN public.iasql_conflicts.user_agent IS 'The tool that made the call, as it calls itself.';

-- +goose Down
DROP TRIGGER IF EXISTS iasql_author ON public.iasql_conflicts;
ALTER TABLE public.iasql_conflicts DROP COLUMN actor_session CASCADE, DROP COLUMN source_address CASCADE, DROP COLUMN user_agent CASCADE;
