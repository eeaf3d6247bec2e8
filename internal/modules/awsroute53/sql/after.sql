CREATE TRIGGER aws_route53_name BEFORE INSERT OR UPDATE OF domain_name ON public.hosted_zone
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_route53_name('domain_name');

CREATE TRIGGER aws_route53_name BEFORE INSERT OR UPDATE OF name ON public.resource_record_set
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_route53_name('name');
