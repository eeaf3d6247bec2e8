-- Which units have failed?
-- Units of systemd that have failed, those that are to run and do not, and those that still run what they were started with before something that they restart on has changed.
-- needs: host_units.host_unit
SELECT u.id, u.account AS host, u.name, u.active_state, u.sub_state, u.result, u.active AS wanted, u.restart_due
FROM host_unit u
WHERE u.active_state = 'failed' OR u.active = 'running' AND u.active_state IN ('inactive', 'deactivating') OR u.restart_due IS NOT NULL
ORDER BY u.active_state = 'failed' DESC, u.account, u.name;
