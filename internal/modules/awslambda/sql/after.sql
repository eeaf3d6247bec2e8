CREATE CONSTRAINT TRIGGER aws_lambda_groups_in_vpc AFTER INSERT OR UPDATE OF lambda_function_id ON public.lambda_function_security_groups
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION iasql_internal.require_value('lambda_function_id', 'lambda_function', 'name', 'subnets', 'is in no VPC and cannot have security groups');
