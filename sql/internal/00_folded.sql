-- For people at a terminal: psql does not fold what is in a cell.
CREATE OR REPLACE FUNCTION iasql_internal.folded(what text, width integer) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT string_agg(rtrim(regexp_replace(l.line, format('(.{1,%s})(?:\s+|$)', width), E'\\1\n', 'g'), E'\n'), E'\n' ORDER BY l.n)
    FROM string_to_table(what, E'\n') WITH ORDINALITY l (line, n);
END;
COMMENT ON FUNCTION iasql_internal.folded(text, integer) IS 'A text in lines of at most so many characters, broken between words.';
