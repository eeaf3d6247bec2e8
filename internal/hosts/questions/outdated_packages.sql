-- Which packages are out of date?
-- Packages of which the host's repositories have another version, by the lists that it fetched last. What is held stays as it is. UPDATE host_package SET version = latest brings one up to date.
-- needs: host_packages.host_package
SELECT p.id, p.account AS host, p.name, p.version, p.latest, p.held
FROM host_package p
WHERE p.latest <> p.version
ORDER BY p.held, p.name, p.account;
