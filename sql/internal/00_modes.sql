-- Of two rules of iasql_mode with the same target the one whose mode comes later here wins. (All in package modes has the same
-- list, and so has the constraint of iasql_mode.)
CREATE OR REPLACE FUNCTION iasql_internal.modes() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN ARRAY['ENFORCE', 'NORMAL', 'TRACK', 'PAUSE'];
COMMENT ON FUNCTION iasql_internal.modes() IS 'The modes there are, the more careful the later.';
