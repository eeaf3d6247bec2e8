-- Any distribution of the account may read: the ARN of this one is not known before it is made.
SELECT 'bucket' AS key, s.account, s.region, n.name, s.versioning AS versioning_enabled,
       jsonb_build_object('Version', '2012-10-17', 'Statement', jsonb_build_array(jsonb_build_object('Sid', 'CloudFront', 'Effect', 'Allow',
           'Principal', '{"Service": "cloudfront.amazonaws.com"}'::jsonb, 'Action', '["s3:GetObject", "s3:ListBucket"]'::jsonb,
           'Resource', jsonb_build_array('arn:aws:s3:::' || n.name, 'arn:aws:s3:::' || n.name || '/*'),
           'Condition', jsonb_build_object('ArnLike', jsonb_build_object('AWS:SourceArn', 'arn:aws:cloudfront::' || a.number || ':distribution/*'))))) AS policy,
       s.tags
FROM static_site s
CROSS JOIN LATERAL (SELECT iasql_internal.needed((SELECT a.account_id FROM public.aws_account a WHERE a.name = s.account),
    'account_id of ' || s.account || ' in aws_account', 'UPDATE aws_account SET account_id = ''…'' WHERE name = ' || quote_literal(s.account)) AS number) a
CROSS JOIN LATERAL (SELECT coalesce(s.bucket, concat_ws('-', s.name, a.number, s.region)) AS name) n
