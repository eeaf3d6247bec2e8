-- A key is the number of a zone.
SELECT z.number::text AS key, n.account, n.region, v.id AS vpc_id,
       set_masklen(n.cidr_block::inet + (8 + z.number - 1) * (1::bigint << (28 - masklen(n.cidr_block))), masklen(n.cidr_block) + 4)::cidr AS cidr_block,
       z.name AS availability_zone, true AS map_public_ip_on_launch,
       n.tags || jsonb_build_object('Name', n.name || '-public-' || z.number, 'tier', 'public') AS tags
FROM network n JOIN part v ON v.part = 'vpc'
JOIN (SELECT a.account, a.region, a.name, row_number() OVER (PARTITION BY a.account, a.region ORDER BY a.name) AS number
      FROM public.availability_zone a WHERE a.zone_type = 'availability-zone' AND a.state = 'available') z
    ON z.account = n.account AND z.region = n.region AND z.number <= n.zones
