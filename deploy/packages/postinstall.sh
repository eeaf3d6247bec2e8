#!/bin/sh
# After installing and upgrading, .deb ($1 is configure, $2 the version before, if any)
# and .rpm ($1 is 1, or 2 for an upgrade).
set -e

# The engine's user; by hand where there is no systemd.
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers iasql.conf
elif ! getent passwd iasql >/dev/null; then
	getent group iasql >/dev/null || groupadd --system iasql
	useradd --system --gid iasql --home-dir /var/lib/iasql --no-create-home --shell /usr/sbin/nologin --comment "iasql engine" iasql
fi
chgrp iasql /etc/iasql/engine.env
chmod 640 /etc/iasql/engine.env

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade: engines of the old and the new version may run side by side, and this
	# one comes back with the new. It is not started where it has no database yet.
	systemctl try-restart iasql-engine.service || true
fi
if [ "$1" = configure ] && [ -z "$2" ] || [ "$1" = 1 ]; then
	echo "iasql: put the database's URL into /etc/iasql/engine.env, then: systemctl enable --now iasql-engine"
fi
