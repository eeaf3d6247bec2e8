# Two commands are all that is needed: `make demo` and `make test`. `make` lists the rest.

SHELL       := /bin/bash
VERSION     := $(shell git describe --always --dirty --tags 2>/dev/null || echo dev)
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.22.4
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
HELM        := helm.sh/helm/v3/cmd/helm@v3.18.6
# Newer ones need a newer Go.
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.16.0
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0
COMMIT      := $(shell git rev-parse HEAD 2>/dev/null)
# What `go vet` looks at is for lint: done once more by every test, it takes minutes from a cold cache.
TESTFLAGS   ?= -timeout 25m -vet=off

# What `make deps` puts into .venv is found by everything started from here.
export PATH := $(PATH):$(CURDIR)/.venv/bin

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The SDK's packages of services are compiled without inlining. They wait for the network anyway. The program, and with it
# a running engine, is 7 MB smaller; and the compiler takes half the time and half the memory: for package ec2 39 s instead
# of 65 s of a processor, and 1.7 GB instead of 3.3 GB. Every go command that make starts does the same, for what is
# compiled with other flags is compiled once more.
#
# The compiler's own garbage collector takes a fifth of that time: with 0.6 GB more at the most it runs a quarter as often.
TOOLEXEC := '-toolexec=env GOGC=400'
export GOFLAGS := $(strip $(GOFLAGS) -gcflags=github.com/aws/aws-sdk-go-v2/service/...=-l $(TOOLEXEC))

# What the engine puts on hosts that are reached by SSH. It is built into the engine, which is built without it as well
# and then says so.
RUNNERS ?= amd64 arm64

.PHONY: runner
runner: ## Build what runs on hosts, for each architecture
	@for arch in $(RUNNERS); do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch GOFLAGS="$(TOOLEXEC)" go build -trimpath -buildvcs=false -ldflags '-s -w' -gcflags=all=-l -o .cache/runner-linux-$$arch ./cmd/runner && \
		gzip -9 -n -c .cache/runner-linux-$$arch > .cache/runner.gz && \
		{ cmp -s .cache/runner.gz internal/hosts/embedded/runner-linux-$$arch.gz || mv .cache/runner.gz internal/hosts/embedded/runner-linux-$$arch.gz; } || exit 1; \
	done; rm -f .cache/runner.gz

.PHONY: build
build: runner ## Build bin/engine
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/engine ./cmd/engine

.PHONY: deps
deps: ## Install what the demo and test need, if missing: PostgreSQL 15+, pg_cron, psql, moto_server, aws
	@scripts/deps.sh

.PHONY: deps-all
deps-all: ## Install what test-all needs besides: Chromium, axe-core, Prometheus, libfaketime, Docker, Podman, Ruby, Django and others, system-wide
	@scripts/deps.sh all

.PHONY: demo
demo: build ## Start PostgreSQL, an AWS emulator and the engine, and open psql
	@scripts/deps.sh
	@scripts/demo.sh

# The engine that tests run as a process, linked once for all of them. Hosts of tests are this machine.
.PHONY: test-engine
test-engine:
	@$(MAKE) --no-print-directory runner RUNNERS=$$(go env GOARCH)
	@go build -buildvcs=false -ldflags '-s -w' -o .cache/test/engine ./cmd/engine

# What takes minutes, or needs more than PostgreSQL, the emulator and Go: make test-all runs these too. They are
# not linked for make test either.
LONG := acceptance adversary batches cells chaos comingfrom console doctor economy edges functions hosts likeness orm permissions protection \
	recorded runbook setup statements watch

.PHONY: test
test: deps test-engine ## Run the tests that take seconds each; test-all has the rest
	@echo "not run, but by make test-all: $(LONG:%=test/%), and what -short leaves out"
	IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test -short $(TESTFLAGS) $$(go list ./... | grep -vE '/test/($(subst $() ,|,$(LONG)))$$')

.PHONY: test-all
test-all: deps-all test-engine ## Run all tests, also in browsers, mappers and migration tools; what is missing is installed, or fails them
	IASQL_TEST_ALL=1 IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test $(TESTFLAGS) ./...

.PHONY: session
session: build ## Record the session that the README shows, and take the console's pictures anew
	@scripts/deps.sh all
	scripts/session.py docs/session.svg
	go test ./test/console -run TestConsole/browser -count=1 -args -screenshots $(CURDIR)/docs/console

.PHONY: lint
lint: ## Check formatting (gofmt), go vet and staticcheck
	@files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi
	go vet ./...
	GOGC=400 go run $(STATICCHECK) ./...

.PHONY: generate
generate: ## Make generated files anew
	go generate ./...

.PHONY: facts
facts: ## Make what the tables know of AWS's resource types anew (RESOURCE_SCHEMAS names the file of their schemas)
	go test ./test/schemas -run TestFacts -count=1 -args -update

.PHONY: clean
clean: ## Remove what was built and downloaded into the checkout
	rm -rf bin dist .venv .cache

SEEDS ?= 20000

.PHONY: simulate
simulate: ## Run SEEDS schedules of the simulated world (default 20000)
	go test ./internal/simulate -run TestSimulate -count=1 -timeout 0 -v -args -seeds $(SEEDS)

SCRIPTS ?= 5000
SEED ?= 1

.PHONY: storetest
storetest: ## Compare the PostgreSQL store with the simulated one, by SCRIPTS random scripts (default 5000) from SEED (default 1) on
	go test ./internal/postgres -run TestConformance -count=1 -timeout 0 -v -args -scripts $(SCRIPTS) -seed $(SEED)

