-- DNS names have no case, and a dot at their end or none: Route 53 gives them in lower case and with it. Written
-- either way they are kept that way, so that a record is found under the name that AWS has for it.
CREATE OR REPLACE FUNCTION iasql_internal.aws_route53_name() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
    RETURN jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], rtrim(lower(name), '.') || '.'));
END;
$$;

CREATE TRIGGER aws_route53_name BEFORE INSERT OR UPDATE OF domain_name ON public.hosted_zone
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_route53_name('domain_name');

CREATE TRIGGER aws_route53_name BEFORE INSERT OR UPDATE OF name ON public.resource_record_set
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_route53_name('name');
