INSERT INTO bucket (name, bucket_encryption) VALUES ('manifests-7c1d', '{"Rules": [{"ApplyServerSideEncryptionByDefault":
    {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f"}}]}');
