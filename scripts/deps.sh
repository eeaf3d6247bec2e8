#!/usr/bin/env bash
# Installs what the project needs and the machine lacks: for the demo and `make test`,
# or, with the argument all, for `make test-all`; see `make deps` and `make deps-all`.
# When nothing is missing it only looks, which takes a fraction of a second.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=15
moto='moto[server]==5.2.1'
awscli='awscli==1.45.11'

die() { echo "deps: $*" >&2; exit 1; }
say() { echo "deps: $*"; }

# The major version of the PostgreSQL programs in a directory; fails below $oldest.
major_of() {
	[[ -x $1/postgres && -x $1/initdb && -x $1/pg_ctl ]] || return 1
	local version
	version=$("$1/postgres" --version 2>/dev/null) || return 1
	[[ $version =~ \(PostgreSQL\)\ ([0-9]+) ]] && ((BASH_REMATCH[1] >= oldest)) && echo "${BASH_REMATCH[1]}"
}

# Sets pg_bin and pg_major to the installation that the engine would choose: the
# one on PATH, else the newest.
find_postgres() {
	pg_bin='' pg_major=0
	local path dir major
	if path=$(command -v postgres); then
		dir=$(dirname "$(readlink -f "$path")")
		if major=$(major_of "$dir"); then
			pg_bin=$dir pg_major=$major
			return 0
		fi
	fi
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
		if major=$(major_of "$dir") && ((major > pg_major)); then
			pg_bin=$dir pg_major=$major
		fi
	done
	[[ -n $pg_bin ]]
}

has_cron() {
	local dir
	dir=$("$pg_bin/pg_config" --pkglibdir 2>/dev/null) || dir=$pg_bin/../lib
	[[ -e $dir/pg_cron.so || -e $dir/pg_cron.dylib ]]
}

has_tool() { command -v "$1" >/dev/null || [[ -x .venv/bin/$1 ]]; }

# What a machine with nothing on it lacks. All of it is installed at once, and named at
# once where that cannot be done. Which pg_cron it is depends on the PostgreSQL: that
# comes with the newest of the archive.
lacking=()
lack() { lacking+=("$@"); }
newest_postgres() { apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1; }
find_lacking() {
	if ! find_postgres; then
		lack postgresql
		local major
		[[ -d /var/lib/apt/lists ]] && major=$(newest_postgres) && [[ -n $major ]] && lack "postgresql-$major-cron"
	fi
	command -v psql >/dev/null || lack postgresql-client
	if ! { has_tool moto_server && has_tool aws; } && [[ ! -x .venv/bin/pip ]] && ! python3 -c 'import ensurepip' 2>/dev/null; then
		# Debian's python3 comes without the part of venv that brings pip.
		lack python3 python3-venv
	fi
	[[ ${1:-} == all ]] || return 0
	if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
		lack chromium fonts-dejavu-core
	fi
	# Hosts are reached by SSH. Its service is not started by the tests, which have servers of their own.
	[[ -x /usr/sbin/sshd ]] || lack openssh-server
	# Machines that lock people out are namespaces with a network, a firewall and a sudo of their own.
	[[ -x /usr/sbin/ip || -x /sbin/ip ]] || lack iproute2
	[[ -x /usr/sbin/nft ]] || lack nftables
	command -v sudo >/dev/null || lack sudo
	command -v nsenter >/dev/null || lack util-linux
}

