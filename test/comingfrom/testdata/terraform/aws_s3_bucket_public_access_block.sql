INSERT INTO bucket (name) VALUES ('log-books-7c1d');
INSERT INTO public_access_block (bucket_name, block_public_acls, block_public_policy, ignore_public_acls, restrict_public_buckets)
VALUES ('log-books-7c1d', true, true, true, true);
