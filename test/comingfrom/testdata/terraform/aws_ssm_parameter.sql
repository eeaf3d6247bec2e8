INSERT INTO ssm_parameter (name, type, value) VALUES ('/harbour/depth', 'String', '12');
INSERT INTO ssm_parameter (name, description, type, secure_value, tags) VALUES ('/harbour/pass', 'Of the gate', 'SecureString', 'Corr3ctHorseBattery', '{"stage": "trial"}');
