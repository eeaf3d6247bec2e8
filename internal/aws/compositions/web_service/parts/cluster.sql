SELECT 'cluster' AS key, w.account, w.region, w.name AS cluster_name, w.tags FROM web_service w
