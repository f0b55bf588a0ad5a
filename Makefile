# Everything a developer does here. `make` lists it.

# Where the local control plane keeps its data, logs and kubeconfig.
DEV_DIR ?= .dev
# make run: 1 stops when all sample items are done, and fails if they do not get there.
ONCE ?=
# make run: manifests to apply instead of the FeedSources of config/samples, separated by commas.
SOURCE ?=
# make fuzz: how long each target is fuzzed.
FUZZTIME ?= 30s
# make test: packages and further flags, such as `make test PACKAGES=./internal/... TESTFLAGS=-v`.
PACKAGES ?= ./...
TESTFLAGS ?=
# make test: where property tests begin to draw. The same each time, so that a change is judged by what it changes;
# RAPID_SEED=0 draws anew.
RAPID_SEED ?= 20261121
# make chaos: for how long all is disturbed. It takes a minute or two more until all is at rest.
CHAOS ?= 5m
# make chaos: what the plan is drawn from. Without one, another each time, which is said first.
SEED ?=
# make mutations: which ones, as a regular expression. All of them take half an hour or more.
MUTATIONS ?=
# What the operator says its version is.
VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),devel)
# make image, make dist: the image without its tag, which is the version.
IMAGE ?= ghcr.io/feed-operator/feed-operator
# make image: another base image than that of .ko.yaml, such as the same one in a registry of your own.
BASE_IMAGE ?=
# make image: 1 pushes it to the registry that its name says.
PUSH ?=
# make image, make dist: seconds since 1970 that all files have, so that the same commit makes the same bytes.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),0)

# The race detector needs a C compiler.
RACE = $(if $(and $(filter 1,$(shell go env CGO_ENABLED)),$(shell command -v $$(go env CC))),-race)
# It would sleep for a second at the end of each package and of each operator that a test runs, for the sake of goroutines that still go on; and what it
# knows of memory would be in small pages, of which a test of the controllers asks the kernel for a million.
export GORACE = atexit_sleep_ms=0 no_huge_pages_for_shadow=0
# Packages whose tests are run at once: half as many again as there are processors, because some wait for processes that they have started.
# Those of `make test-real` have work for all of them.
AT_ONCE = -p $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3 / 2)
# The programs of tests are kept: those of packages that have not changed are not linked anew, which is a third of all there is to do. They have no
# symbols for debuggers, as `go test` makes those that it does not keep. Go names each after the last part of its package's path, which is why no two
# packages may end in the same word.
KEPT = -ldflags='-s -w' -o bin/test/programs/
# Packages with tests of how much memory is taken, of which the race detector takes some.
MEASURED = ./internal/article ./internal/feed
# Tools are built once for each version of their module. Those that have little in common have modules of their own, so that a new version of one does
# not build the others anew.
TOOL_MODULES := . apidocs chart image krew monitoring promtool
version_of = $(firstword $(shell cat hack/tools/$(1)/go.mod hack/tools/$(1)/go.sum | cksum))
TOOLS_VERSION := $(call version_of,.)
CHART_VERSION := $(call version_of,chart)
IMAGE_VERSION := $(call version_of,image)
GOLANGCI_LINT := bin/tools/golangci-lint-$(TOOLS_VERSION)
CONTROLLER_GEN := bin/tools/controller-gen-$(TOOLS_VERSION)
PROMTOOL := bin/tools/promtool-$(call version_of,promtool)
HELM := bin/tools/helm-$(CHART_VERSION)
HELM_DOCS := bin/tools/helm-docs-$(CHART_VERSION)
KUBECONFORM := bin/tools/kubeconform-$(CHART_VERSION)
KO := bin/tools/ko-$(IMAGE_VERSION)
CRANE := bin/tools/crane-$(IMAGE_VERSION)
CRD_REF_DOCS := bin/tools/crd-ref-docs-$(call version_of,apidocs)
KREW := bin/tools/krew-$(call version_of,krew)
MONITORING_CRDS := bin/tools/monitoring-crds-$(call version_of,monitoring)
# What tests run, and where they find it.
TEST_TOOLS := $(PROMTOOL) $(HELM) $(KUBECONFORM) $(KO) $(CRANE) $(KREW) $(MONITORING_CRDS)
TOOLS_OF_TESTS = PROMTOOL='$(CURDIR)/$(PROMTOOL)' HELM='$(CURDIR)/$(HELM)' KUBECONFORM='$(CURDIR)/$(KUBECONFORM)' KO='$(CURDIR)/$(KO)' \
	CRANE='$(CURDIR)/$(CRANE)' KREW='$(CURDIR)/$(KREW)' MONITORING_CRDS='$(CURDIR)/$(MONITORING_CRDS)' MANAGER='$(CURDIR)/bin/test/manager'
GENERATED := api config docs/summaries.md docs/api-reference.md

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

