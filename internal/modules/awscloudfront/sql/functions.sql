CREATE OR REPLACE FUNCTION iasql_internal.aws_cloudfront_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM iasql_internal.aws_acm_put_dns(NEW.account, n.name, k.kind, NULL, NEW.domain_name, CASE WHEN TG_OP = 'UPDATE' THEN OLD.domain_name END,
                                           'distribution', NEW.id)
    FROM unnest(NEW.alternate_domain_names) AS n (name) CROSS JOIN (VALUES ('A', true), ('AAAA', coalesce(NEW.is_ipv6_enabled, false))) AS k (kind, wanted)
    WHERE k.wanted;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_cloudfront_name() IS 'Row trigger of distribution: makes the alias records of its names.';
