SELECT 'subnets' AS key, d.account, d.region, d.name, 'Subnets of database ' || d.name AS description, d.subnets AS subnets_records, d.tags
FROM database d