##@ Run

.PHONY: run
run: build bin/dev ## Run the operator on a new local control plane, with sample feeds and stand-ins for Mastodon, a chat, Claude and OpenAI (ONCE=1, SOURCE=file.yaml)
	@exec bin/dev run --dir '$(DEV_DIR)' $(if $(filter-out 0,$(ONCE)),--once) $(if $(SOURCE),--source '$(SOURCE)')

.PHONY: devcluster
devcluster: bin/dev ## Run a local control plane; its data is kept
	@exec bin/dev cluster --dir '$(DEV_DIR)'

##@ Check

.PHONY: test
test: bin/dev bin/test/manager $(TEST_TOOLS) ## Run all tests, those of large numbers in part (PACKAGES, TESTFLAGS)
	assets="$$(bin/dev binaries)" && KUBEBUILDER_ASSETS="$$assets" $(TOOLS_OF_TESTS) RAPID_SEED='$(RAPID_SEED)' \
		go test $(RACE) $(KEPT) $(AT_ONCE) -timeout 40m $(TESTFLAGS) $(PACKAGES)

# What takes time by its mere number, such as a thousand items or each cell of a matrix, is tried in part by `make test`.
.PHONY: test-real
test-real: bin/dev bin/test/manager $(TEST_TOOLS) ## Run all tests in their whole size and against a real API server, and without the race detector those of memory (PACKAGES, TESTFLAGS)
	TEST_PORTION=whole go test $(MEASURED)
	assets="$$(bin/dev binaries)" && KUBEBUILDER_ASSETS="$$assets" $(TOOLS_OF_TESTS) RAPID_SEED='$(RAPID_SEED)' TEST_PORTION=whole \
		go test $(RACE) $(KEPT) -timeout 60m $(TESTFLAGS) $(PACKAGES)

.PHONY: chaos
chaos: bin/dev ## Disturb all at random for a while, and account for every entry in the end (CHAOS=5m, SEED)
	assets="$$(bin/dev binaries)" && KUBEBUILDER_ASSETS="$$assets" CHAOS='$(CHAOS)' SEED='$(SEED)' \
		go test ./cmd/manager -run '^TestChaos$$' -count 1 -timeout 0 -v

.PHONY: mutations
mutations: bin/dev ## Break the exactly-once core in one place at a time, and see that a test fails for each (MUTATIONS=regexp)
	assets="$$(bin/dev binaries)" && KUBEBUILDER_ASSETS="$$assets" RAPID_SEED='$(RAPID_SEED)' go run ./hack/mutations -run '$(MUTATIONS)'

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint
	$(GOLANGCI_LINT) run ./...

.PHONY: verify
verify: generate summaries ## Check that generated files, go.mod and go.sum are up to date, and that the base image is named by digest
	@unpinned="$$(grep -E '^ *(defaultBaseImage|[^ ]+/[^ ]+):' .ko.yaml | grep -vE '@sha256:[0-9a-f]{64}$$' || \
		grep -q '^defaultBaseImage: ' .ko.yaml || echo 'defaultBaseImage, which .ko.yaml lacks')"; if [ -n "$$unpinned" ]; then \
		echo "These images are not named by digest (docs/development.md says how):"; echo "$$unpinned"; exit 1; fi
	@changed="$$(git status --porcelain -- $(GENERATED))"; if [ -n "$$changed" ]; then \
		echo "These files are not what 'make generate' and 'make summaries' make, or are not committed:"; echo "$$changed"; git --no-pager diff -- $(GENERATED); exit 1; fi
	go mod tidy -diff
	@for module in $(TOOL_MODULES); do echo "hack/tools/$$module"; (cd "hack/tools/$$module" && go mod tidy -diff) || exit 1; done
	go vet ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME)
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r package; do \
		for target in $$(go test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test "$$package" -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)' || exit 1; \
		done; \
	done

.PHONY: bench
bench: build bin/dev ## Measure what the operator promises about speed, memory and writes
	assets="$$(bin/dev binaries)" && KUBEBUILDER_ASSETS="$$assets" go run ./hack/bench

.PHONY: summaries
summaries: ## Compare the built-in summarizer with the first three sentences of each sample page: docs/summaries.md
	go run ./hack/summaries

##@ Build

.PHONY: build
build: ## Build the operator and the kubectl plugin: bin/manager, bin/kubectl-feed
	go build -ldflags '-X main.version=$(VERSION)' -o bin/manager ./cmd/manager
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubectl-feed ./cmd/kubectl-feed

