CREATE TRIGGER aws_acm_may_write_dns BEFORE INSERT OR UPDATE OF dns_records, domain_name, subject_alternative_names ON public.certificate
    FOR EACH ROW WHEN (NEW.dns_records) EXECUTE FUNCTION iasql_internal.aws_acm_may_write_dns();

CREATE TRIGGER aws_acm_validate AFTER INSERT OR UPDATE OF dns_records, domain_validation_records ON public.certificate
    FOR EACH ROW WHEN (NEW.dns_records AND NEW.domain_validation_records IS NOT NULL) EXECUTE FUNCTION iasql_internal.aws_acm_validate();
