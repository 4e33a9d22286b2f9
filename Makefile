# Every recipe makes what it needs from nothing: `make demo` and `make test` work in a fresh clone.
# Variables: PYTHON=python3.13   CXX=clang++   ISAS=v3 (build one instruction set only)   ARGS="-k config" (for pytest)
#            STRICT=ON (warnings that the core is free of are errors)

PYTHON ?= python3
ISAS ?=
STRICT ?= OFF
ARGS ?=
ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach name,c++ g++ clang++,$(shell sh -c 'command -v $(name)')))
endif
export CXX
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SOURCES := pyproject.toml CMakeLists.txt $(shell find src core -not -name '*.so' -not -name '*.pyc' -not -name __pycache__)
PYTHON_FOLDERS := $(wildcard src tests bench examples docs/extensions)
CPP_FILES := $(wildcard core/*/*.hpp core/*/*.cpp tests/core/*.cpp)
comma := ,
step = @printf '==> %s\n' "$(1)"
installed = .linnet-$(or $(ISAS),all)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-core test-oldest mutants check format docs slides pictures bench sanitize sanitize-threads clean
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SECONDARY:

help:
	@echo "make demo      build linnet and see it work"
	@echo "make test      build linnet and run the tests"
	@echo "make test-all  run them with every combination of their parameters, not only every pair"
	@echo "make test-core  run the tests of the core's kernels, without Python"
	@echo "make test-oldest  run the tests with the oldest dependencies; make test-3.13: with another Python"
	@echo "make mutants   put deliberate faults into linnet and see whether the tests notice"
	@echo "make check     linters, types, import rules, formatting"
	@echo "make format    put the formatting right"
	@echo "make docs      build the site into build/docs"
	@echo "make slides    make slides of the guide's chapters, to project and print, in build/slides"
	@echo "make pictures  make the pictures of README and site again that are kept in docs/_static/pictures (needs Chromium)"
	@echo "make bench     compare with other libraries (large downloads)"
	@echo "make sanitize  run the contract tests with the address and undefined behaviour sanitizers"
	@echo "make sanitize-threads  run the core's own work by threads with the thread sanitizer"
	@echo "make clean     remove everything that was built"

demo: .venv/$(installed)
	@.venv/bin/linnet demo

test: .venv/$(installed) .venv/.group-test test-core
	$(call step,tests)
	@.venv/bin/python -m pytest -n auto $(ARGS)

# Of tests with the mark `pairwise`, all combinations (tests/pairwise.py).
test-all: export LINNET_ALL = 1
test-all: test

# The oldest releases that pyproject.toml allows, and other Pythons: `make test-3.13` wants python3.13.
test-oldest: .venv-oldest/$(installed) .venv-oldest/.group-test
	$(call step,tests with the oldest dependencies)
	@.venv-oldest/bin/python -m pytest -n auto $(ARGS)

test-3.%: .venv-3.%/$(installed) .venv-3.%/.group-test
	$(call step,tests with Python 3.$*)
	@.venv-3.$*/bin/python -m pytest -n auto $(ARGS)

.venv-3.%/.created: PYTHON = python$(patsubst .venv-%,%,$*)
.venv-oldest/%: export PIP_CONSTRAINT = build/oldest.txt
.venv-oldest/.group-build: build/oldest.txt
build/oldest.txt: pyproject.toml tests/oldest.py
	@mkdir -p $(@D)
	@$(PYTHON) tests/oldest.py > $@

# Deliberate faults, one at a time, each of which some test must notice (tests/mutants/faults.toml).
mutants: .venv/$(installed) .venv/.group-test .venv/.group-build
	$(call step,deliberate faults)
	@.venv/bin/python tests/mutants/run.py $(ARGS)

check: .venv/$(installed) .venv/.group-check
	$(call step,ruff)
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	$(call step,mypy)
	@.venv/bin/mypy $(PYTHON_FOLDERS)
	$(call step,import-linter)
	@PYTHONPATH=src .venv/bin/lint-imports --no-logo
	$(call step,clang-format)
	@.venv/bin/clang-format --dry-run -Werror $(CPP_FILES)

format: .venv/.group-check
	@.venv/bin/ruff check --fix-only
	@.venv/bin/ruff format
	@.venv/bin/clang-format -i $(CPP_FILES)

docs: .venv/$(installed) .venv/.group-docs
	$(call step,documentation)
	@PYTHONPATH=docs .venv/bin/python -m extensions build/docs

# Slides of the guide's chapters, made of the pages of the site.
slides: .venv/$(installed) .venv/.group-docs
	$(call step,slides)
	@PYTHONPATH=docs .venv/bin/python -m extensions.slides build/slides

# The pictures that are kept, of README and site: of the playground, a report and the benchmarks, light and dark.
pictures: .venv/$(installed) .venv/.group-docs .venv/.group-test
	$(call step,pictures)
	@PYTHONPATH=docs .venv/bin/python -m extensions.gallery $(ARGS)

bench: .venv-bench/$(installed) .venv-bench/.peers
	$(call step,benchmarks)
	@.venv-bench/bin/python bench/run.py --keep $(ARGS)

# The sanitizers must be loaded before Python; libstdc++ with them, or they miss its exceptions. Leaks are not looked
# for: the interpreter itself never frees all it has. They end a process that runs out of memory, so that test is left out.
sanitize: .venv-sanitize/$(installed) .venv-sanitize/.group-test
	$(call step,tests under the sanitizers)
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  .venv-sanitize/bin/python -m pytest tests/test_native.py tests/contracts tests/fit/solvers/test_dual_sparse.py tests/evaluate/test_kernels.py tests/fit/solvers/test_joint_newton.py tests/estimators/test_shared_models.py \
	  tests/core/test_boundary.py --deselect tests/core/test_boundary.py::test_data_too_large_for_the_memory_leave_the_trainer_as_it_was $(ARGS)

# The core without Python: kernels against plain loops, and a program that has threads do all they can under the thread
# sanitizer, which cannot look into Python. Here the warnings that the core is free of are errors.
CORE_ISA := $(or $(firstword $(subst $(comma), ,$(ISAS))),native)
CORE_ISA_FLAGS := $(if $(filter native,$(CORE_ISA)),-march=native,$(shell awk '$$1 == "$(CORE_ISA)" { print $$3 }' core/isas.txt))
CORE_FLAGS := -std=c++20 -O1 -g -Wall -Wextra -Werror=shadow -Werror=conversion -Wno-uninitialized -Wno-maybe-uninitialized \
  -fno-math-errno -fno-trapping-math -ffp-contract=off $(CORE_ISA_FLAGS) -Icore
CORE_HEADERS := $(wildcard core/*/*.hpp core/*/*.def)
THREAD_OBJECTS := $(patsubst %.cpp,build/threads/%.o,$(filter-out core/bindings/%,$(wildcard core/*/*.cpp)) tests/core/threads.cpp)

test-core: build/kernels-$(CORE_ISA)
	$(call step,kernels of the core)
	@$<

build/kernels-$(CORE_ISA): tests/core/kernels.cpp $(CORE_HEADERS)
	$(call step,$<)
	@mkdir -p $(@D)
	@$(CXX) $(CORE_FLAGS) $< -o $@

sanitize-threads: build/threads/program
	$(call step,threads under the thread sanitizer)
	@TSAN_OPTIONS=halt_on_error=1 $<

build/threads/program: $(THREAD_OBJECTS)
	@$(CXX) -fsanitize=thread $^ -o $@ -pthread

build/threads/%.o: %.cpp $(CORE_HEADERS)
	$(call step,$< for the thread sanitizer)
	@mkdir -p $(@D)
	@$(CXX) $(CORE_FLAGS) -fsanitize=thread -c $< -o $@

clean:
	rm -rf .venv .venv-* build dist docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests $(wildcard bench examples docs) -name __pycache__ -prune -exec rm -rf {} +

# How an environment comes about: Python and pip, then the build tools, then linnet; groups of tools beside it.

%/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo >&2 \
	  "error: linnet needs Python 3.11 or newer, and $(PYTHON) is missing or older: try make PYTHON=python3.13"; exit 1; }
	@command -v $(or $(firstword $(CXX)),no-compiler) >/dev/null || { echo >&2 \
	  "error: linnet needs a C++20 compiler (GCC 12, Clang 14 or newer), and found none: try make CXX=..."; exit 1; }
	$(call step,Python environment in $*)
	@$(PYTHON) -m venv --clear $*
	@$*/bin/python -m pip install --quiet 'pip>=25.1'
	@touch $@

%/.group-build: %/.created pyproject.toml
	$(call step,build tools into $*)
	@$*/bin/python -m pip install --quiet --group build
	@touch $@

%/.group-test: %/.created pyproject.toml
	$(call step,test tools into $*)
	@$*/bin/python -m pip install --quiet --group test
	@touch $@

%/.group-docs: %/.created pyproject.toml
	$(call step,tools for the documentation into $*)
	@$*/bin/python -m pip install --quiet --group docs
	@touch $@

%/.group-check: %/.created pyproject.toml
	$(call step,checking tools into $*)
	@$*/bin/python -m pip install --quiet --group check
	@touch $@

.venv-bench/.peers: .venv-bench/.created bench/requirements.txt
	$(call step,other libraries into .venv-bench)
	@.venv-bench/bin/python -m pip install --quiet -r bench/requirements.txt
	@touch $@

# Without build isolation the tools keep their place, so that only what changed in the core is compiled again.
.venv-sanitize/%: BUILD_FLAGS := -Ccmake.build-type=Debug -Ccmake.define.LINNET_SANITIZE=ON
%/$(installed): %/.group-build $(SOURCES)
	$(call step,linnet into $*)
	@rm -f $*/.linnet-*
	@$*/bin/python -m pip install --quiet --no-build-isolation \
	  -Cbuild-dir=build/$(patsubst .venv%,core%,$*) -Ccmake.define.LINNET_ISAS=$(ISAS) -Ccmake.define.LINNET_STRICT=$(STRICT) $(BUILD_FLAGS) '.[all]'
	@touch $@
