-- Which disks are nearly full?
-- File systems that are so full or fuller, in per cent; what the host says is rounded down to the next ten.
-- needs: host_facts.host_disk
-- asks: percent = 80
SELECT d.id, d.account AS host, d.mount_point, d.device, d.file_system, pg_size_pretty(d.size) AS size, d.used_percent
FROM host_disk d
WHERE d.used_percent >= :'percent'::integer AND NOT d.read_only
ORDER BY d.used_percent DESC, d.account, d.mount_point;
