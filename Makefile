# A thin face over CMake's presets. `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help library demo demo-tools check test test-landing test-all test-ports misuse misuse-peers bench bench-hits bench-full peers bench-classic coverage mutants sweep torture docs site packages wheel crate amalgamation release build setup format clean

JOBS ?= $(shell nproc)

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

setup:  ## install what is missing (Debian packages by name), telling what
	@scripts/setup.sh build test demo

build: ## what is installed, in build/release: the libraries and the command
	@scripts/setup.sh build
	cmake --preset product
	cmake --build --preset release --target ashlar_installed -j $(JOBS)

library: ## the libraries and headers alone, in build/release, without the command: a minute
	@scripts/setup.sh build
	cmake --preset product
	cmake --build --preset release --target ashlar_libraries -j $(JOBS)

demo: ## real programs on ashlar beside the system's allocator: a first table in under two minutes
	@scripts/setup.sh build demo
	@scripts/demo.sh

demo-tools: ## one program's pools, its recording, pools chosen from it and proven, its page: builds the command
	@scripts/setup.sh build demo
	@scripts/demo.sh --tools

LAYER ?=
check: ## a minute: what a change in one room needs, as LAYER=heap; without LAYER, which rooms there are
	@scripts/setup.sh build test
	@scripts/check.sh $(LAYER)

test: ## build and pass the tests: formatting, the library with gcc and with clang's sanitizers
	@scripts/setup.sh build test
	@scripts/test.sh

# Bare metal is tested where its cross toolchain is; ASHLAR_SKIP_BARE_METAL=1 does not install it. The page of `ashlar
# report` is looked at where a browser is; ASHLAR_SKIP_BROWSER=1 does not install one.
premerge_packages = build test fleet shells $(if $(ASHLAR_SKIP_BARE_METAL),,bare-metal) $(if $(ASHLAR_SKIP_BROWSER),,browser)
test-landing: ## what a merge passes besides: the command, other programs, bare metal, clang, clang-tidy (25 minutes)
	@scripts/setup.sh $(premerge_packages)
	@scripts/test.sh --premerge

test-all: ## all of it at length: every type, level and library, more operations, clang's analyzer (32 minutes), and fuzzers
	@scripts/setup.sh $(premerge_packages) packages wheel
	@scripts/test.sh --all

test-ports: ## other systems and processors, most of them under qemu: the table in results/ports.md
	@scripts/setup.sh build test ports
	@scripts/zig.py
	@scripts/test.sh --ports
	@scripts/ports_report.py

MUTANTS_ARGS ?= --write build/results/mutants.md
mutants: ## plant old bugs one by one, each must be caught by a test (MUTANTS_ARGS, see tests/mutants/README.md)
	@scripts/setup.sh build test
	@python3 tests/mutants/run.py --jobs $(JOBS) $(MUTANTS_ARGS)

SWEEP_ARGS ?= --document results/reliability.md
sweep: ## whole programs with their n-th request for pages failing, every n: the table in results/reliability.md
	@scripts/setup.sh build test
	cmake --preset release '-DASHLAR_TEST_SUITES=gcc-check;gcc-premerge;gcc-nightly'
	cmake --build --preset release -j $(JOBS)
	@python3 tests/sweep/sweep.py build/release $(SWEEP_ARGS)

TORTURE_ARGS ?=
torture: ## hours: other programs, a soak, fuzzers and all of the above, part by part (TORTURE_ARGS=--list)
	@scripts/setup.sh build test programs coverage torture
	@python3 tests/torture/torture.py --document results/reliability.md --jobs $(JOBS) $(TORTURE_ARGS)

# Debian's own interpreter, for whom Debian's matplotlib is installed.
RUN_BENCH := /usr/bin/python3 bench/run_bench.py
bench_programs = cmake --preset release && \
  cmake --build --preset release --target bench_programs -j $(JOBS)

MISUSE_ROUNDS ?= 1
misuse_matrix = python3 tests/misuse/matrix.py malloc --programs build/library/tests/misuse
misuse_programs = cmake --preset library -DASHLAR_TEST_SUITES=misuse && \
  cmake --build --preset library --target misuse_malloc_programs -j $(JOBS)
misuse: ## record what ashlar does of each fault through malloc: tests/misuse/malloc_expected.csv, results/misuse-malloc.{md,csv}
	@scripts/setup.sh build test
	@$(misuse_programs)
	@$(misuse_matrix) --libraries build/library/ashlar --accept --rounds $(MISUSE_ROUNDS)

misuse-peers: MISUSE_ROUNDS = 5
misuse-peers: peers ## record the same of the other allocators, five runs of each cell (5 minutes)
	@scripts/setup.sh build test bench
	@$(misuse_programs)
	@$(misuse_matrix) --accept-peers --rounds $(MISUSE_ROUNDS)

