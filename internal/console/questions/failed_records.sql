-- What has failed, and what needs a person?
-- Records that are not settled because something has failed, or wait for a decision; those that need a person first.
SELECT s.table_name, s.record_id, s.state, s.review AS needs_a_person, s.attempts, s.since, s.message
FROM iasql_status s
WHERE s.review OR s.state LIKE '%Failed'
ORDER BY s.review DESC, s.since DESC;
