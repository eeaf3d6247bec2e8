#!/usr/bin/env bash
# Runs every fuzz target in turn, each for as long as the first argument says;
# see `make fuzz`. What fails is kept in testdata/fuzz of its package, and is a
# seed of the ordinary tests from then on.
set -uo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
failed=()
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal | xargs -n1 dirname | sort -u); do
	for target in $(go test "./$dir" -list '^Fuzz' | grep '^Fuzz'); do
		echo "$dir $target"
		go test "./$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" || failed+=("$dir $target")
	done
done
if ((${#failed[@]})); then
	printf 'fuzz: failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
