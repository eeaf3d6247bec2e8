-- A group of up to three web servers in the default VPC, made from a launch template.
BEGIN;
INSERT INTO launch_template (launch_template_name, image_id, instance_type, user_data, data)
VALUES ('example-web', 'ami-12c6146b', 't3.micro', E'#!/bin/sh\nyum install -y nginx\n', '{"MetadataOptions": {"HttpTokens": "required"}}');
INSERT INTO auto_scaling_group (auto_scaling_group_name, min_size, max_size, launch_template_id, subnets)
SELECT 'example-web', 0, 3, t.id, array_agg(s.subnet_id ORDER BY s.availability_zone)
FROM launch_template t, subnet s JOIN vpc v ON v.id = s.vpc_id AND v.is_default AND v.region = default_aws_region() WHERE t.launch_template_name = 'example-web' GROUP BY t.id;
COMMIT;
SELECT iasql_wait_for_all(60);
-- New instances get the new version of the template: it is the default one.
UPDATE launch_template SET instance_type = 't3.small' WHERE launch_template_name = 'example-web';
UPDATE auto_scaling_group SET desired_capacity = 1 WHERE auto_scaling_group_name = 'example-web';
SELECT iasql_wait_for_all(60);
SELECT g.auto_scaling_group_name, g.desired_capacity, t.instance_type, t.default_version
FROM auto_scaling_group g JOIN launch_template t ON t.id = g.launch_template_id WHERE g.auto_scaling_group_name = 'example-web';
-- A group is deleted when it has no instances any more.
UPDATE auto_scaling_group SET desired_capacity = 0 WHERE auto_scaling_group_name = 'example-web';
SELECT iasql_wait_for_all(60);
DELETE FROM auto_scaling_group WHERE auto_scaling_group_name = 'example-web';
SELECT iasql_wait_for_all(60);
DELETE FROM launch_template WHERE launch_template_name = 'example-web';
SELECT iasql_wait_for_all(60);
