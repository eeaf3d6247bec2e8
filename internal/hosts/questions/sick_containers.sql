-- Which containers are not well?
-- Containers that are to run and do not, that say they are unhealthy, or that their restart policy starts again and again.
-- needs: host_containers.host_container
SELECT c.id, c.account AS host, c.name, c.image, c.state AS wanted, c.status, c.health, c.exit_code, c.restarts
FROM host_container c
WHERE c.health = 'unhealthy' OR c.status IN ('restarting', 'dead')
   OR c.state = 'running' AND c.status NOT IN ('running', 'restarting') OR c.status = 'running' AND c.restarts > 0
ORDER BY c.status = 'running', c.account, c.name;
