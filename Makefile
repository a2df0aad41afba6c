# The targets a person types. Everything they need is fetched by them.
SHELL := /bin/bash
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.50.0
FUZZTIME ?= 1s
export CGO_ENABLED := 0

.PHONY: build demo test unit python web fuzz torture vulncheck lint targets release bench docs nsight packages clean

build: ## bin/deepprof, static
	$(GO) build -trimpath -buildvcs=auto -ldflags='-s -w' -o bin/deepprof ./cmd/deepprof

demo: build ## the pipeline over a recorded session of a real H200, and its report; no GPU needed
	@bin/deepprof demo

test: lint targets unit python ## everything CI runs
	scripts/fuzz --short $(FUZZTIME)

# One package at a time: real profilers and a browser take the machine for theirs.
unit: build nsight packages
	DEEPPROF_NSIGHT=$$(scripts/nsight --where) $(GO) test -p 1 -timeout 15m ./...

python: packages ## tests of the Python programs, with Debian's torch on the CPU
	scripts/python test

web: ## the program of report.html, bundled from web/ into internal/report/html/assets
	cd web && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

fuzz: ## every fuzz target, FUZZTIME each
	scripts/fuzz $(FUZZTIME)

torture: ## 500 kills at random moments, 1,000 recorded runs in one process, faults of Slurm, and a minute of each fuzz target; the unit tests do a few
	scripts/torture
	scripts/fuzz 1m

vulncheck: ## known vulnerabilities of the dependencies; needs vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...

lint: packages ## gofmt, go vet, staticcheck, deadcode; black and flake8
	@unformatted=$$(gofmt -l cmd internal conf bench workloads recordings); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	scripts/deadcode $(GO) $(DEADCODE)
	scripts/python lint

targets: packages ## the program for every system that is released
	GO=$(GO) scripts/release --check

release: ## dist/: archives, .deb, .rpm and checksums
	GO=$(GO) scripts/release

bench: build nsight ## ratios against the vendor's tools, measured in one run
	DEEPPROF_NSIGHT=$$(scripts/nsight --where) bench/run.sh

docs: ## pages that are generated from code and YAML
	$(GO) generate ./...

nsight: ## real nsys and ncu from Debian, for tests that drive them
	@scripts/nsight

packages: ## torch, a linter and browsers from Debian, for tests that need them
	@scripts/packages

clean:
	rm -rf bin dist
