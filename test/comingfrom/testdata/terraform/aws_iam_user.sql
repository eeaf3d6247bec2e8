INSERT INTO iam_user (user_name, path, tags) VALUES ('bosun', '/crew/', '{"team": "harbour"}');
