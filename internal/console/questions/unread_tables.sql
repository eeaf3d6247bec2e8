-- What can the engine not read?
-- Tables that could not be listed in the cloud, and since when; denied: the engine's rights do not suffice.
SELECT l.since, l.table_name, l.account, l.region, l.denied, l.failed
FROM iasql_listings l
WHERE l.denied IS NOT NULL OR l.failed IS NOT NULL
ORDER BY l.since;
