-- What has changed in the last day, and by whom?
-- What somebody has changed, here or in the cloud, newest first.
-- asks: hours = 24
SELECT c.ts, c.table_name, c.record_id, c.name, c.action, c.columns, c.by_whom, c.from_where, c.how_known
FROM iasql_changes_since(now() - make_interval(hours => (:'hours')::integer)) c
ORDER BY c.ts DESC;
