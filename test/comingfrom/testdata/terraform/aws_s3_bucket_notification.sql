INSERT INTO bucket (name, notification_configuration) VALUES ('signals-7c1d', '{
    "TopicConfigurations": [{"TopicArn": "arn:aws:sns:us-east-1:123456789012:signals", "Events": ["s3:ObjectCreated:*"],
      "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": ".txt"}]}}}],
    "QueueConfigurations": [{"Id": "pictures", "QueueArn": "arn:aws:sqs:us-east-1:123456789012:signals", "Events": ["s3:ObjectCreated:*"],
      "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "pictures/"}, {"Name": "suffix", "Value": ".png"}]}}}],
    "LambdaFunctionConfigurations": [{"LambdaFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:signals", "Events": ["s3:ObjectRemoved:*"],
      "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "flags/"}, {"Name": "suffix", "Value": ".txt"}]}}}]}');
