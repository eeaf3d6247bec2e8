-- Of accounts that the caller does not see the cycles are left out.
CREATE OR REPLACE VIEW iasql_internal.connected WITH (security_barrier) AS
SELECT e.id AS engine, e.version, e.host, e.started_at AS connected_at,
       CASE WHEN NOT iasql_internal.engine_alive(e) THEN format('has shown no sign of life since %s, and others have its accounts; ', date_trunc('second', e.beat)) ELSE '' END
       || coalesce(e.stuck || '; ', '')
       || coalesce((SELECT string_agg(format('%s cycle of %s since %s', c.kind, c.account, date_trunc('second', c.started)), ', ' ORDER BY c.id)
                 FROM public.iasql_cycles c WHERE c.engine = e.id AND c.ended IS NULL
                   AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR c.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]))), 'idle')
       || coalesce((SELECT string_agg(format('; batch %s open since %s, by %s%s', b.id, date_trunc('second', b.opened_at), iasql_internal.plain(b.opened_by),
                           CASE WHEN b.opened_at < clock_timestamp() - iasql_internal.setting('batch_timeout')::interval
                                THEN format(' (abandoned? CALL iasql_join(%L), then CALL iasql_rollback(true), closes it)', coalesce(b.name, b.id::text)) END), '' ORDER BY b.id)
                    FROM iasql_internal.batch b WHERE b.closed_at IS NULL), '')
       || coalesce((SELECT string_agg(format('; reads events of %s (%s)', s.account, coalesce(iasql_internal.source_trouble(s), 'ok')), '' ORDER BY s.account, s.name)
                    FROM iasql_internal.event_source s WHERE s.holder = e.id AND s.held_until > clock_timestamp() AND s.kind <> 'connection'
                      AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR s.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]))), '')
       || coalesce((SELECT format('; watches %s accounts over its connections to them', count(*))
                    FROM iasql_internal.event_source s WHERE s.holder = e.id AND s.held_until > clock_timestamp() AND s.kind = 'connection'
                      AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR s.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]))
                    HAVING count(*) > 0), '')
       || coalesce((SELECT '; ' || string_agg(w.what, '; ') FROM iasql_internal.in_the_way() w (what)), '') AS doing
FROM iasql_internal.engine e
WHERE iasql_internal.engine_there(e);
COMMENT ON VIEW iasql_internal.connected IS 'The engines connected now, and as much of what they are doing as the caller may know.';

CREATE OR REPLACE FUNCTION public.iasql_engines()
RETURNS TABLE (engine text, version text, host text, connected_at timestamptz, doing text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT c.engine, c.version, c.host, c.connected_at, c.doing FROM iasql_internal.connected c ORDER BY c.connected_at;
END;
COMMENT ON FUNCTION public.iasql_engines() IS
$$The engines connected now, what they are doing, which sources of events they read, and who holds locks that are in their way.
Sample: SELECT * FROM iasql_engines()$$;
