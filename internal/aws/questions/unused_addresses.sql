-- Which Elastic IP addresses are unused?
-- Addresses that are paid for and that nothing uses.
-- needs: aws_vpc.elastic_ip
SELECT e.id, e.account, e.region, e.allocation_id, e.public_ip, e.tags ->> 'Name' AS name
FROM elastic_ip e
WHERE e.association_id IS NULL
ORDER BY e.account, e.region, e.id;
