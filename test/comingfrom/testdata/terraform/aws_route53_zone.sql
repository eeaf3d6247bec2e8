INSERT INTO hosted_zone (domain_name, tags) VALUES ('trial.example.com', '{"stage": "trial"}');
INSERT INTO hosted_zone (domain_name, vpcs) VALUES ('inside.example.com', '[{"VPCId": "vpc-0a1b2c3d4e5f60718", "VPCRegion": "us-east-1"}]');
