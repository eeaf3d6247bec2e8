INSERT INTO cluster (cluster_name, container_insights, configuration) VALUES ('stevedores', 'enabled',
    '{"ExecuteCommandConfiguration": {"KmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f", "Logging": "OVERRIDE",
      "LogConfiguration": {"CloudWatchEncryptionEnabled": true, "CloudWatchLogGroupName": "stevedores"}}}');
