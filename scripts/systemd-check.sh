#!/usr/bin/env bash
# Checks deploy/systemd; see `make systemd-check`. It needs systemd's programs, no
# running systemd: the unit is verified, and its exposure is weighed offline
# (systemd-analyze(1), security --offline; in hundredths of what it prints).
set -euo pipefail
cd "$(dirname "$0")/../deploy/systemd"

most=12 # that is 1.2: the network alone costs 0.8

die() { echo "systemd-check: $*" >&2; exit 1; }
command -v systemd-analyze >/dev/null || die "systemd-analyze is missing: apt-get install systemd"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{usr/bin,usr/lib/systemd/system,usr/lib/sysusers.d,etc/iasql}
install -m 755 /bin/true "$root/usr/bin/iasql-engine"
install -m 640 engine.env "$root/etc/iasql/engine.env"
cp iasql-engine.service "$root/usr/lib/systemd/system/"
cp iasql.sysusers "$root/usr/lib/sysusers.d/iasql.conf"
for unit in /usr/lib/systemd/system/*.target; do cp -P "$unit" "$root/usr/lib/systemd/system/"; done

# Each user and group that the unit names is made.
systemd-sysusers --root="$root" >/dev/null 2>&1 || die "systemd-sysusers refuses iasql.sysusers"
grep -q '^iasql:' "$root/etc/passwd" || die "iasql.sysusers does not make the user iasql"

# A directive that this systemd does not know is newer than it; anything else is a mistake.
said=$(systemd-analyze verify --root="$root" --man=no iasql-engine.service 2>&1) || true
said=$(grep -Ev 'Unknown key (name )?.(RestartSteps|RestartMaxDelaySec).' <<<"$said" || true)
[[ -z $said ]] || die "systemd-analyze verify: $said"

# Every line of the environment file is a variable or a comment.
! grep -Evn '^(#|$|[A-Z_][A-Z0-9_]*=)' engine.env || die "engine.env has a line that is neither a variable nor a comment"

if ! out=$(systemd-analyze security --offline=true --no-pager --threshold="$most" --root="$root" iasql-engine.service 2>&1); then
	grep -v "✓" <<<"$out" >&2
	die "the unit's exposure is above $((most / 10)).$((most % 10))"
fi
echo "systemd-check: ${out##*$'\n'}"
