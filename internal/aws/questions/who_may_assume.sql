-- Who may assume which role?
-- What trust policies say, one line for each that a statement names. Leave the name out to see all roles.
-- needs: aws_iam.iam_role
-- asks: role =
SELECT r.id, r.account, r.role_name, s.statement ->> 'Effect' AS effect, p.kind, w.who, s.statement -> 'Condition' AS condition
FROM iam_role r
CROSS JOIN LATERAL jsonb_path_query(r.assume_role_policy_document, '$.Statement[*]') s (statement)
CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(s.statement -> 'Principal') WHEN 'object' THEN s.statement -> 'Principal'
                              ELSE jsonb_build_object('anybody', s.statement -> 'Principal') END) p (kind, named)
CROSS JOIN LATERAL (SELECT n.named #>> '{}' FROM jsonb_path_query(p.named, '$[*]') n (named)) w (who)
WHERE :'role' = '' OR r.role_name = :'role'
ORDER BY r.account, r.role_name, p.kind, w.who;
