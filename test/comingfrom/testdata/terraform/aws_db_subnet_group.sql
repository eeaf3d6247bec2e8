INSERT INTO db_subnet_group (name, description, subnets_records, tags)
SELECT 'keel', 'Both', array_agg(id), '{"Name": "keel"}' FROM subnet WHERE tags ->> 'Name' = 'quay';
