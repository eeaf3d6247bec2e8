-- Which hosts have a package, and in which version?
-- Packages by name; * stands for any characters, as in openssl* or *ssl*.
-- needs: host_packages.host_package
-- asks: package = openssl*
SELECT p.name, p.version, count(*) AS hosts, string_agg(p.account, ', ' ORDER BY p.account) AS on_hosts
FROM host_package p
WHERE p.version IS NOT NULL AND p.name LIKE replace(replace(replace(:'package', '\', '\\'), '_', '\_'), '*', '%')
GROUP BY p.name, p.version
ORDER BY p.name, p.version;
