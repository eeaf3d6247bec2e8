#!/bin/sh
# Before removing: .deb ($1 is remove, or upgrade) and .rpm ($1 is 0, or 1 for an upgrade).
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now iasql-engine.service || true
	fi
	;;
esac
