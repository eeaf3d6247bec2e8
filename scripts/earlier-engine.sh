#!/usr/bin/env bash
# Builds the engine of an earlier version into .cache, for tests of replacing one by the
# other. When it is there it only looks. Prints the path of the program.
set -euo pipefail
cd "$(dirname "$0")/.."

# The last commit before the two newest migrations.
commit=${1:-5d7dfc7}
engine=$PWD/.cache/engine-$commit
die() { echo "earlier-engine: $*" >&2; exit 1; }
if [[ -x $engine ]]; then
	echo "$engine"
	exit
fi
git cat-file -e "$commit^{commit}" 2>/dev/null || die "commit $commit is not here: this is a shallow clone, or no clone"
echo "earlier-engine: building $commit" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive "$commit" | tar -C "$work" -xf -
mkdir -p .cache
(cd "$work" && CGO_ENABLED=0 go build -buildvcs=false -ldflags "-X main.version=$commit" -o "$engine.new" ./cmd/engine) || die "go build failed"
mv "$engine.new" "$engine"
echo "$engine"