BENCH_ARGS ?= --quick
bench: ## the allocators side by side in 3 minutes: a table, charts in build/bench.html, all rows in build/bench.md
	@scripts/setup.sh build bench programs chart
	@$(bench_programs)
	@$(RUN_BENCH) --csv build/bench.csv --markdown build/bench.md --charts build --page build/bench.html $(BENCH_ARGS)

BENCH_HITS_ARGS ?=
bench-hits: peers ## what a hit takes in time, beside the other allocators, in two minutes: a table
	@scripts/setup.sh build bench
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target hits ashlar_malloc -j $(JOBS)
	@python3 bench/run_hits.py $(BENCH_HITS_ARGS)

# A run that failed is a row of the report, and the end of this at its last step: not the loss of hours.
BENCH_FULL_ARGS ?= --rounds 5
bench-full: peers ## all cases, 5 rounds, an hour: all tables and charts in build/results, the summaries in results and docs
	@scripts/setup.sh build bench programs chart
	@$(bench_programs)
	@mkdir -p build/results
	-@$(RUN_BENCH) --csv build/bench-full.csv --markdown build/bench-full.md $(BENCH_FULL_ARGS)
	-@$(RUN_BENCH) --system-calls --csv build/bench-calls.csv --markdown build/bench-calls.md
	-@$(RUN_BENCH) --instructions --csv build/bench-instructions.csv --markdown build/bench-instructions.md
	@$(RUN_BENCH) tables --csv build/bench-full.csv --csv build/bench-calls.csv --csv build/bench-instructions.csv \
	  --publish-csv build/results/bench.csv --markdown build/results/bench.md --charts build/results \
	  --publish-charts results --document results/bench.md --document docs/benchmarks.md >build/bench-report.md
	@python3 bench/in_process/run_table.py --csv build/results/faces.csv --markdown build/results/faces.md

PEERS := $(addprefix build/peers/lib,mimalloc2.so mimalloc3.so mimalloc2-secure.so mimalloc3-secure.so hardened_malloc.so rpmalloc.so snmalloc.so snmalloc-checks.so)
peers: $(PEERS) ## the benchmarks' peers that Debian does not have (mimalloc, snmalloc, rpmalloc, hardened_malloc), into build/peers
$(PEERS) &: bench/peers/Cargo.lock bench/peers/CMakeLists.txt bench/peers/build_peers.sh
	@bench/peers/build_peers.sh

CLASSIC_ARGS ?=
bench-classic: ## the classic documents' own benchmarks, their ratios beside ours: build/results/bench-classic.md
	@scripts/setup.sh build bench
	cmake --preset release
	cmake --build --preset release --target classic_bench -j $(JOBS)
	@mkdir -p build/results
	@/usr/bin/python3 bench/classic/run_classic.py --markdown build/results/bench-classic.md $(CLASSIC_ARGS)

COVERAGE_ARGS ?=
coverage: ## line and branch coverage of core, pool, arena, pages, heap against their bounds: build/coverage/index.html
	@scripts/setup.sh build test coverage
	@scripts/coverage.sh $(COVERAGE_ARGS)

packages: ## the Debian packages into build/packages, with their sizes (packaging/README.md)
	@scripts/setup.sh build packages
	@packaging/make_packages.sh -j $(JOBS)

wheel: ## the command as a Python wheel: build/packages/ashlar-*.whl
	@scripts/setup.sh build wheel
	@packaging/make_wheel.py -j $(JOBS)

crate: ## the Rust crate with a global allocator: build/crate/ashlar-*.crate
	@command -v cargo >/dev/null || scripts/setup.sh cargo
	@packaging/make_crate.sh

amalgamation: ## the pools and arenas as one header: build/ashlar_pools.hpp
	@scripts/amalgamate.py build/ashlar_pools.hpp

release: ## all files of a release, with checksums and a bill of materials, into build/release-files
	@scripts/setup.sh build packages wheel
	@command -v cargo >/dev/null || scripts/setup.sh cargo
	@packaging/make_release.sh -j $(JOBS)

docs: ## the API reference: build/docs/html/index.html
	@scripts/setup.sh docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

site: ## the documentation as a site to read offline, with a search: build/site/index.html
	@scripts/setup.sh build site docs
	cmake --preset product
	cmake --build --preset release --target ashlar_cli ashlar_record -j $(JOBS)
	@/usr/bin/python3 scripts/site.py --program build/release/bin/ashlar

format: ## clang-format every source in place
	@git ls-files -co --exclude-standard '*.hpp' '*.h' '*.cpp' '*.c' | xargs clang-format-19 -i

clean: ## remove every build
	rm -rf build
