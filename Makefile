# What can be done here. `make` alone lists it.
#
# Everything goes through the go command; nothing has to be installed for build, run and test but Go, make and git. The race
# detector needs a C compiler as well: without one its runs are left out, and said to be, unless SLUICE_CI is set.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-builtin-rules

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
HELM        := helm.sh/helm/v3/cmd/helm@v3.22.0
VALIDATE    := sigs.k8s.io/kubectl-validate@v0.0.4
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.15.1

# Knobs: make run ARGS='--listen 127.0.0.1:7000', make fuzz FUZZTIME=1m, make bench-parts BENCH=Decide
ARGS        ?=
BENCH       ?= .
CRASH_KILLS ?= 1000
CROWD       ?= 8
FUZZTIME    ?= 10s
LAWS_CALLS  ?= 10000000
MODEL_SECONDS ?= 120
SEEDS       ?= 20

# The packages that goroutines meet in, and those with checks under `-tags invariants`; the ones that are there. The gateways
# of client/sluicetest are not run under the race detector: in it, not in them, a run of Go 1.26.8 crashed (StackDepot::Put,
# with a stack of -1, for the goroutine that runs the timers of a synctest bubble), and nothing has as many timers as they do.
RACE       := $(patsubst %,./%/...,$(wildcard shard server internal/clock persistence)) $(patsubst %,./%,$(wildcard client client/metrics client/middleware client/retry))
INVARIANTS := $(patsubst %,./%/...,$(wildcard algorithms shard persistence))

.PHONY: help build run test test-clients test-tcl race invariants laws fuzz crash crowd model gateways plots docs lint package chart check-release bench bench-smoke bench-guards bench-metrics unmeasured bench-parts clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: ## build bin/sluice
	go build -trimpath -o bin/sluice ./cmd/sluice

run: build ## build and start the server; it prints a line to try. ARGS='--listen …' is passed on
	bin/sluice serve $(ARGS)

test: invariants race ## everything that must hold before a commit, in under ten minutes
	go test ./...
	go -C client/grpc test ./...

test-clients: ## connect every client that is spoken for; installs what is missing. ARGS=--update writes the table of docs/compatibility.md
	@internal/clienttest/run.sh $(ARGS)

test-tcl: ## the tests of Redis's own suite that apply; needs tcl and dpkg-dev, and fetches the suite from Debian's source package
	@internal/clienttest/tcl.sh

race: ## the packages that goroutines meet in, under the race detector
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then \
		echo go test -race $(RACE); go test -race $(RACE); \
	elif [ -n "$${SLUICE_CI:-}" ]; then \
		echo 'the race detector needs a C compiler (gcc)' >&2; exit 1; \
	else \
		echo 'NOT RUN: the race detector needs a C compiler (gcc)'; \
	fi

invariants: ## the core with its invariants checked at every step
	go test -tags invariants $(INVARIANTS)

laws: ## LAWS_CALLS (10 million) random calls against each law of each algorithm
	go test ./algorithms -run Law -count=1 -timeout 0 -v -args -laws.calls=$(LAWS_CALLS)

# The targets are asked for, not listed, so that no new one is forgotten. `go test -list` prints a package's names and then
# its "ok" line.
fuzz: ## every fuzz target for FUZZTIME (10s)
	@listed=$$(go test -list '^Fuzz' ./...) || { echo "$$listed"; exit 1; }; \
	targets=$$(awk '/^Fuzz/ {names[++n] = $$1} /^ok/ {for (i = 1; i <= n; i++) print $$2, names[i]; n = 0}' <<<"$$listed"); \
	if [ -z "$$targets" ]; then echo 'no fuzz target found' >&2; exit 1; fi; \
	while read -r package name; do \
		echo "$$package $$name"; \
		out=$$(go test "$$package" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x 2>&1) && ok=1 || ok=0; \
		echo "$$out" | tail -n 4; \
		if [ $$ok = 0 ]; then \
			if grep -q 'Failing input\|panic' <<<"$$out" || ! grep -q 'context deadline exceeded' <<<"$$out"; then echo "$$out"; exit 1; fi; \
			echo 'the time ran out in a worker; no input failed'; \
		fi; \
	done <<<"$$targets"

crash: ## kill -9 a working server CRASH_KILLS (1000) times and hold what is left against what was promised
	@listed=$$(go test -list '^TestCrash' ./...) || { echo "$$listed"; exit 1; }; \
	packages=$$(awk '/^TestCrash/ {n++} /^ok/ {if (n) print $$2; n = 0}' <<<"$$listed"); \
	if [ -z "$$packages" ]; then echo 'no test named TestCrash… found' >&2; exit 1; fi; \
	SLUICE_CRASH_KILLS=$(CRASH_KILLS) go test -run '^TestCrash' -count=1 -timeout 0 -v $$packages

crowd: ## CROWD (8) times the connections of CI at one server: idle, slow, half-sent, coming and going, too many
	SLUICE_CROWD=$(CROWD) go test ./cmd/sluice -run '^TestCrowd' -count=1 -timeout 0 -v

