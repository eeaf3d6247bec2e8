DROP FUNCTION IF EXISTS iasql_internal.aws_acm_validate();
DROP FUNCTION IF EXISTS iasql_internal.aws_acm_put_dns(text, text, text, text, text, text), iasql_internal.aws_acm_put_dns(text, text, text, text, text, text, text, text, bigint);
DROP FUNCTION IF EXISTS iasql_internal.aws_acm_drop_dns(text, bigint, text[]);
DROP FUNCTION IF EXISTS iasql_internal.aws_acm_may_write_dns();
