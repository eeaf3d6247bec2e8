CREATE OR REPLACE FUNCTION iasql_internal.aws_elb_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF OLD.dns_names IS DISTINCT FROM NEW.dns_names THEN
        PERFORM iasql_internal.aws_acm_drop_dns('load_balancer', NEW.id, NEW.dns_names);
    END IF;
    PERFORM iasql_internal.aws_acm_put_dns(NEW.account, n.name, k.kind, NULL, NEW.dns_name, OLD.dns_name, NEW.canonical_hosted_zone_id, 'load_balancer', NEW.id)
    FROM unnest(NEW.dns_names) AS n (name) CROSS JOIN (VALUES ('A', true), ('AAAA', NEW.ip_address_type LIKE 'dualstack%')) AS k (kind, wanted)
    WHERE k.wanted;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.aws_elb_name() IS 'Row trigger of load_balancer: makes the alias records of its names.';