.PHONY: generate
generate: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(HELM_DOCS) ## Generate deep copies, CRDs, the operator's role, the alerts, and the references of the API and the chart
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=feed-operator-manager paths=./controllers/... paths=./internal/postmemory/... paths=./internal/dashboard/... output:rbac:artifacts:config=config/rbac
	go run ./hack/alerts
	$(CRD_REF_DOCS) --log-level=ERROR --source-path=api/v1alpha1 --config=hack/apidocs/config.yaml --templates-dir=hack/apidocs/templates --renderer=markdown --output-path=docs/api-reference.md
	$(HELM_DOCS) --log-level=error --chart-search-root=config/chart --sort-values-order=file

.PHONY: image
image: $(KO) ## Build the image for linux/amd64 and arm64, without Docker: dist/image, an OCI layout, and an archive of it (IMAGE, VERSION, BASE_IMAGE, PUSH=1)
	go run ./hack/dist image --ko='$(KO)' --image='$(IMAGE)' --version='$(VERSION)' --source-date-epoch='$(SOURCE_DATE_EPOCH)' \
		--revision="$$(git rev-parse HEAD 2>/dev/null)" $(if $(BASE_IMAGE),--base='$(BASE_IMAGE)') $(if $(filter-out 0,$(PUSH)),--push)

.PHONY: dist
dist: bin/dev $(HELM) ## Make all that a release has beside the image: dist/install.yaml, chart, kubectl plugin, krew manifest, checksums (IMAGE, VERSION)
	assets="$$(bin/dev binaries)" && go run ./hack/dist release --helm='$(HELM)' --kubectl="$$assets/kubectl" --image='$(IMAGE)' --version='$(VERSION)' \
		--source-date-epoch='$(SOURCE_DATE_EPOCH)'

.PHONY: promtool
promtool: $(PROMTOOL) ## Build what evaluates the alerts in tests, for those who run `go test` by themselves

.PHONY: test-tools
test-tools: $(TEST_TOOLS) ## Build all that tests run, for those who run `go test` by themselves

.PHONY: clean
clean: ## Remove what was built and the local control plane's data (what takes long to get stays: bin/k8s, bin/tools)
	rm -rf bin/manager bin/kubectl-feed bin/dev bin/test '$(DEV_DIR)' dist

# Go knows best whether it is up to date.
.PHONY: bin/dev bin/test/manager
bin/dev:
	@go build -o $@ ./hack/dev

# Tests of several packages run it.
bin/test/manager:
	@go build -ldflags='-s -w' -o $@ ./cmd/manager

$(GOLANGCI_LINT):
	cd hack/tools && go build -o '$(CURDIR)/$@.partial' github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@mv $@.partial $@

$(CONTROLLER_GEN):
	cd hack/tools && go build -o '$(CURDIR)/$@.partial' sigs.k8s.io/controller-tools/cmd/controller-gen
	@mv $@.partial $@

$(HELM):
	cd hack/tools/chart && go build -o '$(CURDIR)/$@.partial' helm.sh/helm/v4/cmd/helm
	@mv $@.partial $@

$(HELM_DOCS):
	cd hack/tools/chart && go build -o '$(CURDIR)/$@.partial' github.com/norwoodj/helm-docs/cmd/helm-docs
	@mv $@.partial $@

$(KUBECONFORM):
	cd hack/tools/chart && go build -o '$(CURDIR)/$@.partial' github.com/yannh/kubeconform/cmd/kubeconform
	@mv $@.partial $@

$(KO):
	cd hack/tools/image && go build -o '$(CURDIR)/$@.partial' github.com/google/ko
	@mv $@.partial $@

$(CRANE):
	cd hack/tools/image && go build -o '$(CURDIR)/$@.partial' github.com/google/go-containerregistry/cmd/crane
	@mv $@.partial $@

$(KREW):
	cd hack/tools/krew && go build -o '$(CURDIR)/$@.partial' sigs.k8s.io/krew/cmd/krew
	@mv $@.partial $@

$(CRD_REF_DOCS):
	cd hack/tools/apidocs && go build -o '$(CURDIR)/$@.partial' github.com/elastic/crd-ref-docs
	@mv $@.partial $@

# The kinds of the Prometheus Operator that the chart has, as CustomResourceDefinitions.
$(MONITORING_CRDS): $(CONTROLLER_GEN)
	cd hack/tools/monitoring && '$(CURDIR)/$(CONTROLLER_GEN)' crd paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1 \
		output:crd:dir='$(CURDIR)/$@.partial'
	@mkdir -p $@ && mv $@.partial/*_servicemonitors.yaml $@.partial/*_prometheusrules.yaml $@ && rm -r $@.partial

# Without what finds the machines of clouds, which is most of it.
$(PROMTOOL):
	cd hack/tools/promtool && go build -tags remove_all_sd -o '$(CURDIR)/$@.partial' github.com/prometheus/prometheus/cmd/promtool
	@mv $@.partial $@

##@ Help

.PHONY: help
help: ## Show this
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z_\/-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
