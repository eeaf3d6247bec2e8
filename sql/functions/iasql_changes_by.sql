-- The names that the caller may see whom the audit log has changes of, one index probe each. (Operators that compare texts
-- are leakproof, so that they use indexes beside the audit log's policies; those of patterns are not, and look at these.)
CREATE OR REPLACE FUNCTION iasql_internal.changers() RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE actors AS (
        (SELECT l.actor AS name, 1 AS n FROM public.iasql_audit_log l WHERE l.actor IS NOT NULL ORDER BY l.actor LIMIT 1)
        UNION ALL
        SELECT (SELECT l.actor FROM public.iasql_audit_log l WHERE l.actor IS NOT NULL AND l.actor > a.name ORDER BY l.actor LIMIT 1), a.n + 1
        FROM actors a WHERE a.name IS NOT NULL AND a.n < 5000
    ), sessions AS (
        (SELECT l.actor_session AS name, 1 AS n FROM public.iasql_audit_log l WHERE l.actor_session IS NOT NULL ORDER BY l.actor_session LIMIT 1)
        UNION ALL
        SELECT (SELECT l.actor_session FROM public.iasql_audit_log l WHERE l.actor_session IS NOT NULL AND l.actor_session > s.name ORDER BY l.actor_session LIMIT 1), s.n + 1
        FROM sessions s WHERE s.name IS NOT NULL AND s.n < 5000
    ), users AS (
        (SELECT l."user" AS name, 1 AS n FROM public.iasql_audit_log l WHERE l.origin = 'user' ORDER BY l."user" LIMIT 1)
        UNION ALL
        SELECT (SELECT l."user" FROM public.iasql_audit_log l WHERE l.origin = 'user' AND l."user" > u.name ORDER BY l."user" LIMIT 1), u.n + 1
        FROM users u WHERE u.name IS NOT NULL AND u.n < 5000
    )
    SELECT a.name FROM actors a WHERE a.name IS NOT NULL
    UNION SELECT s.name FROM sessions s WHERE s.name IS NOT NULL
    UNION SELECT u.name FROM users u WHERE u.name IS NOT NULL;
END;
COMMENT ON FUNCTION iasql_internal.changers() IS 'Who has changed something: whom the cloud names, names of sessions and users, and roles, as far as the caller may see; 5,000 of each at most.';

CREATE OR REPLACE FUNCTION public.iasql_changes_by(who text, since timestamptz DEFAULT '-infinity')
RETURNS TABLE (ts timestamptz, table_name text, record_id bigint, change_type text, change jsonb, actor text, actor_session text, source_address text, user_agent text, event_id text, also text[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- LIKE's own characters are letters like others; * stands for any.
    pattern  text := replace(regexp_replace(who, '([\\%_])', '\\\1', 'g'), '*', '%');
    earliest timestamptz := coalesce(iasql_changes_by.since, '-infinity');
    names    text[] := ARRAY[who];
    known    text;
BEGIN
    IF who IS NULL THEN
        RETURN QUERY
        SELECT l.ts, l.table_name, l.record_id, l.change_type, l.change, l.actor, l.actor_session, l.source_address, l.user_agent, l.event_id, l.also
        FROM public.iasql_audit_log l
        WHERE l.table_name IS NOT NULL AND l.actor IS NULL AND l.since IS NOT NULL AND l.ts >= earliest
        ORDER BY 1, l.id;
        IF NOT FOUND THEN
            RAISE NOTICE 'nothing was found in the cloud since % whose author no event has told', earliest
                USING HINT = 'Of an account whose events nobody reads (iasql_event_sources) no author is known: iasql_history has what was found there.';
        END IF;
        RETURN;
    END IF;
    IF who LIKE '%*%' THEN
        names := ARRAY(SELECT c FROM iasql_internal.changers() c WHERE c ILIKE pattern);
    ELSIF NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.actor = who OR l.actor_session = who OR l.origin = 'user' AND l."user" = who) THEN
        names := ARRAY(SELECT c FROM iasql_internal.changers() c WHERE lower(c) = lower(who)) || who;
    END IF;
    RETURN QUERY
    SELECT coalesce(l.event_time, l.ts), l.table_name, l.record_id, l.change_type, l.change, coalesce(l.actor, CASE WHEN l.origin = 'user' THEN l."user" END), l.actor_session, l.source_address, l.user_agent, l.event_id, l.also
    FROM public.iasql_audit_log l
    WHERE l.table_name IS NOT NULL
      -- By the cloud's clock, where it says when: the pull came later, but for what the clocks differ by.
      AND l.ts >= earliest - interval '1 minute' AND coalesce(l.event_time, l.ts) >= earliest
      AND (l.actor = ANY (names) AND l.actor IS NOT NULL OR l.actor_session = ANY (names) AND l.actor_session IS NOT NULL OR l."user" = ANY (names) AND l.origin = 'user'
           OR l.also IS NOT NULL AND EXISTS (SELECT FROM unnest(l.also) o WHERE o = ANY (names) OR substring(o FROM '[^/:]+$') = ANY (names)))
    ORDER BY 1, l.id;
    IF NOT FOUND THEN
        IF names <> '{}' AND names <> ARRAY[who] OR EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.actor = who OR l.actor_session = who OR l.origin = 'user' AND l."user" = who) THEN
            RAISE NOTICE '% has changed nothing since %', who, earliest;
        ELSE
            SELECT string_agg(a.c, ', ') INTO known FROM (SELECT c FROM iasql_internal.changers() c WHERE c ILIKE '%' || pattern || '%' ORDER BY length(c), c LIMIT 5) a;
            RAISE NOTICE 'no change by % is known', who
                USING HINT = coalesce('There are changes by ' || known || '.',
                    'It takes what the cloud calls somebody in full, the name of a session or of a user there, or a role of this database; * stands for any characters. In the cloud nobody is known without events (iasql_event_sources).');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION public.iasql_changes_by(text, timestamptz) IS
$$What somebody has changed: in the cloud, by what the cloud calls him in full, or the name of the session or of the user, as events have told (iasql_event_sources); or in the tables, by role. * stands for any characters; upper and lower case are the same where nobody has just that name. Also what others have changed where it may have been he (also). ts is when the call was made. actor is who made it: what the cloud calls him in full, or of a change made here the role. NULL for who: what was found in the cloud although its events are read, and no event has told of, so that nobody is known to have done it.
Sample: SELECT * FROM iasql_changes_by('ana@example.com', now() - interval '1 day')$$;