.PHONY: types-sweep
types-sweep: deps ## Take every published resource type through its life, and install them all (RESOURCE_SCHEMAS names the file of their schemas)
	go test ./internal/modules/awstypes -run TestLives -count=1 -timeout 0 -v -args -every-type
	go test ./test/types -run "TestEveryType|TestEveryLife" -count=1 -timeout 0 -v -args -every-type

.PHONY: test-disasters
test-disasters: deps-all ## Let PostgreSQL fail over, be restored, be full and be replaced; also PostgreSQL 17 and an earlier engine
	scripts/postgres.sh 17
	scripts/earlier-engine.sh
	IASQL_TEST_DISASTERS=1 go test ./test/disasters -count=1 -timeout 15m -v -vet=off $(if $(EVERY),-args -every-version)

# What PostgreSQL 15 is: the machine's own programs, which deps installs. No release of Debian has 16.
.PHONY: versions
versions: deps test-engine ## Install into PostgreSQL 15, 17 and 18, and move from each to each newer one by pg_dump and pg_upgrade
	for major in 17 18; do scripts/postgres.sh $$major || exit 1; done
	IASQL_TEST_DISASTERS=1 IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/disasters -run TestVersions -count=1 -timeout 0 -vet=off -v -args -matrix

# The releases are the states that the main line had at the end of each day on which it changed.
FIRST ?= 5684cbb

.PHONY: upgrades
upgrades: deps test-engine ## Upgrade from each release since FIRST to the next, with both engines and under load; a writer waits for 2 s at most
	releases=$$(git log --first-parent --format='%h %cd' --abbrev=8 --date=format:%Y-%m-%d $(FIRST)~1..HEAD | awk '!day[$$2]++ { print $$1 }' | tail -n +2 | tac) && \
	for commit in $$releases; do scripts/earlier-engine.sh $$commit || exit 1; done && \
	IASQL_TEST_DISASTERS=1 IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/disasters -run TestUpgrades -count=1 -timeout 0 -vet=off -v -args -releases $$(echo $$releases | tr ' ' ',')

TRIALS ?= 10

.PHONY: failover
failover: deps test-engine ## Let Patroni's primary be killed, cut off and switched over, TRIALS times each (default 10), while batches commit
	scripts/patroni.sh
	IASQL_TEST_DISASTERS=1 IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/disasters -run 'TestPatroni|TestStandby' -count=1 -timeout 0 -vet=off -v -args -trials $(TRIALS)

FOR ?= 10m

.PHONY: chaos
chaos: deps ## Let everything go wrong for FOR (default 10m) and check that nothing is lost; LIKENESS=60: behind AWS's likeness, 60 times as fast
	go test ./test/chaos -run TestChaos -count=1 -timeout 0 -v -args -for $(FOR) -likeness $(or $(LIKENESS),0)

FILES ?= 25

.PHONY: compare-ansible
compare-ansible: deps test-engine ## Read 20 hosts with 500 files and 50 packages each, and have Ansible look at FILES files of each (default 25)
	command -v ansible-playbook >/dev/null || apt-get install -y -qq --no-install-recommends ansible-core python3-apt
	IASQL_TEST_ALL=1 go test ./test/hosts -run TestBesideAnsible -count=1 -timeout 0 -vet=off -v -args -ansible $(FILES)

HOSTS ?= 1000

.PHONY: many-hosts
many-hosts: deps test-engine ## Read HOSTS hosts (default 1000), which are directories, with 500 files each
	go test ./test/hosts -run TestManyHosts -count=1 -timeout 0 -vet=off -v -args -hosts $(HOSTS)

CELL_RECORDS ?= 250000

.PHONY: many-cells
many-cells: deps test-engine ## Query four cells of CELL_RECORDS records each (default 250000) by their union
	IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/cells -run TestManyRecords -count=1 -timeout 0 -vet=off -v -args -records $(CELL_RECORDS)

ACCOUNTS ?= 200

.PHONY: fleet
fleet: deps test-engine ## Keep ACCOUNTS accounts (default 200) with every module by three engines, while one is throttled, one denied and one hangs
	IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/economy -run 'TestFleet$$' -count=1 -timeout 0 -vet=off -v -args -fleet $(ACCOUNTS) -all-modules

.PHONY: move-cells
move-cells: deps test-engine ## Move an account TRIALS times (default 10) between two cells while it is written, killed in each step; and one of RECORDS records
	IASQL_TEST_ENGINE=$(CURDIR)/.cache/test/engine go test ./test/cells -run 'TestMoveKilled|TestMoveMany' -count=1 -timeout 0 -vet=off -v -args -trials $(TRIALS) -records $(RECORDS)

RECORDS ?= 10000

.PHONY: bench
bench: deps ## Measure what docs/performance speaks of, and write it there
	go run ./test/bench -n 1000,10000,100000,1000000 -out docs/performance

# What follows checks how the engine is shipped. It is not part of test: the tools are
# compiled first, images and packages are built, and some of it takes root.

.PHONY: systemd-check
systemd-check: ## Check deploy/systemd: the unit, its user, and how little it may do
	@scripts/systemd-check.sh

.PHONY: helm-check
helm-check: ## Check deploy/helm: lint it, render it with and without every option, and compare its alerts
	@HELM="go run $(HELM)" scripts/helm-check.sh

.PHONY: release-check
release-check: ## Check .goreleaser.yaml: build a snapshot, and install its .deb on a bare Debian (as root)
	@GOBIN=$(CURDIR)/.cache/bin go install $(CYCLONEDX)
	@PATH=$(CURDIR)/.cache/bin:$$PATH GORELEASER="go run $(GORELEASER)" scripts/release-check.sh

.PHONY: compose-check
compose-check: deps ## Check docker-compose.yml: build it, bring it up, use it, take it down (as root)
	@VERSION=$(VERSION) scripts/compose-check.sh

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
