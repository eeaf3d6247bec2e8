CREATE CONSTRAINT TRIGGER aws_ecs_groups_in_vpc AFTER INSERT OR UPDATE OF service_id ON public.service_security_groups
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION iasql_internal.require_value('service_id', 'service', 'name', 'subnets', 'is in no VPC and cannot have security groups');
