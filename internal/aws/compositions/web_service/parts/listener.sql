-- With a certificate, http leads to https.
SELECT l.key, w.account, w.region, b.id AS load_balancer_id, l.port, l.protocol,
       CASE WHEN l.key = 'http' AND c.id IS NOT NULL THEN 'redirect' ELSE 'forward' END AS action_type,
       CASE WHEN l.key = 'https' OR c.id IS NULL THEN t.id END AS target_group_id,
       CASE WHEN l.key = 'http' AND c.id IS NOT NULL THEN
           '[{"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}]'::jsonb END AS default_actions,
       CASE l.key WHEN 'https' THEN c.id END AS certificate_id, w.tags
FROM web_service w JOIN part b ON b.part = 'load_balancer' JOIN part t ON t.part = 'target_group'
CROSS JOIN LATERAL (SELECT coalesce(w.certificate, (SELECT p.id FROM part p WHERE p.part = 'certificate')) AS id) c
JOIN (VALUES ('http', 80, 'HTTP'), ('https', 443, 'HTTPS')) l (key, port, protocol) ON l.key = 'http' OR c.id IS NOT NULL
