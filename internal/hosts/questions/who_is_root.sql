-- Who may become root on the hosts?
-- Whom rules of sudo give something, and the users with the number 0. What a rule permits, its text says.
-- needs: host_system.host_sudoer host_users.host_user
SELECT s.account AS host, w.who, 'sudo, by ' || s.name AS how, NOT coalesce(s.nopasswd, false) AS asks_password, s.content AS rule
FROM host_sudoer s CROSS JOIN LATERAL unnest(s.who) AS w (who)
UNION ALL
SELECT u.account, u.name, 'the number 0', NULL, NULL
FROM host_user u
WHERE u.uid = 0 AND NOT u.locked
ORDER BY 1, 2, 3;
