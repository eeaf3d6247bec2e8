-- Which buckets are not encrypted with a KMS key?
-- S3 encrypts all objects, by default with keys of its own (AES256), whose use nobody can forbid or log.
-- needs: aws_s3.bucket
SELECT b.id, b.account, b.region, b.name,
       coalesce(b.bucket_encryption #>> '{Rules,0,ApplyServerSideEncryptionByDefault,SSEAlgorithm}', 'AES256') AS algorithm
FROM bucket b
WHERE NOT coalesce(b.bucket_encryption, '{}') @? '$.Rules[*].ApplyServerSideEncryptionByDefault.SSEAlgorithm ? (@ starts with "aws:kms")'
ORDER BY b.account, b.name;
