#!/usr/bin/env bash
# Unpacks PostgreSQL of the major version that is named (17 if none is) from Debian's
# archive into .cache/postgresql-MAJOR, with pg_cron, beside whatever the machine has:
# tests of moving to a newer PostgreSQL need two of them. The programs bring their own C
# library, and are told where it is. When they are there it only looks. Prints the
# directory of the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

major=${1:-17}
die() { echo "postgres: $*" >&2; exit 1; }
case $major in
	15) release=bookworm ;;
	17) release=trixie ;;
	18) release=forky ;;
	*) die "no release of Debian has PostgreSQL $major: 15 is in bookworm, 17 in trixie, 18 in forky" ;;
esac
override=IASQL_POSTGRES$major
root=${!override:-$PWD/.cache/postgresql-$major}
bin=$root/usr/lib/postgresql/$major/bin
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

works() { [[ -x $bin/initdb && -x $bin/pg_basebackup && -x $bin/pg_dump ]] && "$bin/postgres" --version >/dev/null 2>&1; }

if works; then
	echo "$bin"
	exit
fi
command -v apt-get >/dev/null || die "there is no apt-get here: unpack a PostgreSQL $major yourself, and name its root by $override"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -e $keyring ]] || die "Debian's keys are missing ($keyring): install debian-archive-keyring"
if ! command -v patchelf >/dev/null; then
	as_root=()
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "missing: patchelf; run as root: apt-get install patchelf"
		as_root=(sudo)
	fi
	{ "${as_root[@]}" apt-get install -y -qq --no-install-recommends patchelf || { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq --no-install-recommends patchelf; }; } >/dev/null 2>&1 ||
		die "apt-get install patchelf failed"
fi

echo "postgres: downloading PostgreSQL $major from Debian's archive" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,root}
# An apt of its own: no list, no package and no choice of the machine is touched, and every
# package that PostgreSQL needs is taken from the newer release.
: >"$work/status"
echo "deb [signed-by=$keyring] $mirror $release main" >"$work/sources.list"
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=- \
		-o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 \
		-o Acquire::Languages=none "$@" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; die "apt-get failed"; }
}
apt update
apt install -y --download-only --no-install-recommends "postgresql-$major" "postgresql-$major-cron"
for package in "$work"/cache/archives/*.deb; do
	dpkg -x "$package" "$work/root"
done
# What only an installed system needs takes most of the room.
rm -rf "$work"/root/usr/share/{doc,man,locale,perl,perl5,i18n} "$work"/root/usr/lib/*/{perl,perl-base,perl5}

libraries=$(dirname "$(find "$work/root" -name libpq.so.5 | head -n 1)")
libraries=${libraries#"$work/root"}
loader=$(cd "$work/root" && find . -name 'ld-linux-*.so.*' | head -n 1)
[[ -n $libraries && -n $loader ]] || die "the packages have no libpq or no loader"
for program in "$work"/root/usr/lib/postgresql/"$major"/bin/*; do
	# An rpath that also counts for what the program loads later, such as dblink.
	if [[ $(head -c 4 "$program" | tail -c 3) == ELF ]]; then
		patchelf --set-interpreter "$root/${loader#./}" --force-rpath --set-rpath "$root$libraries" "$program"
	fi
done
chmod -R go+rX "$work/root"
mkdir -p "$(dirname "$root")"
rm -rf "$root"
mv "$work/root" "$root"
works || die "$bin/postgres does not run"
echo "$bin"
