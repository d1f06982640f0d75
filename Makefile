# skypane: every target sets itself up. Start with `make demo` or `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Test processes at a time, each with an embedded Spark of its own; a file is run by one of them. One more than there
# are cores on a small machine: tests also wait for Spark. Files in the order of their names: the crash tests, few and
# long, are among the first. 0: no other processes.
WORKERS ?= 3
# Those that need no Spark.
PURE_TESTS := $(addprefix tests/,flow kernels lateness lateness_study model properties queries tables testing traffic tuning) lab/tests

.PHONY: demo test lint types imports kernels classes unit bench soak format setup java clean help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; set PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Could not create $(VENV): on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing skypane, its lab and their dependencies into $(VENV) (about a minute, once)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv
	@# Compiled once here: Spark starts many Python processes, and some places forbid them to write bytecode.
	@$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python -c constraints.txt -e '.[dev]' -e ./lab
	@touch $@

setup: $(STAMP) java ## virtual environment, dependencies, Java 17+

java:
	@scripts/ensure-java.sh

demo: setup ## a continuous skyline over a bursty out-of-order stream, on embedded Spark, about a minute
	@$(BIN)/skypane demo

test: setup ## lint, types, import rules and all tests
	@# Two at a time: kernels are compiled and Spark's classes read, once for all test processes, while the code is checked.
	@$(MAKE) --no-print-directory -j 2 lint types imports kernels classes
	@$(MAKE) --no-print-directory unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

kernels: $(STAMP)
	@$(BIN)/python -c 'from skypane.kernels.warming import warm; warm()'
	@$(BIN)/python -c 'from skypane_lab.kernels.live_queues import warm_live_queues; warm_live_queues()'

classes: setup kernels
	@$(BIN)/python -m tests.crash.class_archive

unit: setup
	$(BIN)/pytest -q -m "not soak" -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# How long each of the long runs may take, in seconds; the next `make soak` goes on where this one ends.
SECONDS ?= 3600

soak: setup kernels classes ## long runs: crash schedules, damages, kills, cluster soaks; new examples for the property tests
	$(BIN)/pytest -q -m "not soak" --hypothesis-profile new-examples -n $(WORKERS) $(PURE_TESTS)
	@for what in schedules damages kills; do $(BIN)/python -m tests.longruns $$what --seconds $(SECONDS) || exit 1; done
	$(BIN)/python -m tests.longruns suites --seconds $(SECONDS) --at-a-time 1
	@$(BIN)/python -m tests.longruns table

bench: setup ## speed and memory, as ratios against peers measured in the same run
	@$(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt -e '.[dev,bench]' -e ./lab
	$(BIN)/python -m benchmarks

format: $(STAMP) ## let ruff tidy the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove everything that was set up
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis logs results build
