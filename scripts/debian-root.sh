#!/usr/bin/env bash
# Makes a small Debian from the package archive once, and unpacks it:
#
#   scripts/debian-root.sh DIRECTORY [PACKAGE...]
#
# It is kept in .cache as a tarball for each list of packages. The certificates that
# this machine trusts are put in, so that downloads work behind a proxy of one's own.
# For checks that need a machine with nothing on it; it takes root, as debootstrap does.
set -euo pipefail
cd "$(dirname "$0")/.."

release=bookworm
die() { echo "debian-root: $*" >&2; exit 1; }

directory=${1:?a directory} && shift
((EUID == 0)) || die "run as root: debootstrap makes device files and changes its root"
if ! command -v debootstrap >/dev/null; then
	command -v apt-get >/dev/null || die "debootstrap is missing: install it with your package manager"
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap; } >/dev/null || die "apt-get install debootstrap failed"
fi
packages=$(IFS=, && echo "ca-certificates${*:+,$*}")
tarball=.cache/$release-$(sha256sum <<<"$packages" | cut -c1-12).tar
if [[ ! -e $tarball ]]; then
	echo "debian-root: making a Debian $release with $packages; it takes some minutes" >&2
	mkdir -p .cache
	new=$(mktemp -d)
	trap 'rm -rf "$new"' EXIT
	debootstrap --variant=minbase --include="$packages" "$release" "$new/root" >"$new/log" 2>&1 || { tail -n 5 "$new/log" >&2; die "debootstrap failed"; }
	rm -rf "$new"/root/var/cache/apt/archives/*.deb
	tar -C "$new/root" -cf "$tarball.new" .
	mv "$tarball.new" "$tarball"
fi
mkdir -p "$directory"
tar -C "$directory" -xf "$tarball"
if [[ -s /etc/ssl/certs/ca-certificates.crt ]]; then
	cp /etc/ssl/certs/ca-certificates.crt "$directory/etc/ssl/certs/ca-certificates.crt"
fi
cp -L /etc/resolv.conf "$directory/etc/resolv.conf" 2>/dev/null || true
