-- A test runs each of them (TestTerraformExamplesRun). The first example of ten pages of Terraform's documentation, with all its arguments and with values of our own
-- (terraform.csv says which column is which argument). A comment names the resource. What follows it is one transaction.
-- They take aws_ec2, aws_elb, aws_rds, aws_s3, aws_lambda and aws_dynamo. Names of buckets are unique in the world.

-- aws_vpc
INSERT INTO vpc (cidr_block) VALUES ('10.71.0.0/16');

-- aws_subnet
INSERT INTO vpc (cidr_block, tags) VALUES ('10.72.0.0/16', '{"Name": "campus"}');
INSERT INTO subnet (vpc_id, cidr_block, tags)
SELECT id, '10.72.3.0/24', '{"Name": "campus-lab"}' FROM vpc WHERE tags ->> 'Name' = 'campus';

-- aws_security_group
INSERT INTO vpc (cidr_block, tags) VALUES ('10.73.0.0/16', '{"Name": "depot"}');
INSERT INTO security_group (group_name, description, vpc_id, tags)
SELECT 'depot-web', 'TLS from inside, and everything out', id, '{"Name": "depot-web"}' FROM vpc WHERE tags ->> 'Name' = 'depot';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT g.id, false, 'tcp', 443, 443, v.cidr_block FROM security_group g JOIN vpc v ON v.id = g.vpc_id WHERE g.group_name = 'depot-web';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv6)
SELECT id, false, 'tcp', 443, 443, '2001:db8:73::/56' FROM security_group WHERE group_name = 'depot-web';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, cidr_ipv4)
SELECT id, true, '-1', '0.0.0.0/0' FROM security_group WHERE group_name = 'depot-web';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, cidr_ipv6)
SELECT id, true, '-1', '::/0' FROM security_group WHERE group_name = 'depot-web';

-- aws_instance
INSERT INTO instance (ami, instance_type, tags) VALUES ('ami-12c6146b', 't3.small', '{"Name": "errands"}');

-- aws_lb
INSERT INTO bucket (name, policy) VALUES ('wharf-logs-5e0b',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"},
      "Action": "s3:PutObject", "Resource": "arn:aws:s3:::wharf-logs-5e0b/front/AWSLogs/*"}]}');
INSERT INTO security_group (group_name, description, vpc_id)
SELECT 'wharf-front', 'Who reaches the wharf', id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO load_balancer (load_balancer_name, scheme, load_balancer_type, subnets, attributes, tags)
SELECT 'wharf-front', 'internet-facing', 'application', array_agg(subnet_id ORDER BY availability_zone),
    '{"deletion_protection.enabled": "true", "access_logs.s3.enabled": "true", "access_logs.s3.bucket": "wharf-logs-5e0b",
      "access_logs.s3.prefix": "front"}', '{"stage": "trial"}'
FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id)
SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'wharf-front' AND g.group_name = 'wharf-front';

-- aws_db_instance
INSERT INTO parameter_group (name, family, description) VALUES ('ledger', 'mysql8.0', 'Settings of the ledger');
INSERT INTO rds (db_instance_identifier, allocated_storage, db_name, engine, engine_version, db_instance_class, master_username,
                 master_user_password, parameter_group_id, skip_final_snapshot)
SELECT 'ledger', 25, 'ledger', 'mysql', '8.0', 'db.t4g.micro', 'keeper', 'Corr3ctHorseBattery', id, true FROM parameter_group WHERE name = 'ledger';

-- aws_s3_bucket
INSERT INTO bucket (name, tags) VALUES ('harbour-plans-5e0b', '{"Name": "Plans of the harbour", "stage": "trial"}');

-- aws_iam_role
INSERT INTO iam_role (role_name, assume_role_policy_document, tags) VALUES ('harbour-guard',
    '{"Version": "2012-10-17", "Statement": [{"Sid": "Machines", "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
      "Action": "sts:AssumeRole"}]}', '{"team": "harbour"}');

-- aws_lambda_function
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('tide-table',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO lambda_function (name, role_name, handler, runtime, environment, zip_b64) VALUES ('tide-table', 'tide-table', 'index.handler',
    'python3.12', '{"HARBOUR": "north"}',
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA==');

-- aws_dynamodb_table
INSERT INTO dynamo_table (table_name, throughput, primary_key, attribute_definitions, time_to_live_attribute, global_secondary_indexes, tags)
VALUES ('water-levels', '{"ReadCapacityUnits": 6, "WriteCapacityUnits": 4}', '{"gauge": "S", "day": "S", "range": "day"}', '{"highest": "N"}',
    'forget_at', '[{"IndexName": "highest-of-the-day", "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"},
      {"AttributeName": "highest", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["unit"]},
      "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}}]', '{"Name": "Water levels", "stage": "trial"}');
