-- Which load balancers have no targets?
-- Load balancers without a listener that forwards to a target group with instances, or to one of addresses, functions or load balancers, whose targets have no records.
-- needs: aws_elb.load_balancer aws_elb.listener aws_elb.target_group aws_ec2.registered_instance
SELECT b.id, b.account, b.region, b.load_balancer_name, b.load_balancer_type, b.scheme, count(l.id) AS listeners
FROM load_balancer b
LEFT JOIN listener l ON l.load_balancer_id = b.id
LEFT JOIN target_group t ON t.id = l.target_group_id
GROUP BY b.id
HAVING NOT coalesce(bool_or(t.target_type <> 'instance' OR EXISTS (SELECT FROM registered_instance i WHERE i.target_group_id = t.id)), false)
   AND NOT coalesce(bool_or(l.id IS NOT NULL AND l.target_group_id IS NULL), false)
ORDER BY b.account, b.region, b.load_balancer_name;
