SELECT 'vpc' AS key, n.account, n.region, n.cidr_block, true AS enable_dns_hostnames,
       n.tags || jsonb_build_object('Name', n.name) AS tags
FROM network n
