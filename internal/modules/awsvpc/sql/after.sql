-- What is left to AWS of the accepter of a peering connection follows accepter_id: a connection that is to lead to
-- another VPC would else ask for the old one's id, region and owner too.
CREATE OR REPLACE FUNCTION iasql_internal.aws_peering_accepter() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF NOT iasql_internal.writer_is_engine() AND (NEW.accepter_vpc_id, NEW.accepter_region, NEW.accepter_owner_id)
            IS NOT DISTINCT FROM (OLD.accepter_vpc_id, OLD.accepter_region, OLD.accepter_owner_id) THEN
        NEW.accepter_vpc_id := NULL;
        NEW.accepter_region := NULL;
        NEW.accepter_owner_id := NULL;
    END IF;
    RETURN NEW;
END;
$$;
COMMENT ON FUNCTION iasql_internal.aws_peering_accepter() IS
    'Forgets what a peering connection says of its accepter when that becomes another VPC.';

CREATE TRIGGER aws_peering_accepter BEFORE UPDATE OF accepter_id ON public.peering_connection
    FOR EACH ROW WHEN (NEW.accepter_id IS DISTINCT FROM OLD.accepter_id AND NEW.accepter_id IS NOT NULL)
    EXECUTE FUNCTION iasql_internal.aws_peering_accepter();
