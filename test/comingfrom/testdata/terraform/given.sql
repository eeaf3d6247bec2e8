-- What the examples of the other files stand on. The test runs it before each of them.
INSERT INTO vpc (cidr_block, tags) VALUES ('10.60.0.0/16', '{"Name": "quay"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
SELECT v.id, n.cidr, n.zone, '{"Name": "quay"}'
FROM vpc v, (VALUES ('10.60.1.0/24'::cidr, 'us-east-1a'), ('10.60.2.0/24', 'us-east-1b')) n (cidr, zone) WHERE v.tags ->> 'Name' = 'quay';
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'quay', 'Who works on the quay', id FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO iam_role (role_name, assume_role_policy_document)
SELECT s || '-of-the-quay', jsonb_build_object('Version', '2012-10-17', 'Statement', jsonb_build_array(jsonb_build_object('Effect', 'Allow',
    'Principal', jsonb_build_object('Service', s || '.amazonaws.com'), 'Action', 'sts:AssumeRole')))
FROM unnest('{ec2,eks,lambda}'::text[]) s;
