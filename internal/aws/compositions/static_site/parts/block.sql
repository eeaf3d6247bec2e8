SELECT 'block' AS key, s.account, b.name AS bucket_name, true AS block_public_acls, true AS ignore_public_acls, true AS block_public_policy,
       true AS restrict_public_buckets
FROM static_site s JOIN part p ON p.part = 'bucket' JOIN public.bucket b ON b.id = p.id
