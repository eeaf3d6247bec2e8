INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '10.60.9.0/24', '{"Name": "slip"}' FROM vpc WHERE tags ->> 'Name' = 'quay';
