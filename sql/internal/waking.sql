-- A NOTIFY makes a commit wait for every other commit that has one (PreCommit_Notify in PostgreSQL's async.c takes a lock of
-- the whole database until the transaction has ended), so that clients who change different rows would commit one after
-- the other. Of transactions that end at the same time one notifies; engines look again shortly after they were told
-- (listener.go), and see what the others have committed by then.
--
-- Whoever holds the row and does not get to its commit, for SET CONSTRAINTS had this run early, keeps the others silent
-- for a third of a second, about. Under REPEATABLE READ a row that was updated since cannot be locked (manual, 13.2.2).
CREATE OR REPLACE FUNCTION iasql_internal.wake() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    woken timestamptz;
BEGIN
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        SELECT w.woken_at INTO woken FROM iasql_internal.waking w FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            IF woken NOT BETWEEN clock_timestamp() - interval '100 milliseconds' AND clock_timestamp() THEN
                UPDATE iasql_internal.waking SET woken_at = clock_timestamp();
            END IF;
        ELSIF (SELECT w.woken_at BETWEEN clock_timestamp() - interval '350 milliseconds' AND clock_timestamp() FROM iasql_internal.waking w) THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM pg_notify('iasql_river.river_insert', '{"queue": "iasql"}');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.wake() IS 'Deferred trigger of jobs: tells the engines at the end of the transaction, unless another that ends now does.';

DROP TRIGGER IF EXISTS iasql_wake ON iasql_river.river_job;
CREATE CONSTRAINT TRIGGER iasql_wake AFTER INSERT ON iasql_river.river_job
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'push' AND NEW.queue = 'iasql' AND NEW.state = 'available')
    EXECUTE FUNCTION iasql_internal.wake();