model: ## MODEL_SECONDS (120) of calls from many connections, with kills, against a model that knows every unit
	SLUICE_MODEL_SECONDS=$(MODEL_SECONDS) go test ./cmd/sluice -run '^TestModel$$' -count=1 -timeout 0 -v

gateways: ## simulate twenty gateways on one server, for SEEDS (20) seeds
	go test ./client/sluicetest -run 'Admitted|Burst|Units|Failures|Reports|Jumps' -count=1 -timeout 0 -v -args -seeds=$(SEEDS)

plots: ## run the gateways through every failure and draw docs/images/failure-*.svg, in a minute
	mkdir -p bin
	go test ./client/sluicetest -run '^TestFailures$$' -count=1 -args -plots $(CURDIR)/bin/failures.json
	go run ./bench/draw bin/failures.json docs/images

docs: ## write anew what is made of tables and figures: pages of commands, settings and sizing, the dashboard
	go test ./server ./internal/settings ./bench -run '^TestDocs' -count=1 -args -update

lint: ## formatting, go vet, staticcheck; and whether the client builds for systems that the server is not for
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go -C client/grpc vet ./...
	go vet -tags invariants $(INVARIANTS)
	go run $(STATICCHECK) ./...
	GOOS=windows go build ./client/...

# What the pages quote of the Go benchmarks. They run before anything else is started.
QUOTED := go test -run '^$$' -benchmem -benchtime 300ms ./algorithms ./client ./shard -bench

unmeasured: # this server without metrics
	go build -trimpath -tags unmeasured -o bin/sluice-unmeasured ./cmd/sluice

bench: build unmeasured plots ## measure everything beside redis-server and write docs/performance.md, docs/images and the README's figures
	$(QUOTED) '^Benchmark(Decide|LeasedAllow|LeasedAllowCores|SetRun|ForcedGC)$$' >bin/parts.txt
	bin/sluice bench --docs . --go-bench bin/parts.txt --unmeasured bin/sluice-unmeasured $(ARGS)
	go run ./bench/draw docs/performance.json docs/images

bench-smoke: build ## measure for two minutes what is to be reached, and fail if any of it is missed by more than 15 %
	$(QUOTED) '^Benchmark(Decide|LeasedAllow)$$' >bin/parts.txt
	bin/sluice bench --smoke --go-bench bin/parts.txt

bench-metrics: build unmeasured ## what metrics cost: server CPU a call with and without them, the best of five turns each
	bin/sluice bench --only metrics --rounds 5 --unmeasured bin/sluice-unmeasured $(ARGS)

# The tag leaves the guards out of package server. Five runs of each take turns.
bench-guards: ## what the guards cost a command at -P 100; fails if it is more than 5 %
	@mkdir -p bin
	@go test -c -o bin/guarded.test ./server
	@go test -c -tags unguarded -o bin/unguarded.test ./server
	@for run in 1 2 3 4 5; do for build in guarded unguarded; do \
		bin/$$build.test -test.run '^$$' -test.bench '^BenchmarkGuards$$' | sed -n "s/^BenchmarkGuards/$$build /p"; \
	done; done | awk '{ split($$2, name, /[\/-]/); for (i = 1; i < NF; i++) if ($$(i + 1) == "least-ns/op") { key = $$1 name[2]; if (!(key in best) || $$i < best[key]) best[key] = $$i; kinds[name[2]] } } \
		END { bad = length(best) == 0; for (kind in kinds) { with = best["guarded" kind]; without = best["unguarded" kind]; more = 100 * (with / without - 1); bad = bad || more > 5; \
			printf "%s: %.1f ns a command with guards, %.1f ns without: %+.1f %%\n", kind, with, without, more }; exit bad }'

bench-parts: ## the Go benchmarks whose names match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

package: build ## a Debian package in build/, with manual pages and the commented file
	rm -rf build && mkdir build
	bin/sluice man build/man
	bin/sluice config show --default > build/sluice.yaml
	bin/sluice check build/sluice.yaml
	GOARCH=$$(go env GOARCH) VERSION=$$(bin/sluice version | cut -d ' ' -f 2) go run $(NFPM) package -f deploy/nfpm.yaml -p deb -t build

chart: ## the Helm chart, linted and rendered by Helm itself, which takes three minutes to build the first time
	GOBIN=$(CURDIR)/bin go install $(HELM)
	go test ./cmd/sluice -run '^TestChart$$' -count=1 -args -helm $(CURDIR)/bin/helm

# Not in CI: the two tools take eight minutes to build the first time.
check-release: chart ## the chart against the schemas of Kubernetes, and the file of goreleaser by itself
	mkdir -p build/chart
	bin/helm template limiter deploy/helm/sluice >build/chart/default.yaml
	bin/helm template limiter deploy/helm/sluice -f cmd/sluice/testdata/chart.yaml >build/chart/everything.yaml
	go run $(VALIDATE) build/chart
	go run $(GORELEASER) check

clean: ## remove what build left
	rm -rf bin build
