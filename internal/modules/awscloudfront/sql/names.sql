-- A statement that writes a column need not change it.
CREATE OR REPLACE TRIGGER aws_cloudfront_name AFTER UPDATE ON public.distribution
    FOR EACH ROW WHEN ((NEW.dns_records OR OLD.dns_records) AND NEW.domain_name IS NOT NULL
        AND (OLD.dns_records, OLD.domain_name, OLD.alternate_domain_names, OLD.is_ipv6_enabled) IS DISTINCT FROM (NEW.dns_records, NEW.domain_name, NEW.alternate_domain_names, NEW.is_ipv6_enabled))
    EXECUTE FUNCTION iasql_internal.aws_cloudfront_name();
