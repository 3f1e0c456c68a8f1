# SPDX-License-Identifier: Apache-2.0
# The front door: each target installs what is missing, configures once and lets meson and ninja do the work.

BUILD ?= build
PREFIX ?= /opt/openqnn
ENGINE ?= driver
FUZZ_RUNS ?= 1000000
FUZZ_SEED ?= $(shell date +%s)
HOURS ?= 1

# A relative PREFIX means relative to here; make does not expand "~" itself.
prefix := $(abspath $(patsubst ~%,$(HOME)%,$(PREFIX)))
sanitized_suites := unit api kernels passes rpc threads clients

.DEFAULT_GOAL := help
.PHONY: help setup build demo check bench install uninstall suite asan ubsan tsan fuzz torture soak format clean coverage lint mutants reproducible sbom

help:
	@echo 'openqnn $(shell scripts/version)'
	@echo
	@echo '  make demo                 build, prepare and run a small network, and show what happened'
	@echo '  make check                all tests, sanitizers, a bounded fuzz run and the gates'
	@echo '  make bench                speed of kernels, networks, calls and sessions (docs/bench.md); PARTS="kernels models" for some of it'
	@echo '  make build                libraries and tools, in $(BUILD)/'
	@echo '  make install PREFIX=DIR   the SDK tree, by default in $(PREFIX)'
	@echo '  make uninstall PREFIX=DIR remove what make install put there, and nothing else'
	@echo '  make suite CLIENT=ggml-qnn SUITE_SRC=DIR  tests of a client, built from its source (docs/clients.md)'
	@echo '  make suite CLIENT=mnn SUITE_BUILD=DIR     tests of a client that its own build has built; executorch, litert, onnxruntime'
	@echo '  make asan | ubsan | tsan  tests under one sanitizer'
	@echo '  make fuzz                 every fuzz target on FUZZ_RUNS=$(FUZZ_RUNS) inputs, from a new seed each time'
	@echo '  make fuzz ENGINE=libfuzzer   the same guided by coverage (clang): SECONDS=60 each, or RUNS=; CORPUS=DIR TARGETS="a b"'
	@echo '  make torture              tests of the API and of sessions with each call failing in turn: TESTS=REGEX LIMIT=20'
	@echo '  make soak HOURS=0.5       all backends for long, with kills, forks and limits; memory and results are watched'
	@echo '  make coverage             lines and branches that tests run, by folder; SUITES="unit passes" for some of them'
	@echo '  make lint                 cppcheck, gcc -fanalyzer and clang-tidy; LINT_FOLDERS="src/base src/ops" for some of it'
	@echo '  make mutants              which mistakes no test sees; FOLDER=src/base, N=20, SEED=1, MINUTES=0 (no limit)'
	@echo '  make reproducible         two builds in different folders, every installed byte compared'
	@echo '  make sbom                 the bill of materials of $(BUILD)/, as $(BUILD)/openqnn.spdx.json'
	@echo '  make format [BASE=REV]     clang-format on what was changed since then, or since the last commit'
	@echo '  make clean                remove all build folders'

setup:
	@scripts/setup.sh

build: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD)

demo: build
	@scripts/demo.sh $(BUILD)

check: setup
	@scripts/setup.sh gpu || echo 'libQnnGpu.so is tested only where OpenCL is installed; going on without'
	@scripts/check.sh

bench: build
	@bench/run.sh $(BUILD) $(PARTS)

install: build
	@meson configure $(BUILD) -Dprefix=$(prefix)
	@meson install -C $(BUILD) --quiet
	@scripts/installed_files note $(BUILD)/meson-logs/install-log.txt '$(DESTDIR)$(prefix)'
	@echo 'installed in $(DESTDIR)$(prefix); use it with: . $(DESTDIR)$(prefix)/bin/envsetup.sh'

uninstall:
	@scripts/installed_files remove '$(DESTDIR)$(prefix)'

# A tree of its own, so that what is tested is what was built last. SUITE_ARGS: options of scripts/suites/run.
suite:
	@test -n '$(CLIENT)' || { echo 'CLIENT is not given: one of' $$(cd scripts/suites && ls client_*.py | sed 's/client_//; s/.py//; s/_/-/g'); exit 2; }
	@$(MAKE) --no-print-directory install PREFIX=$(CURDIR)/build-suites/sdk
	@SUITE_SRC='$(SUITE_SRC)' SUITE_BUILD='$(SUITE_BUILD)' scripts/suites/run $(CLIENT) --sdk build-suites/sdk $(SUITE_ARGS)

asan: setup
	@scripts/sanitize.sh address build-asan asan $(sanitized_suites)

ubsan: setup
	@scripts/sanitize.sh undefined build-ubsan ubsan $(sanitized_suites)

tsan: setup
	@scripts/sanitize.sh thread build-tsan tsan threads

fuzz: setup
ifeq ($(ENGINE),libfuzzer)
	@scripts/setup.sh fuzz
	@python3 scripts/fuzz.py --seed $(FUZZ_SEED) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(CORPUS),--corpus '$(CORPUS)') $(if $(TARGETS),--targets '$(TARGETS)') $(if $(SHRINK),--shrink)
else
	@TIMEOUT_FACTOR=0 TEST_ARGS='-runs=$(FUZZ_RUNS) -seed=$(FUZZ_SEED)' \
		scripts/sanitize.sh address,undefined build-asan-ubsan fuzz fuzz
endif

torture: setup
	@scripts/torture.sh $(if $(TESTS),--tests '$(TESTS)') $(if $(CLASSES),--classes '$(CLASSES)') \
		$(if $(SECONDS),--seconds $(SECONDS),--limit $(or $(LIMIT),20))

soak: build
	@OPENQNN_LIB_DIR=$(abspath $(BUILD))/src/api POCL_CACHE_DIR=$(abspath $(BUILD))/pocl \
		$(BUILD)/tests/soak/soak $(HOURS) $(SOAK)

format: setup
	@scripts/setup.sh format
	@scripts/format.sh

coverage: setup
	@scripts/coverage.sh build-coverage $(SUITES)

lint: build
	@scripts/setup.sh lint
	@failed=; for what in cppcheck analyzer tidy; do \
		echo "== $$what"; scripts/lint.sh $(BUILD) $$what $(LINT_FOLDERS) || failed="$$failed $$what"; \
	done; test -z "$$failed" || { echo "findings of:$$failed"; exit 1; }

mutants: setup
	@scripts/mutants $(if $(FOLDER),--folder $(FOLDER)) --n $(or $(N),20) --seed $(or $(SEED),1) --minutes $(or $(MINUTES),0)

reproducible: setup
	@scripts/reproducible.sh

sbom: build
	@scripts/sbom $(BUILD) $(BUILD)/openqnn.spdx.json
	@echo 'written: $(BUILD)/openqnn.spdx.json'

clean:
	@rm -rf $(BUILD) build-asan build-ubsan build-asan-ubsan build-tsan build-libfuzzer build-coverage
