# The targets a person types. Everything they need is fetched by them.
SHELL := /bin/bash
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 4s
export CGO_ENABLED := 0

.PHONY: build demo test unit fuzz lint bench docs nsight clean

build: ## bin/deepprof, static
	$(GO) build -trimpath -buildvcs=auto -ldflags='-s -w' -o bin/deepprof ./cmd/deepprof

demo: build ## what deepprof does, on recorded captures of a real H200; no GPU needed
	@scripts/demo bin/deepprof

test: lint unit fuzz ## everything CI runs

unit: build nsight
	DEEPPROF_NSIGHT=$$(scripts/nsight --where) $(GO) test -timeout 15m ./...

fuzz: ## every fuzz target, FUZZTIME each
	scripts/fuzz $(FUZZTIME)

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l cmd internal conf bench); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

bench: build nsight ## ratios against the vendor's tools, measured in one run
	DEEPPROF_NSIGHT=$$(scripts/nsight --where) bench/run.sh

docs: ## pages that are generated from code and YAML
	$(GO) generate ./...

nsight: ## real nsys and ncu from Debian, for tests that drive them
	@scripts/nsight

clean:
	rm -rf bin
