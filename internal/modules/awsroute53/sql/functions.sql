-- DNS names have no case, a dot at their end or none, and characters or their escape codes, \ooo. However they are
-- written they are kept one way, that of normalName in module.go, so that a record is found under the name that AWS
-- has for it.
CREATE OR REPLACE FUNCTION iasql_internal.aws_route53_name() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    name text := to_jsonb(NEW) ->> TG_ARGV[0];
    normal text := '';
    at int := 1;
    part text;
    code int;
BEGIN
    WHILE at <= length(name) LOOP
        part := substr(name, at, 4);
        IF part ~ '^\\[0-3][0-7]{2}$' THEN
            at := at + 4;
            code := 64 * substr(part, 2, 1)::int + 8 * substr(part, 3, 1)::int + substr(part, 4, 1)::int;
            IF code > 32 AND code < 127 AND code NOT IN (ascii('.'), ascii('\')) THEN
                part := chr(code);
            END IF;
        ELSE
            at := at + 1;
            part := left(part, 1);
            code := ascii(part);
            IF code <= 32 OR code IN (ascii('\'), 127) THEN
                part := '\' || (code / 64) || (code / 8 % 8) || (code % 8);
            END IF;
        END IF;
        normal := normal || part;
    END LOOP;
    IF name IS NOT NULL THEN
        name := rtrim(lower(normal COLLATE "C"), '.') || '.';
    END IF;
    RETURN jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], name));
END;
$$;
