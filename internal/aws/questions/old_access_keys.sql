-- Which access keys are old?
-- Keys of users that are active and were made long ago.
-- needs: aws_iam.access_key
-- asks: days = 90
SELECT k.id, k.account, k.user_name, k.access_key_id, k.create_date, current_date - k.create_date::date AS days
FROM access_key k
WHERE k.status = 'Active' AND k.create_date < now() - make_interval(days => (:'days')::integer)
ORDER BY k.create_date;
