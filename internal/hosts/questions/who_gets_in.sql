-- Whose keys let them in on the hosts?
-- Each public key with the users and hosts that it lets in. Users whose account has expired are left out: sshd lets nobody in as them.
-- needs: host_users.host_authorized_key host_users.host_user
SELECT k.comment, split_part(k.key, ' ', 1) AS type, right(k.key, 12) AS ends_with, count(*) AS entries,
       string_agg(k.user_name || '@' || k.account, ', ' ORDER BY k.account, k.user_name) AS lets_in
FROM host_authorized_key k
WHERE NOT EXISTS (SELECT FROM host_user u WHERE u.account = k.account AND u.name = k.user_name AND u.locked)
GROUP BY k.comment, k.key
ORDER BY entries DESC, k.comment, k.key;
