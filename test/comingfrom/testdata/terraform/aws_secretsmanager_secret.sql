INSERT INTO secret (name) VALUES ('harbour/key');
INSERT INTO secret (name, type) VALUES ('harbour/partner', 'SalesforceClientSecret');
