# Two commands are all that is needed: `make demo` and `make test`. `make` lists the rest.

SHELL       := /bin/bash
VERSION     := $(shell git describe --always --dirty --tags 2>/dev/null || echo dev)
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.22.4
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# What `go vet` looks at is for lint: done once more by every test, it takes minutes from a cold cache.
TESTFLAGS   ?= -timeout 25m -vet=off

# What `make deps` puts into .venv is found by everything started from here.
export PATH := $(PATH):$(CURDIR)/.venv/bin

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/engine
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o bin/engine ./cmd/engine

.PHONY: deps
deps: ## Install what is missing: PostgreSQL 15+, pg_cron, psql, moto_server, aws, Chromium, Prometheus
	@scripts/deps.sh

.PHONY: demo
demo: build ## Start PostgreSQL, an AWS emulator and the engine, and open psql
	@scripts/deps.sh demo
	@scripts/demo.sh

.PHONY: test
test: deps ## Run the whole test suite
	go test $(TESTFLAGS) ./...

.PHONY: lint
lint: ## Check formatting (gofmt), go vet and staticcheck
	@files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: generate
generate: ## Make generated files anew
	go generate ./...

.PHONY: clean
clean: ## Remove what was built and downloaded into the checkout
	rm -rf bin .venv .cache

SEEDS ?= 20000

.PHONY: simulate
simulate: ## Run SEEDS schedules of the simulated world (default 20000)
	go test ./internal/simulate -run TestSimulate -count=1 -timeout 0 -v -args -seeds $(SEEDS)

SCRIPTS ?= 5000
SEED ?= 1

.PHONY: storetest
storetest: ## Compare the PostgreSQL store with the simulated one, by SCRIPTS random scripts (default 5000) from SEED (default 1) on
	go test ./internal/postgres -run TestConformance -count=1 -timeout 0 -v -args -scripts $(SCRIPTS) -seed $(SEED)

FOR ?= 10m

.PHONY: chaos
chaos: deps ## Let everything go wrong for FOR (default 10m) and check that nothing is lost; LIKENESS=60: behind AWS's likeness, 60 times as fast
	go test ./test/chaos -run TestChaos -count=1 -timeout 0 -v -args -for $(FOR) -likeness $(or $(LIKENESS),0)

.PHONY: bench
bench: deps ## Measure what docs/performance speaks of, and write it there
	go run ./test/bench -n 1000,10000,100000,1000000 -out docs/performance

.PHONY: fuzz
fuzz: ## Run every fuzz target for FOR (default 30s) each
	@scripts/fuzz.sh $(if $(filter file,$(origin FOR)),30s,$(FOR))

# Not part of lint: built cold, gosec takes minutes. What it does not look at are tests and what only
# they use. Each finding elsewhere that stays says why where it is (#nosec). govulncheck asks
# vuln.go.dev, and fails where that cannot be reached.
.PHONY: security
security: ## Look for insecure code (gosec) and known vulnerabilities (govulncheck)
	go run $(GOSEC) -quiet -exclude-dir=test -exclude-dir=internal/test -exclude-dir=internal/simulate -exclude-dir=internal/store/storetest ./...
	go run $(GOVULNCHECK) ./...
