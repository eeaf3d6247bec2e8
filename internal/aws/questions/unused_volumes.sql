-- Which volumes are attached to nothing?
-- EBS volumes that are paid for and that no instance has.
-- needs: aws_ec2.general_purpose_volume
SELECT v.id, v.account, v.region, v.volume_id, v.volume_type, v.size, v.state, v.tags ->> 'Name' AS name
FROM general_purpose_volume v
WHERE v.instance_id IS NULL
ORDER BY v.size DESC, v.id;
