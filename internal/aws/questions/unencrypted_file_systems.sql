-- Which file systems are not encrypted?
-- EFS file systems. Encryption cannot be turned on: make another one and copy the files.
-- needs: aws_efs.efs_file_system
SELECT f.id, f.account, f.region, f.file_system_id, f.life_cycle_state, f.tags ->> 'Name' AS name
FROM efs_file_system f
WHERE f.encrypted IS NOT TRUE
ORDER BY f.account, f.region, f.id;
