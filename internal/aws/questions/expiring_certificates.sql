-- Which certificates expire soon?
-- Certificates whose time ends within so many days, and whether AWS renews them by itself.
-- needs: aws_acm.certificate
-- asks: days = 30
SELECT c.id, c.account, c.region, c.domain_name, c.not_after, c.status, c.renewal_eligibility, c.in_use
FROM certificate c
WHERE c.not_after < now() + make_interval(days => (:'days')::integer)
ORDER BY c.not_after;
