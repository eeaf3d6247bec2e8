-- Security groups belong to a service in a VPC alone. Whether it is in one is looked at when the transaction ends, so that
-- subnets may be set after the groups.
CREATE FUNCTION iasql_internal.aws_ecs_groups_in_vpc() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owner_name text;
BEGIN
    SELECT o.name INTO owner_name FROM public.service o WHERE o.id = NEW.service_id AND coalesce(cardinality(o.subnets), 0) = 0;
    IF FOUND AND NOT iasql_internal.writer_is_engine() THEN
        RAISE EXCEPTION 'service % (id %) is in no VPC and cannot have security groups', owner_name, NEW.service_id
            USING ERRCODE = '23514', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'service_id', CONSTRAINT = TG_NAME,
                  HINT = format('Put it into subnets, in the same transaction or before: UPDATE service SET subnets = ''{subnet-…}'' WHERE id = %s.', NEW.service_id);
    END IF;
    RETURN NULL;
END;
$$;
COMMENT ON FUNCTION iasql_internal.aws_ecs_groups_in_vpc() IS 'Refuses security groups of a service that is in no VPC.';

CREATE CONSTRAINT TRIGGER aws_ecs_groups_in_vpc AFTER INSERT OR UPDATE OF service_id ON public.service_security_groups
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_ecs_groups_in_vpc();
