CREATE OR REPLACE FUNCTION iasql_internal.aws_cloudfront_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF OLD.dns_records AND OLD.alternate_domain_names IS DISTINCT FROM NEW.alternate_domain_names THEN
        PERFORM iasql_internal.aws_acm_drop_dns('distribution', NEW.id, NEW.alternate_domain_names);
    END IF;
    IF NOT NEW.dns_records THEN
        RETURN NULL;
    END IF;
    PERFORM iasql_internal.aws_acm_put_dns(NEW.account, n.name, k.kind, NULL, NEW.domain_name, OLD.domain_name, 'Z2FDTNDATAQYW2', 'distribution', NEW.id)
    FROM unnest(NEW.alternate_domain_names) AS n (name) CROSS JOIN (VALUES ('A', true), ('AAAA', coalesce(NEW.is_ipv6_enabled, false))) AS k (kind, wanted)
    WHERE k.wanted;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_cloudfront_name() IS 'Row trigger of distribution: makes the alias records of its names.';
