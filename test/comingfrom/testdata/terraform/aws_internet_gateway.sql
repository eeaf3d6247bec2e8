INSERT INTO internet_gateway (vpc_id, tags) SELECT id, '{"Name": "lock"}' FROM vpc WHERE tags ->> 'Name' = 'quay';
