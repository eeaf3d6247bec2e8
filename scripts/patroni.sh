#!/usr/bin/env bash
# Unpacks Patroni and etcd of this machine's Debian into .cache/patroni. The packages are
# not installed: they would start services. When they are there it only looks. Prints the
# directory.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD/.cache/patroni
die() { echo "patroni: $*" >&2; exit 1; }
works() {
	[[ -x $root/usr/bin/etcd && -x $root/usr/bin/etcdctl ]] &&
		PYTHONPATH=$root/usr/lib/python3/dist-packages /usr/bin/python3 "$root/usr/bin/patroni" --version >/dev/null 2>&1
}
if works; then
	echo "$root"
	exit
fi
command -v apt-get >/dev/null || die "there is no apt-get here: the trials of Patroni take Debian's packages"
echo "patroni: downloading Patroni and etcd from Debian's archive" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
packages=(patroni etcd-server etcd-client python3-etcd python3-dnspython python3-cdiff python3-click python3-dateutil
	python3-prettytable python3-psutil python3-urllib3 python3-yaml python3-psycopg2 python3-six python3-wcwidth
	python3-pkg-resources)
get() { (cd "$work" && apt-get download -qq "${packages[@]}") >"$work/log" 2>&1; }
get || { [[ $EUID -ne 0 ]] || apt-get update -qq >"$work/log" 2>&1; get; } || die "apt-get download failed: $(tail -n 1 "$work/log")"
for package in "$work"/*.deb; do
	dpkg -x "$package" "$work/root"
done
chmod -R go+rX "$work/root"
mkdir -p .cache
rm -rf "$root"
mv "$work/root" "$root"
works || die "$root/usr/bin/patroni does not run"
echo "$root"
