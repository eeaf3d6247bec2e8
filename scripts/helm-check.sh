#!/usr/bin/env bash
# Checks deploy/helm; see `make helm-check`.
set -euo pipefail
cd "$(dirname "$0")/../deploy/helm"

: "${HELM:?run make helm-check}"
die() { echo "helm-check: $*" >&2; exit 1; }

# What the chart brings along is what deploy has: a chart can read its own files only.
for pair in prometheus/iasql.rules.yml grafana/iasql.json; do
	cmp -s "../$pair" "iasql/files/${pair##*/}" || die "iasql/files/${pair##*/} differs from deploy/$pair: make generate"
done

$HELM lint --strict --quiet iasql
$HELM lint --strict --quiet iasql --values everything.yaml

render() { $HELM template prod iasql --namespace cloud --kube-version 1.31.0 "$@"; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
render >"$out/plain.yaml"
render --values everything.yaml >"$out/everything.yaml"
cd ../..
HELM_RENDERED="$out" go test ./deploy/helm -count=1

# What nobody means is refused.
cd deploy/helm
for wrong in replicas=many database.existingSecret= aws.regoin=x log.format=xml serviceAccount.roleArn=admin image.digest=latest ingress.enabled=true,ingress.host=a.example; do
	! render --set "$wrong" >/dev/null 2>&1 || die "the chart takes --set $wrong"
done
echo "helm-check: the chart is right"
