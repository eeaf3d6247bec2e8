SELECT 'access' AS key, s.account, s.name || '-' || s.region AS name, 'Reads the bucket of ' || s.name AS description
FROM static_site s
