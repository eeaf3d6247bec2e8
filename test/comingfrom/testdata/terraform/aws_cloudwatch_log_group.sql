INSERT INTO log_group (log_group_name, tags) VALUES ('harbour-master', '{"stage": "trial", "application": "harbour"}');
