#!/bin/sh
# After removing: .deb ($1 is remove, purge or upgrade) and .rpm ($1 is 0, or 1 for an upgrade).
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
# The user stays, as Debian's policy advises: files may be its own. (A purge removes the
# configuration by itself.)
if [ "$1" = purge ]; then
	rm -rf /var/lib/iasql
	rmdir /etc/iasql 2>/dev/null || true
fi