updated=
apt_install() {
	command -v apt-get >/dev/null || die "missing: $*; there is no apt-get here: install them with your package manager"
	local root=()
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "missing: $*; run as root: apt-get install $*"
		root=(sudo)
	fi
	if [[ -z $updated ]]; then
		"${root[@]}" apt-get update -qq || die "apt-get update failed; missing: $*"
		updated=yes
	fi
	say "installing $*"
	local out # apt is chatty even when told to be quiet
	out=$("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1) ||
		die "apt-get install $* failed: ${out##*$'\n'}"
}

find_lacking "${1:-}"
if ((${#lacking[@]})); then
	apt_install "${lacking[@]}"
	find_postgres || die "the newest packaged PostgreSQL is older than $oldest: add https://apt.postgresql.org and run make deps again"
fi
if ! has_cron; then
	# Schedules from inside the database; without it the engine schedules itself.
	if command -v apt-get >/dev/null && [[ -n $(apt-cache search --names-only "^postgresql-$pg_major-cron\$" 2>/dev/null) || $pg_bin == /usr/lib/postgresql/* ]]; then
		apt_install "postgresql-$pg_major-cron"
	else
		say "pg_cron for PostgreSQL $pg_major is not installed: the engine will do its own scheduling"
	fi
fi

# What only further tests need: `scripts/deps.sh all` installs it too.
if [[ ${1:-} == all ]]; then
	# The metrics are scraped by a Prometheus. Its programs alone: the package would start a service.
	if ! has_tool promtool || ! has_tool prometheus; then
		command -v apt-get >/dev/null || die "missing: prometheus and promtool; put them on PATH"
		say "unpacking prometheus into .venv"
		unpacked=$(mktemp -d)
		chmod 755 "$unpacked"
		(cd "$unpacked" && { apt-get download -qq prometheus || { [[ $EUID -ne 0 ]] || apt-get update -qq && apt-get download -qq prometheus; }; } >/dev/null 2>&1 && dpkg -x prometheus_*.deb .) ||
			die "apt-get download prometheus failed"
		mkdir -p .venv/bin
		cp "$unpacked"/usr/bin/prometheus "$unpacked"/usr/bin/promtool .venv/bin/
		rm -rf "$unpacked"
	fi
fi

# Containers of hosts are tested on a real Docker and a real Podman. Debian starts Docker; the tests start their own.
if [[ ${1:-} == all ]] && command -v apt-get >/dev/null; then
	command -v dockerd >/dev/null || (apt_install docker.io) || say "without dockerd the tests of containers fail"
	command -v podman >/dev/null || (apt_install podman containernetworking-plugins) || say "without podman the test of its containers fails"
fi

# A test has the clock of the database jump.
if [[ ${1:-} == all ]] && ! compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null && command -v apt-get >/dev/null; then
	(apt_install libfaketime) || say "without libfaketime the test of jumping clocks fails"
fi

# Packages and users of hosts are tested in small Debians of their own, directories that each test copies. One of them
# has dnf and rpm besides, and what makes packages and repositories of these.
small_debian() { # directory, what it is for, packages that it has besides
	if [[ $EUID -ne 0 ]]; then
		say "without root's rights there is no Debian of its own for the tests of $2 of hosts"
		return
	fi
	command -v debootstrap >/dev/null || apt_install debootstrap
	say "unpacking Debian into $1"
	rm -rf "$1.new"
	mkdir -p .cache
	debootstrap --variant=minbase ${3:+--include="$3"} bookworm "$1.new" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >/dev/null || die "debootstrap failed: see $1.new/debootstrap"
	rm -rf "$1.new"/usr/share/{doc,man,locale}/* "$1.new"/var/lib/apt/lists/* "$1.new"/var/cache/apt/*
	mv "$1.new" "$1"
}
if [[ ${1:-} == all && ! -e .cache/debian-root/etc/debian_version ]]; then
	small_debian .cache/debian-root "packages and users"
fi
if [[ ${1:-} == all && ! -e .cache/debian-dnf/usr/bin/dnf ]]; then
	small_debian .cache/debian-dnf "packages of dnf" dnf,rpm,createrepo-c
fi

# Units of hosts are tested in a small Debian that is booted: its systemd is process 1 of namespaces of its own.
if [[ ${1:-} == all && $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
	command -v systemd-nspawn >/dev/null || (apt_install systemd-container) || say "without systemd-nspawn the tests of units fail"
fi
if [[ ${1:-} == all && $EUID -eq 0 && ! -e .cache/debian-systemd/usr/lib/systemd/systemd ]]; then
	small_debian .cache/debian-systemd units systemd,systemd-sysv,dbus
fi

# The console's pages are checked by axe-core, in the browser. The package is only unpacked: nothing of it runs here.
axe=4.14.1 # test/console/axe_test.go has it too
axe_sha512=1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5
if [[ ${1:-} == all && ! -s .cache/axe-core-$axe.min.js ]]; then
	unpacked=$(mktemp -d)
	say "unpacking axe-core $axe into .cache"
	if (cd "$unpacked" && npm pack --silent "axe-core@$axe") >/dev/null; then
		echo "$axe_sha512  $unpacked/axe-core-$axe.tgz" | sha512sum --check --status ||
			die "axe-core-$axe.tgz is not the package that scripts/deps.sh names: its SHA-512 differs"
		mkdir -p .cache
		tar -xzf "$unpacked/axe-core-$axe.tgz" -C "$unpacked" package/axe.min.js
		mv "$unpacked/package/axe.min.js" ".cache/axe-core-$axe.min.js"
	else
		say "npm pack axe-core@$axe failed: the console's pages are not checked by it. Install npm; a mirror goes into npm_config_registry"
	fi
	rm -rf "$unpacked"
fi

# Users may be behind a pooler. Its program alone: the package would start a service.
if [[ ${1:-} == all ]] && ! has_tool pgbouncer && [[ ! -x /usr/sbin/pgbouncer ]] && command -v apt-get >/dev/null; then
	(
		unpacked=$(mktemp -d)
		trap 'rm -rf "$unpacked"' EXIT
		chmod 755 "$unpacked"
		(cd "$unpacked" && { apt-get download -qq pgbouncer || { [[ $EUID -ne 0 ]] || apt-get update -qq && apt-get download -qq pgbouncer; }; } >/dev/null 2>&1 && dpkg -x pgbouncer_*.deb .)
		mapfile -t libraries < <(dpkg-deb -f "$unpacked"/pgbouncer_*.deb Depends | tr ',' '\n' | sed -n 's/^ *\(lib[^ ]*\).*/\1/p')
		if ldd "$unpacked/usr/sbin/pgbouncer" | grep -q 'not found'; then
			apt_install "${libraries[@]}"
		fi
		mkdir -p .venv/bin
		cp "$unpacked/usr/sbin/pgbouncer" .venv/bin/
	) || say "without PgBouncer its test is skipped"
fi

# Tests use mappers and migration tools that users have.
if [[ ${1:-} == all ]] && command -v apt-get >/dev/null; then
	if ! /usr/bin/python3 -c 'import django, sqlalchemy, alembic, psycopg2' 2>/dev/null; then
		(apt_install python3-django python3-sqlalchemy python3-alembic python3-psycopg2) || say "without Django, SQLAlchemy and Alembic their tests fail"
	fi
	if ! ruby -e 'require "active_record"; require "pg"' 2>/dev/null; then
		(apt_install ruby ruby-activerecord ruby-pg) || say "without Active Record its test fails"
	fi
fi

packages=()
has_tool moto_server || packages+=("$moto")
has_tool aws || packages+=("$awscli")
if ((${#packages[@]})); then
	if [[ ! -x .venv/bin/pip ]]; then
		rm -rf .venv
		python3 -m venv .venv || die "python3 -m venv .venv failed"
	fi
	say "installing ${packages[*]} into .venv"
	# pip's last words are that it found no version: why is what it said before, each try anew.
	out=$(.venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}" 2>&1) || {
		grep -E 'ERROR|WARNING|rror:' <<<"$out" | sed -E 's/Retrying \(Retry\([^)]*\)\)/Retrying/; s/<pip[^>]*>: //; s/^/deps: pip: /' | cut -c1-500 | uniq | awk '!said[$0]++' >&2 || true
		die "pip install ${packages[*]} failed: is https://pypi.org to be reached? A proxy goes into HTTPS_PROXY, a mirror into PIP_INDEX_URL."
	}
fi
