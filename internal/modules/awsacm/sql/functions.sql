-- Who has records made by AWS's answers has to be allowed to make them: the engine makes them later, with its own rights.
CREATE OR REPLACE FUNCTION iasql_internal.aws_acm_may_write_dns() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    said text := coalesce(TG_ARGV[0], 'dns_records'); -- the column that says so
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    ELSIF to_regclass('public.resource_record_set') IS NULL THEN
        RAISE EXCEPTION '% needs the table resource_record_set', said
            USING ERRCODE = 'IA016', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = said, HINT = 'SELECT * FROM iasql_install(''aws_route53'')';
    ELSIF NOT (has_table_privilege(iasql_internal.writer(), 'public.resource_record_set', 'INSERT') AND has_table_privilege(iasql_internal.writer(), 'public.resource_record_set', 'UPDATE'))
          OR NOT iasql_internal.trusted(iasql_internal.writer()::regrole)
             AND (SELECT c.relrowsecurity FROM pg_class c WHERE c.oid = to_regclass('public.resource_record_set')) THEN
        RAISE EXCEPTION '% takes the right to insert and update all of resource_record_set', said
            USING ERRCODE = '42501', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = said,
                  HINT = 'Leave it out, and insert the records yourself.';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_acm_may_write_dns() IS 'Row trigger of tables with the column dns_records: refuses it to who may not write DNS records. Argument: the column, if it is another one.';

-- The zone is that of the account with the longest name that the record's ends with. What the rules of iasql_mode, what
-- constraints and what is attached to the table refuse is left to a person. The record is nobody's but the user's who asked
-- for it: it is pushed like any other (R4).
-- Within a commit it is the batch's, and of the configurations that have what it is for.
DROP FUNCTION IF EXISTS iasql_internal.aws_acm_put_dns(text, text, text, text, text, text), iasql_internal.aws_acm_put_dns(text, text, text, text, text, text, text, bigint);
CREATE OR REPLACE FUNCTION iasql_internal.aws_acm_put_dns(owner text, name text, kind text, value text, target text, was text, target_zone text,
                                                          made_for text, made_for_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    zone bigint;
    origin text := coalesce(current_setting('iasql.origin', true), '');
    full_name text := rtrim(lower(name COLLATE "C"), '.') || '.';
    batch text := coalesce(current_setting('iasql.cycle_of', true), '');
    made bigint;
BEGIN
    IF to_regclass('public.resource_record_set') IS NULL THEN
        RETURN;
    END IF;
    EXECUTE $q$SELECT z.id FROM public.hosted_zone z
               WHERE z.account = $1 AND z.is_private IS NOT TRUE AND right('.' || $2, length(z.domain_name) + 1) = '.' || z.domain_name
               ORDER BY length(z.domain_name) DESC, z.id LIMIT 1$q$ INTO zone USING owner, full_name;
    IF zone IS NULL THEN
        RETURN;
    END IF;
    PERFORM iasql_internal.refuse_untrusted(ARRAY['resource_record_set']);
    IF origin = 'engine' THEN
        PERFORM set_config('iasql.origin', CASE WHEN batch <> '' THEN 'batch' ELSE 'user' END, true), set_config('iasql.reverts', batch, true);
    END IF;
    EXECUTE $q$UPDATE public.resource_record_set SET alias_dns_name = $5, alias_hosted_zone_id = $6
               WHERE parent_hosted_zone_id = $1 AND name = $2 AND record_type = $3 AND rtrim(alias_dns_name, '.') = $4 AND $4 <> $5$q$
        USING zone, full_name, kind, was, target, target_zone;
    EXECUTE $q$INSERT INTO public.resource_record_set (account, parent_hosted_zone_id, name, record_type, record, ttl, alias_dns_name, alias_hosted_zone_id, alias_evaluate_target_health)
               SELECT $1, $2, $3, $4, $5, CASE WHEN $5 IS NOT NULL THEN 300 END, $6, $7, CASE WHEN $6 IS NOT NULL THEN false END
               WHERE NOT EXISTS (SELECT FROM public.resource_record_set r WHERE r.parent_hosted_zone_id = $2 AND r.name = $3 AND r.record_type = $4)
               RETURNING id$q$
        INTO made USING owner, zone, full_name, kind, value, target, target_zone;
    PERFORM set_config('iasql.origin', origin, true);
    IF made IS NOT NULL THEN
        PERFORM iasql_internal.mention_with('resource_record_set', made, made_for, made_for_id);
        PERFORM iasql_internal.part_with('resource_record_set', made, made_for, made_for_id);
    END IF;
EXCEPTION
    WHEN SQLSTATE 'IA002' OR SQLSTATE 'IA020' OR SQLSTATE 'IA091' OR integrity_constraint_violation THEN
        NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_acm_put_dns(text, text, text, text, text, text, text, text, bigint) IS 'Makes a DNS record in the zone of an account that it belongs into, unless there is one; an alias that was of another target is changed.';
REVOKE ALL ON FUNCTION iasql_internal.aws_acm_put_dns(text, text, text, text, text, text, text, text, bigint) FROM PUBLIC;

-- Of an instance of a composition, whose parts they are, records of names go that are left out.
CREATE OR REPLACE FUNCTION iasql_internal.aws_acm_drop_dns(made_for text, made_for_id bigint, names text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    made bigint[] := iasql_internal.parts_with('resource_record_set', made_for, made_for_id);
BEGIN
    IF made = '{}' OR iasql_internal.writer_is_engine() OR coalesce(current_setting('iasql.restoring', true), '') = 'on' THEN
        RETURN;
    ELSIF NOT has_table_privilege(iasql_internal.writer(), 'public.resource_record_set', 'DELETE') THEN
        RAISE EXCEPTION 'permission denied: the records of names that % % loses are not yours to delete', made_for, made_for_id
            USING ERRCODE = '42501', TABLE = 'resource_record_set', HINT = 'Ask an administrator for the right to DELETE from resource_record_set.';
    END IF;
    EXECUTE $q$DELETE FROM public.resource_record_set r
               WHERE r.id = ANY ($1) AND NOT EXISTS (SELECT FROM unnest($2) n (name) WHERE rtrim(lower(n.name COLLATE "C"), '.') || '.' = r.name)$q$
        USING made, names;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_acm_drop_dns(text, bigint, text[]) IS 'Deletes the DNS records of names that what they were made for has no more, if they are parts of an instance of a composition.';
REVOKE ALL ON FUNCTION iasql_internal.aws_acm_drop_dns(text, bigint, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.aws_acm_validate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NOT OLD.dns_records OR NEW.domain_validation_records IS DISTINCT FROM OLD.domain_validation_records THEN
        PERFORM iasql_internal.aws_acm_put_dns(NEW.account, r.name, r.type, r.value, NULL, NULL, NULL, 'certificate', NEW.id)
        FROM jsonb_to_recordset(NEW.domain_validation_records) AS r (name text, type text, value text);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_acm_validate() IS 'Row trigger of certificate: makes the records that validate it.';
