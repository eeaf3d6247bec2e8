-- A cluster and a task definition, in one transaction.
BEGIN;
INSERT INTO cluster (cluster_name) VALUES ('example');
INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('example-web', 256, 512,
    '[{"name": "web", "image": "nginx:1", "essential": true, "portMappings": [{"containerPort": 80, "protocol": "tcp"}]}]');
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT cluster_name, cluster_status FROM cluster WHERE cluster_name = 'example';
SELECT family, revision, status FROM task_definition WHERE family = 'example-web';
BEGIN;
DELETE FROM task_definition WHERE family = 'example-web';
DELETE FROM cluster WHERE cluster_name = 'example';
COMMIT;
SELECT iasql_wait_for_all(60);
