-- What expires?
-- Records that will be deleted, and rules and protections that will end, soonest first.
SELECT e.until, e.what, e.table_name, e.record_id, e.rule, e.by, e.message
FROM iasql_expiring e
ORDER BY e.until;
