INSERT INTO certificate (domain_name, validation_method, tags) VALUES ('sea.example.com', 'DNS', '{"stage": "trial"}');
INSERT INTO certificate (domain_name, validation_method, validation_domains) VALUES ('trial.sea.example.com', 'EMAIL', '{"trial.sea.example.com": "sea.example.com"}');
