-- A small Redis. Deleting it takes a final snapshot: DELETE FROM cache_cluster WHERE cluster_id = 'example'.
INSERT INTO cache_cluster (cluster_id, node_type) VALUES ('example', 'cache.t4g.micro');
SELECT iasql_wait_for_all(120);
UPDATE cache_cluster SET tags = '{"for": "sessions"}' WHERE cluster_id = 'example';
SELECT iasql_wait_for_all(120);
SELECT cluster_id, engine, node_type, num_nodes, tags, arn IS NOT NULL AS created FROM cache_cluster WHERE cluster_id = 'example';
