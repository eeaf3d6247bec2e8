CREATE OR REPLACE TRIGGER aws_acm_may_write_dns BEFORE INSERT OR UPDATE OF dns_names ON public.load_balancer
    FOR EACH ROW WHEN (NEW.dns_names <> '{}') EXECUTE FUNCTION iasql_internal.aws_acm_may_write_dns('dns_names');

-- A statement that writes a column need not change it.
CREATE OR REPLACE TRIGGER aws_elb_name AFTER UPDATE ON public.load_balancer
    FOR EACH ROW WHEN ((NEW.dns_names <> '{}' OR OLD.dns_names <> '{}') AND NEW.dns_name IS NOT NULL AND NEW.canonical_hosted_zone_id IS NOT NULL
        AND (OLD.dns_names, OLD.dns_name, OLD.canonical_hosted_zone_id, OLD.ip_address_type) IS DISTINCT FROM (NEW.dns_names, NEW.dns_name, NEW.canonical_hosted_zone_id, NEW.ip_address_type))
    EXECUTE FUNCTION iasql_internal.aws_elb_name();
