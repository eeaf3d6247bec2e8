INSERT INTO load_balancer (load_balancer_name, load_balancer_type, subnets_records)
SELECT n, t, array_agg(s.id) FROM subnet s, (VALUES ('pier-web', 'application'), ('pier-raw', 'network')) b (n, t) WHERE s.tags ->> 'Name' = 'quay' GROUP BY n, t;
INSERT INTO target_group (target_group_name, port, protocol, vpc)
SELECT n, p, r, v.id FROM vpc v, (VALUES ('pier-web', 80, 'HTTP'), ('pier-raw', 443, 'TLS')) g (n, p, r) WHERE v.tags ->> 'Name' = 'quay';
INSERT INTO certificate (domain_name) VALUES ('pier.example.com');
INSERT INTO listener (load_balancer_id, port, protocol, ssl_policy, certificate_id, action_type, target_group_id)
SELECT b.id, 443, 'HTTPS', 'ELBSecurityPolicy-TLS13-1-2-2021-06', c.id, 'forward', g.id FROM load_balancer b, certificate c, target_group g
WHERE b.load_balancer_name = 'pier-web' AND c.domain_name = 'pier.example.com' AND g.target_group_name = 'pier-web';
INSERT INTO listener (load_balancer_id, port, protocol, certificate_id, alpn_policy, target_group_id)
SELECT b.id, 443, 'TLS', c.id, 'HTTP2Preferred', g.id FROM load_balancer b, certificate c, target_group g
WHERE b.load_balancer_name = 'pier-raw' AND c.domain_name = 'pier.example.com' AND g.target_group_name = 'pier-raw';
INSERT INTO listener (load_balancer_id, port, protocol, action_type, default_actions)
SELECT id, 80, 'HTTP', 'redirect', '[{"Type": "redirect", "RedirectConfig": {"Port": "443", "Protocol": "HTTPS", "StatusCode": "HTTP_302"}}]'::jsonb
FROM load_balancer WHERE load_balancer_name = 'pier-web'
UNION ALL SELECT id, 81, 'HTTP', 'fixed-response',
    '[{"Type": "fixed-response", "FixedResponseConfig": {"ContentType": "text/plain", "MessageBody": "Low tide", "StatusCode": "503"}}]'
FROM load_balancer WHERE load_balancer_name = 'pier-web';
INSERT INTO listener (load_balancer_id, port, protocol, certificate_id, action_type, default_actions)
SELECT b.id, a.port, 'HTTPS', c.id, 'forward', a.first || '[{"Type": "forward",
    "TargetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/pier-web/0a1b2c3d4e5f6071"}]'
FROM load_balancer b, certificate c, (VALUES
    (8443, '[{"Type": "authenticate-cognito", "AuthenticateCognitoConfig": {"UserPoolClientId": "0a1b2c3d4e5f", "UserPoolDomain": "pier",
              "UserPoolArn": "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_a1B2c3"}}]'::jsonb),
    (8444, '[{"Type": "authenticate-oidc", "AuthenticateOidcConfig": {"AuthorizationEndpoint": "https://id.example.com/authorize", "ClientId": "pier",
              "Issuer": "https://id.example.com", "TokenEndpoint": "https://id.example.com/token", "UserInfoEndpoint": "https://id.example.com/me"}}]')) a (port, first)
WHERE b.load_balancer_name = 'pier-web' AND c.domain_name = 'pier.example.com';
