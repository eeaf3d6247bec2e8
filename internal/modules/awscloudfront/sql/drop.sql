DROP FUNCTION IF EXISTS iasql_internal.aws_cloudfront_name();
