CREATE OR REPLACE FUNCTION iasql_internal.aws_cloudfront_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM iasql_internal.aws_acm_put_dns(NEW.account, n.name, k.kind, NULL, NEW.domain_name, CASE WHEN TG_OP = 'UPDATE' THEN OLD.domain_name END)
    FROM unnest(NEW.alternate_domain_names) AS n (name) CROSS JOIN (VALUES ('A', true), ('AAAA', coalesce(NEW.is_ipv6_enabled, false))) AS k (kind, wanted)
    WHERE k.wanted;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_cloudfront_name() IS 'Row trigger of distribution: makes the alias records of its names.';

CREATE TRIGGER aws_acm_may_write_dns BEFORE INSERT OR UPDATE OF dns_records, alternate_domain_names ON public.distribution
    FOR EACH ROW WHEN (NEW.dns_records) EXECUTE FUNCTION iasql_internal.aws_acm_may_write_dns();

-- A statement that writes a column need not change it.
CREATE TRIGGER aws_cloudfront_name AFTER UPDATE ON public.distribution
    FOR EACH ROW WHEN (NEW.dns_records AND NEW.domain_name IS NOT NULL
        AND (OLD.dns_records, OLD.domain_name, OLD.alternate_domain_names, OLD.is_ipv6_enabled) IS DISTINCT FROM (NEW.dns_records, NEW.domain_name, NEW.alternate_domain_names, NEW.is_ipv6_enabled))
    EXECUTE FUNCTION iasql_internal.aws_cloudfront_name();
