-- A registration without a port has its target group's.
CREATE OR REPLACE FUNCTION iasql_internal.aws_ec2_target_port() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    NEW.port := (SELECT g.port FROM public.target_group g WHERE g.id = NEW.target_group_id);
    RETURN NEW;
END;
$$;
COMMENT ON FUNCTION iasql_internal.aws_ec2_target_port() IS 'Row trigger of registered_instance: the port of the target group.';

CREATE TRIGGER aws_ec2_target_port BEFORE INSERT ON public.registered_instance
    FOR EACH ROW WHEN (NEW.port IS NULL) EXECUTE FUNCTION iasql_internal.aws_ec2_target_port();
