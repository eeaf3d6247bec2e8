-- A conflict that is told by an event says all that the event says of who it was. The event itself is kept for hours only.
CREATE OR REPLACE FUNCTION iasql_internal.conflict_author() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT e.actor_session, e.source_address, e.user_agent INTO NEW.actor_session, NEW.source_address, NEW.user_agent
    FROM iasql_internal.account a JOIN iasql_internal.cloud_event e ON e.account = a.name AND e.id = NEW.event_id
    LIMIT 1;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.conflict_author() IS 'Adds to a conflict what an event says of who was on the other side.';
CREATE OR REPLACE TRIGGER iasql_author BEFORE UPDATE OF event_id ON public.iasql_conflicts
    FOR EACH ROW WHEN (NEW.event_id IS NOT NULL AND NEW.event_id IS DISTINCT FROM OLD.event_id) EXECUTE FUNCTION iasql_internal.conflict_author();
