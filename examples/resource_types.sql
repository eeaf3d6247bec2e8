-- Ten resource types that are tables by their own schemas. One statement each; the whole can be run as it is.
SELECT * FROM iasql_install('AWS::SES::Template', 'AWS::WAFv2::WebACL', 'AWS::Glue::Job', 'AWS::Cognito::UserPool', 'AWS::Backup::BackupPlan',
    'AWS::SSM::Document', 'AWS::Logs::MetricFilter', 'AWS::CloudTrail::Trail', 'AWS::Athena::WorkGroup', 'AWS::Bedrock::Guardrail');

INSERT INTO ses_template (template)
VALUES ('{"TemplateName": "welcome", "SubjectPart": "Welcome", "TextPart": "Hello {{name}}"}');
INSERT INTO waf_acl (name, scope, default_action, visibility_config)
VALUES ('front', 'REGIONAL', '{"Allow": {}}', '{"MetricName": "front", "SampledRequestsEnabled": true, "CloudWatchMetricsEnabled": true}');
INSERT INTO glue_job (name, role, command)
VALUES ('nightly', 'arn:aws:iam::123456789012:role/glue', '{"Name": "glueetl", "ScriptLocation": "s3://scripts/nightly.py"}');
INSERT INTO cognito_user_pool (user_pool_name, mfa_configuration) VALUES ('customers', 'OFF');
INSERT INTO backup_backup_plan (backup_plan)
VALUES ('{"BackupPlanName": "daily", "BackupPlanRule": [{"RuleName": "daily", "TargetBackupVault": "Default", "ScheduleExpression": "cron(0 5 * * ? *)"}]}');
INSERT INTO ssm_document (name, document_type, content)
VALUES ('uptime', 'Command', '{"schemaVersion": "2.2", "mainSteps": [{"action": "aws:runShellScript", "name": "uptime", "inputs": {"runCommand": ["uptime"]}}]}');
INSERT INTO log_metric_filter (log_group_name, filter_name, filter_pattern, metric_transformations)
VALUES ('/app', 'errors', 'ERROR', '[{"MetricName": "errors", "MetricNamespace": "app", "MetricValue": "1"}]');
INSERT INTO cloud_trail_trail (trail_name, s3_bucket_name, is_logging) VALUES ('all', 'trails-123456789012', true);
INSERT INTO athena_work_group (name, description) VALUES ('analysts', 'Ad hoc queries');
INSERT INTO bedrock_guardrail (name, blocked_input_messaging, blocked_outputs_messaging, word_policy_config)
VALUES ('polite', 'I cannot answer that.', 'I cannot answer that.', '{"WordsConfig": [{"Text": "damn"}]}');
SELECT iasql_wait_for_all(120);

UPDATE ses_template SET template = jsonb_set(template, '{SubjectPart}', '"Welcome aboard"');
UPDATE athena_work_group SET tags = '{"team": "data"}';
UPDATE cognito_user_pool SET deletion_protection = 'ACTIVE';
SELECT iasql_wait_for_all(120);
SELECT template_id, template ->> 'SubjectPart' AS subject FROM ses_template;
