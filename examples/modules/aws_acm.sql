-- Ask for a certificate; the records that prove the domain are in domain_validation_records.
INSERT INTO certificate (domain_name, subject_alternative_names, validation_method) VALUES ('example.com', '{www.example.com}', 'DNS');
SELECT iasql_wait_for_all(60);
SELECT domain_name, arn IS NOT NULL AS requested, certificate_type FROM certificate WHERE domain_name = 'example.com';
DELETE FROM certificate WHERE domain_name = 'example.com';
SELECT iasql_wait_for_all(60);
