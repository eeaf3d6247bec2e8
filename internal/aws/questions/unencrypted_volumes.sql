-- Which volumes are not encrypted?
-- EBS volumes of the kinds gp2 and gp3. Encryption cannot be turned on: copy the volume.
-- needs: aws_ec2.general_purpose_volume
SELECT v.id, v.account, v.region, v.volume_id, v.size, v.state, v.instance_id, v.tags ->> 'Name' AS name
FROM general_purpose_volume v
WHERE v.encrypted IS NOT TRUE
ORDER BY v.account, v.region, v.id;
