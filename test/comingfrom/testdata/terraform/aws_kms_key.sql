INSERT INTO kms_key (description, enable_key_rotation, pending_window_in_days, policy) VALUES ('Of the strong room', true, 15,
    '{"Version": "2012-10-17", "Id": "strong-room", "Statement": [{"Sid": "Account", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
      "Action": "kms:*", "Resource": "*"}]}');
INSERT INTO kms_key (description, key_spec, key_usage, enable_key_rotation) VALUES ('For seals', 'RSA_2048', 'SIGN_VERIFY', false);
INSERT INTO kms_key (description, multi_region) VALUES ('Of both harbours', true);
