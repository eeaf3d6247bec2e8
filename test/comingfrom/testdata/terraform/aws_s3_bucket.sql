INSERT INTO bucket (name, tags) VALUES ('buoys-7c1d', '{"Name": "Buoys", "stage": "trial"}');
