#!/usr/bin/env bash
# Starts PostgreSQL, an AWS emulator and the engine, and opens psql on it; see
# `make demo`. Without a terminal it runs examples/quickstart.sql instead, showing
# every statement with its result. All of it stops when psql ends; the database
# stays, for the next time. While one runs, a second one opens another psql on it.
#
#   IASQL_DEMO_PORT      PostgreSQL's port, 5433 if unset
#   IASQL_DEMO_AWS_PORT  the emulator's port, 5566 if unset
#   IASQL_DEMO_DATA_DIR  where the database is kept
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "demo: $*" >&2; exit 1; }

# Where internal/devenv.DefaultDataDir("demo") is.
if ((EUID == 0)); then
	data=/var/lib/iasql/demo
else
	share=${XDG_DATA_HOME:-}
	[[ $share == /* ]] || share=$HOME/.local/share
	data=$share/iasql/demo
fi
data=${IASQL_DEMO_DATA_DIR:-$data}
running=$data.running # of whose demo it is, and where

# The given port, or the next one that nobody listens on.
free_port() {
	local port=$1
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
	done
	echo "$port"
}

# A first line that says what this database can do, and narrow results where they are wide.
session() {
	local status=0
	trap : INT # psql cancels a statement with it; it is no reason to leave
	if [[ -t 0 && -t 1 ]]; then
		echo "demo: try  SELECT * FROM iasql_help();  or  \\i examples/quickstart.sql   (ctrl-D ends it)"
		psql -P expanded=auto "$1" || status=$?
	else
		psql -X -v ON_ERROR_STOP=1 --echo-queries -f examples/quickstart.sql "$1" || status=$?
	fi
	return "$status"
}

[[ -x bin/engine ]] || die "bin/engine is missing: run make build"
command -v psql >/dev/null || die "psql is missing: run make deps"

if [[ -r $running ]] && read -r pid url console <"$running" && kill -0 "$pid" 2>/dev/null && psql -Xqc '' "$url" 2>/dev/null; then
	echo "demo: it runs already: another psql on it, at $url${console:+; the console is at $console}. It ends with the first one."
	status=0
	session "$url" || status=$?
	exit "$status"
fi

pg_port=$(free_port "${IASQL_DEMO_PORT:-5433}")
aws_port=$(free_port "${IASQL_DEMO_AWS_PORT:-5566}")

logs=$(mktemp -d "${TMPDIR:-/tmp}/iasql-demo.XXXXXX")
: >"$logs/stdout" # read below, maybe before the engine has opened it
engine=

show_logs() { cat "$logs/stdout" "$logs/stderr" 2>/dev/null | tail -n 20 >&2 || true; }

stop() {
	local status=$?
	trap - EXIT
	trap '' INT TERM HUP
	if [[ -n $engine ]] && kill -TERM "$engine" 2>/dev/null; then
		for ((i = 0; i < 450; i++)); do # 45 s: the engine has its own, shorter limits
			kill -0 "$engine" 2>/dev/null || break
			sleep 0.1
		done
		if kill -KILL "$engine" 2>/dev/null; then
			echo "demo: the engine did not stop in time and was killed; its last words:" >&2
			show_logs
		fi
	fi
	if [[ -n $engine ]]; then
		local end=0
		wait "$engine" 2>/dev/null || end=$?
		# 143: ended by the very signal, before it could handle it.
		((end == 0 || end == 143 || status != 0)) || { echo "demo: the engine ended with status $end; its last words:" >&2; show_logs; }
	fi
	rm -rf "$logs"
	[[ -z $engine ]] || rm -f "$running"
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# In a process group of its own: a ctrl-C meant for psql must not end the engine.
set -m
bin/engine dev --data-dir "$data" --pg-port "$pg_port" --aws-port "$aws_port" \
	</dev/null >"$logs/stdout" 2>"$logs/stderr" &
engine=$!
set +m

echo "demo: starting PostgreSQL on port $pg_port, an AWS emulator on port $aws_port and the engine; data in $data"
url=
for ((i = 0; i < 1200; i++)); do # 120 s
	url=$(sed -n '/^ready: postgres/{s/^ready: //p;q;}' "$logs/stdout")
	[[ -z $url ]] || break
	if ! kill -0 "$engine" 2>/dev/null; then
		echo "demo: the engine did not start:" >&2
		show_logs
		exit 1
	fi
	sleep 0.1
done
if [[ -z $url ]]; then
	echo "demo: the engine was not ready in 120 seconds:" >&2
	show_logs
	exit 1
fi

console=$(sed -n '/^console: /{s/^console: //p;q;}' "$logs/stdout")
if [[ -n $console ]]; then
	login=${url#postgres://}
	login=${login%%@*}
	echo "demo: the console is at $console: sign in as ${login%%:*} with password ${login#*:}"
fi
echo "demo: a second client: psql '$url', or make demo once more"
admin=$(sed -n '/^administrator: /{s/^administrator: //p;q;}' "$logs/stdout")
echo "demo: as administrator (roles, policies, settings that others rely on): psql '$admin'"
echo "demo: the cloud: AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing AWS_DEFAULT_REGION=us-east-1 aws --endpoint-url http://127.0.0.1:$aws_port ec2 describe-vpcs"
(umask 077 && echo "$$ $url $console" >"$running")

status=0
session "$url" || status=$?
exit "$status"
