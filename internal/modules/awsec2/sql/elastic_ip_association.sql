-- An association has one target. What follows from the old one follows the new one: AWS would else be asked for the
-- network interface, and the private address, of the instance that had the address before.
CREATE OR REPLACE FUNCTION iasql_internal.aws_ec2_address_target() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    instance_moved boolean := NEW.instance_id IS NOT NULL AND NEW.instance_id IS DISTINCT FROM OLD.instance_id;
    interface_moved boolean := NEW.network_interface_id IS NOT NULL AND NEW.network_interface_id IS DISTINCT FROM OLD.network_interface_id;
BEGIN
    IF iasql_internal.writer_is_engine() OR NOT (instance_moved OR interface_moved) THEN
        RETURN NEW;
    END IF;
    IF NOT interface_moved THEN
        NEW.network_interface_id := NULL;
    ELSIF NOT instance_moved THEN
        NEW.instance_id := NULL;
    END IF;
    IF NEW.private_ip_address IS NOT DISTINCT FROM OLD.private_ip_address THEN
        NEW.private_ip_address := NULL;
    END IF;
    RETURN NEW;
END;
$$;
COMMENT ON FUNCTION iasql_internal.aws_ec2_address_target() IS 'Row trigger of elastic_ip_association: what is left to AWS of a target goes with it.';
REVOKE EXECUTE ON FUNCTION iasql_internal.aws_ec2_address_target() FROM PUBLIC;

CREATE TRIGGER aws_ec2_address_target BEFORE UPDATE OF instance_id, network_interface_id ON public.elastic_ip_association
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_ec2_address_target();
