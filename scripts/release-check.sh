#!/usr/bin/env bash
# Checks .goreleaser.yaml; see `make release-check`. It builds a snapshot of everything
# but the images (those where there is docker buildx), and installs, upgrades, removes
# and purges the .deb on a Debian with nothing on it. What fails says so; the exit
# status is that of the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${GORELEASER:?run make release-check}"
die() { echo "release-check: $*" >&2; exit 1; }
say() { echo "release-check: $*"; }

$GORELEASER check

# A release has a tag; a snapshot of a checkout without one is of what comes after 0.0.0.
skip=publish,announce,sign
docker buildx version >/dev/null 2>&1 || { skip+=,docker; say "there is no docker buildx here: the images are not built"; }
log=$(mktemp)
$GORELEASER release --snapshot --clean --skip="$skip" >"$log" 2>&1 || { tail -n 30 "$log" >&2; rm -f "$log"; die "the snapshot could not be built"; }
rm -f "$log"

version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
arch=$(dpkg --print-architecture)
for kind in linux_amd64.tar.gz linux_arm64.tar.gz darwin_arm64.tar.gz amd64.deb arm64.deb x86_64.rpm aarch64.rpm; do
	compgen -G "dist/iasql*$kind" >/dev/null || die "there is no $kind in dist"
done
compgen -G 'dist/*.cdx.json' >/dev/null || die "there is no SBOM in dist"
(cd dist && sha256sum --quiet --check SHA256SUMS) || die "SHA256SUMS is not right"
while read -r _ file; do [[ -e dist/$file ]] || die "SHA256SUMS names $file"; done <dist/SHA256SUMS
deb=$(echo dist/iasql_*_"$arch".deb)
tar -tzf dist/iasql_*_linux_amd64.tar.gz | grep -qx 'iasql_.*/engine\|engine' || die "the archive has no engine"
say "built $version: $(ls dist | grep -c 'iasql') files"

((EUID == 0)) || { say "not root: the packages are not installed"; exit 0; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
scripts/debian-root.sh "$root" systemd
cp "$deb" "$root/new.deb"
# The version before: the same, with a lower number.
dpkg-deb -R "$deb" "$root/old" && sed -i 's/^Version: .*/Version: 0.0.0~before/' "$root/old/DEBIAN/control" && dpkg-deb -b "$root/old" "$root/old.deb" >/dev/null
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

in_root dpkg -i old.deb >/dev/null || die "the package could not be installed"
in_root /usr/bin/iasql-engine --version >/dev/null || die "the engine does not run"
in_root getent passwd iasql >/dev/null || die "the package made no user iasql"
[[ $(in_root stat -c '%U:%G %a' /etc/iasql/engine.env) == 'root:iasql 640' ]] || die "engine.env: $(in_root stat -c '%U:%G %a' /etc/iasql/engine.env)"
in_root systemd-analyze verify --man=no iasql-engine.service 2>&1 | grep -Ev 'RestartSteps|RestartMaxDelaySec' | grep iasql && die "the installed unit is not right"

echo 'DATABASE_URL=postgres://mine@db/iasql' >"$root/etc/iasql/engine.env"
in_root dpkg -i new.deb >/dev/null || die "the package could not be upgraded"
grep -q mine "$root/etc/iasql/engine.env" || die "an upgrade has overwritten engine.env"
[[ $(in_root dpkg-query -W -f '${Version}' iasql) != 0.0.0~before ]] || die "the upgrade has not happened"
[[ $(in_root iasql-engine version) == "$version" ]] || die "the engine says it is $(in_root iasql-engine version), not $version"

in_root dpkg -r iasql >/dev/null || die "the package could not be removed"
[[ ! -e $root/usr/bin/iasql-engine ]] || die "the engine is still there"
[[ -e $root/etc/iasql/engine.env ]] || die "removing has taken the configuration, which is for purging"
in_root dpkg -P iasql >/dev/null || die "the package could not be purged"
left=$(cd "$root" && find etc/iasql var/lib/iasql usr/share/doc/iasql usr/lib/systemd/system/iasql-engine.service usr/lib/sysusers.d/iasql.conf 2>/dev/null || true)
[[ -z $left ]] || die "purging has left: $left"
say "the .deb installs, upgrades, removes and purges"
if command -v rpm >/dev/null; then
	rpm -qp --requires --scripts dist/iasql-*.x86_64.rpm >/dev/null 2>&1 || die "rpm does not take the .rpm"
	say "rpm takes the .rpm"
fi
