-- Which buckets are public?
-- Buckets with a policy that allows anybody something, and nothing that restricts it; and buckets without anything that blocks public policies and access control lists.
-- needs: aws_s3.bucket aws_s3.public_access_block
SELECT b.id, b.account, b.region, b.name,
       CASE WHEN p.policy THEN 'its policy lets in anybody' ELSE 'nothing blocks public access lists and policies' END AS why,
       p.policy AND p.condition AS under_conditions
FROM bucket b
LEFT JOIN public_access_block a ON a.bucket_name = b.name AND a.account = b.account
CROSS JOIN LATERAL (
    SELECT coalesce(b.policy, '{}') @? '$.Statement[*] ? (@.Effect == "Allow" && (@.Principal == "*" || @.Principal.AWS[*] == "*"))' AS policy,
           coalesce(b.policy, '{}') @? '$.Statement[*] ? (@.Effect == "Allow" && (@.Principal == "*" || @.Principal.AWS[*] == "*") && exists (@.Condition))' AS condition) p
WHERE p.policy AND a.restrict_public_buckets IS NOT TRUE OR a.id IS NULL
ORDER BY p.policy DESC, b.account, b.name;
