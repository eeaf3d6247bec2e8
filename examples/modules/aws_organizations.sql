-- The accounts of the organization, and how many of them are managed here.
SELECT o.aws_account_id, o.name, o.state, o.path, a.name AS managed_as
FROM organization_account o LEFT JOIN aws_account a ON a.account_id = o.aws_account_id
ORDER BY o.name;
-- Members of iasql_engine say which are, too, and by which role:
--   INSERT INTO aws_organization_rule (organizational_unit, role_name) VALUES ('ou-ab12-11111111', 'OrganizationAccountAccessRole');
