INSERT INTO elastic_ip (domain, tags) VALUES ('vpc', '{"Name": "first"}'), ('vpc', '{"Name": "second"}');
INSERT INTO nat_gateway (subnet_id, elastic_ip_id, secondary_allocation_ids_records, tags)
SELECT s.id, a.id, ARRAY[b.id], '{"Name": "sluice"}'
FROM subnet s, elastic_ip a, elastic_ip b WHERE s.cidr_block = '10.60.1.0/24' AND a.tags ->> 'Name' = 'first' AND b.tags ->> 'Name' = 'second';
INSERT INTO nat_gateway (subnet_id, connectivity_type, secondary_private_ip_address_count)
SELECT id, 'private', 3 FROM subnet WHERE cidr_block = '10.60.2.0/24';
