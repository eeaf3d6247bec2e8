CREATE OR REPLACE FUNCTION iasql_internal.aws_cloudfront_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    left_ bigint[];
BEGIN
    -- A name of an instance of a composition that the distribution has no more.
    IF NOT iasql_internal.writer_is_engine() AND coalesce(current_setting('iasql.restoring', true), '') <> 'on'
       AND OLD.dns_records AND OLD.alternate_domain_names IS DISTINCT FROM NEW.alternate_domain_names THEN
        left_ := iasql_internal.parts_with('resource_record_set', 'distribution', NEW.id);
        IF left_ <> '{}' AND NOT has_table_privilege(iasql_internal.writer(), 'public.resource_record_set', 'DELETE') THEN
            RAISE EXCEPTION 'permission denied: records of the names that distribution % loses are not yours to delete', NEW.id
                USING ERRCODE = '42501', TABLE = 'resource_record_set', HINT = 'Ask an administrator for the right to DELETE from resource_record_set.';
        ELSIF left_ <> '{}' THEN
            EXECUTE $q$DELETE FROM public.resource_record_set r
                       WHERE r.id = ANY ($1) AND NOT EXISTS (SELECT FROM unnest($2) n (name) WHERE rtrim(lower(n.name COLLATE "C"), '.') || '.' = r.name)$q$
                USING left_, NEW.alternate_domain_names;
        END IF;
    END IF;
    IF NOT NEW.dns_records THEN
        RETURN NULL;
    END IF;
    PERFORM iasql_internal.aws_acm_put_dns(NEW.account, n.name, k.kind, NULL, NEW.domain_name, CASE WHEN TG_OP = 'UPDATE' THEN OLD.domain_name END,
                                           'distribution', NEW.id)
    FROM unnest(NEW.alternate_domain_names) AS n (name) CROSS JOIN (VALUES ('A', true), ('AAAA', coalesce(NEW.is_ipv6_enabled, false))) AS k (kind, wanted)
    WHERE k.wanted;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_cloudfront_name() IS 'Row trigger of distribution: makes the alias records of its names.';
