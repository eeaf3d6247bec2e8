#!/usr/bin/env bash
# Checks docker-compose.yml; see `make compose-check`. It builds the images, brings
# everything up, changes the cloud through psql and the tables through the emulator,
# looks at the console's address, and takes everything down.
#
# It starts dockerd if none runs (as root), and ends that again. Where no registry can
# be reached it makes stand-ins for the base images that the files name: a Debian from
# the package archive with this machine's Go, with PostgreSQL, or with moto. They are
# tagged stand-in, too; IASQL_COMPOSE_STAND_INS=1 makes them in any case.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PATH:$PWD/.venv/bin

die() { echo "compose-check: $*" >&2; exit 1; }
say() { echo "compose-check: $*"; }

missing=()
command -v docker >/dev/null || missing+=(docker.io)
command -v dockerd >/dev/null || docker info >/dev/null 2>&1 || missing+=(docker.io)
docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || missing+=(docker-compose)
if ((${#missing[@]})); then
	((EUID == 0)) && command -v apt-get >/dev/null || die "missing: ${missing[*]}; run as root: apt-get install ${missing[*]}"
	say "installing ${missing[*]}"
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null || die "apt-get install ${missing[*]} failed"
fi

work=$(mktemp -d)
daemon=
project=iasql-check-$$
compose=()
finish() {
	local status=$?
	trap - EXIT
	if ((${#compose[@]})); then
		((status == 0)) || "${compose[@]}" logs --no-color --tail 30 >&2 || true
		"${compose[@]}" down --volumes --rmi local --timeout 30 >"$work/down" 2>&1 || { cat "$work/down" >&2; status=1; }
	fi
	if [[ -n $daemon ]]; then
		kill -TERM "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
		umount "$work"/exec/netns/* 2>/dev/null || true # which dockerd leaves
	fi
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if ! docker info >/dev/null 2>&1; then
	((EUID == 0)) || die "no docker daemon answers, and only root can start one"
	say "starting dockerd"
	dockerd --host "unix://$work/docker.sock" --data-root "$PWD/.cache/docker" --exec-root "$work/exec" --pidfile "$work/docker.pid" >"$work/dockerd.log" 2>&1 &
	daemon=$!
	export DOCKER_HOST=unix://$work/docker.sock
	for ((i = 0; i < 300; i++)); do
		docker info >/dev/null 2>&1 && break
		kill -0 "$daemon" 2>/dev/null || { tail -n 5 "$work/dockerd.log" >&2; die "dockerd does not start"; }
		sleep 0.1
	done
	docker info >/dev/null 2>&1 || die "dockerd does not answer"
fi

# stand_in NAME DIRECTORY CHANGE...: an image of what is in a directory.
stand_in() {
	local name=$1 directory=$2
	shift 2
	local changes=()
	for change in "$@"; do changes+=(--change "$change"); done
	tar -C "$directory" -c . | docker import "${changes[@]}" - "$name" >/dev/null
	docker tag "$name" "stand-in/${name//[:\/]/-}"
}

# have NAME: whether there is an image, once the registry was asked.
have() { [[ -z ${IASQL_COMPOSE_STAND_INS:-} ]] && { docker image inspect "$1" >/dev/null 2>&1 || timeout 120 docker pull -q "$1" >/dev/null 2>&1; }; }

golang=$(sed -n 's/^FROM \(golang:[^ ]*\).*/\1/p' docker/engine.Dockerfile)
distroless=$(sed -n 's/^FROM \(gcr.io[^ ]*\).*/\1/p' docker/engine.Dockerfile)
postgres=$(sed -n 's/^FROM \(postgres:[^ ]*\).*/\1/p' docker/postgres.Dockerfile)
moto=$(sed -n 's/^ *image: \(motoserver.*\)/\1/p' docker-compose.yml)
made=()
if ! have "$golang"; then
	made+=("$golang")
	scripts/debian-root.sh "$work/golang"
	cp -a "$(go env GOROOT)" "$work/golang/usr/local/go"
	stand_in "$golang" "$work/golang" 'ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin' 'ENV GOTOOLCHAIN=local'
	rm -rf "$work/golang"
fi
if ! have "$distroless"; then
	made+=("$distroless")
	mkdir -p "$work/static"/{etc/ssl/certs,tmp,home/nonroot}
	cp /etc/ssl/certs/ca-certificates.crt "$work/static/etc/ssl/certs/"
	echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$work/static/etc/passwd"
	stand_in "$distroless" "$work/static" 'USER 65532' 'WORKDIR /home/nonroot'
fi
if ! have "$postgres"; then
	made+=("$postgres")
	scripts/debian-root.sh "$work/postgres" postgresql-15
	cat >"$work/postgres/usr/local/bin/docker-entrypoint.sh" <<-'ENTRYPOINT'
		#!/bin/bash
		# What the official image does with POSTGRES_PASSWORD and POSTGRES_DB, and no more.
		set -e
		export PGDATA=/var/lib/postgresql/data
		if [ "$(id -u)" = 0 ]; then
			mkdir -p "$PGDATA" /run/postgresql && chown postgres: "$PGDATA" /run/postgresql && chmod 700 "$PGDATA"
			exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
		fi
		if [ ! -s "$PGDATA/PG_VERSION" ]; then
			initdb -U postgres --auth-local trust --auth-host scram-sha-256 --pwfile <(echo "$POSTGRES_PASSWORD") >/dev/null
			echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
			pg_ctl -w start -o "-c listen_addresses=" >/dev/null
			createdb -U postgres "$POSTGRES_DB"
			pg_ctl -w stop >/dev/null
		fi
		exec "$@" -c listen_addresses='*'
	ENTRYPOINT
	chmod 755 "$work/postgres/usr/local/bin/docker-entrypoint.sh"
	stand_in "$postgres" "$work/postgres" 'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' 'ENTRYPOINT ["docker-entrypoint.sh"]' 'CMD ["postgres"]'
	rm -rf "$work/postgres"
fi
if ! have "$moto"; then
	made+=("$moto")
	scripts/debian-root.sh "$work/moto" python3
	server=$(command -v moto_server) || die "moto_server is missing: run make deps"
	site=$("$(dirname "$server")/python3" -c 'import moto, os; print(os.path.dirname(os.path.dirname(moto.__file__)))') || die "$server has no Python beside it"
	mkdir -p "$work/moto/opt"
	cp -aL "$site" "$work/moto/opt/site"
	stand_in "$moto" "$work/moto" 'ENV PYTHONPATH=/opt/site' 'ENTRYPOINT ["/usr/bin/python3", "-c", "from moto.server import main; main()", "-H", "0.0.0.0"]'
	rm -rf "$work/moto"
fi
((${#made[@]} == 0)) || say "no registry has ${made[*]}: stand-ins were made"

# Free ports, so that nothing of this machine is in the way.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
IASQL_PG_PORT=$(port) IASQL_AWS_PORT=$(port) IASQL_CONSOLE_PORT=$(port)
export IASQL_PG_PORT IASQL_AWS_PORT IASQL_CONSOLE_PORT VERSION=${VERSION:-check}

# Builds download what they need through the network of this machine.
cat >"$work/network.yml" <<-'YAML'
	services:
	  postgres: { build: { network: host } }
	  migrate: { build: { network: host } }
	  engine: { build: { network: host } }
YAML
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else
	compose=(docker-compose)
	export DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0
fi
compose+=(--project-name "$project" --file docker-compose.yml --file "$work/network.yml" --project-directory "$PWD")

"${compose[@]}" config --quiet || die "docker-compose.yml is not right"
say "building"
"${compose[@]}" build >"$work/build" 2>&1 || { tail -n 30 "$work/build" >&2; die "the images could not be built"; }
say "starting"
"${compose[@]}" up --detach >"$work/up" 2>&1 || { tail -n 30 "$work/up" >&2; die "it does not come up"; }

ask() { PGCONNECT_TIMEOUT=5 psql -XAtq -v ON_ERROR_STOP=1 "postgres://postgres:iasql@127.0.0.1:$IASQL_PG_PORT/iasql" -c "$1"; }
cloud() { AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 aws --endpoint-url "http://127.0.0.1:$IASQL_AWS_PORT" --output text "$@"; }
get() { python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())' "http://127.0.0.1:$IASQL_CONSOLE_PORT$1"; }
# until WHAT COMMAND...: within a minute.
until_() {
	local what=$1
	shift
	for ((i = 0; i < 120; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.5
	done
	die "not within a minute: $what"
}
until_ "an engine is connected" bash -c "$(declare -f ask); [[ \$(ask 'SELECT count(*) FROM iasql_engines()') == 1 ]]"
[[ $(ask 'SELECT version FROM iasql_engines()') == "$VERSION" ]] || die "the engine says it is $(ask 'SELECT version FROM iasql_engines()'), not $VERSION"
ask "SELECT count(*) FROM iasql_install('aws_account')" >/dev/null
ask "UPDATE aws_regions SET is_enabled = region = 'us-east-1'"
ask "SELECT count(*) FROM iasql_install('aws_vpc')" >/dev/null
ask "INSERT INTO vpc (cidr_block, tags) VALUES ('10.99.0.0/16', '{\"Name\": \"composed\"}')"
ask "SELECT iasql_wait_for_all(60)" >/dev/null
[[ $(cloud ec2 describe-vpcs --filters Name=cidr,Values=10.99.0.0/16 --query 'length(Vpcs)') == 1 ]] || die "the row has not become a VPC"
cloud ec2 create-vpc --cidr-block 10.98.0.0/16 >/dev/null
ask "SELECT iasql_sync_now()" >/dev/null
[[ $(ask "SELECT count(*) FROM vpc WHERE cidr_block = '10.98.0.0/16'") == 1 ]] || die "the VPC has not become a row"
[[ $(get /readyz) == ok* ]] || die "the engine is not ready"
get /metrics | grep -q '^iasql_engines_connected 1' || die "the metrics do not count the engine"
get / | grep -qi 'sign in' || die "the console shows no sign-in"
[[ $(ask "SELECT count(*) FROM cron.job WHERE jobname LIKE '%iasql%'") -ge 1 ]] || die "pg_cron does not keep the schedule"
say "rows become objects, objects become rows, the console answers; taking it down"
