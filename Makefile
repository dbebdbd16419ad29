# Two commands for a newcomer, each doing its own set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Kernels on delay coordinates solve a system at every sample: uncompiled, minutes a test. Their twins do the same in NumPy.
PLAIN := --ignore tests/kernels/test_delay.py \
	-k "(kernels or stream_batch or missing) and not in_distribution and not ridge and not analog and not blend and not small[kernel and not defaults"

.PHONY: help setup demo test test-nojit check format bench bench-study wheel clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("breathcast needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $(READY)

setup: $(READY)  ## make the virtual environment

demo: $(READY)  ## compare all methods on simulated recordings, and write a report
	$(BIN)/breathcast demo -o demo

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest

test-nojit: $(READY)  ## run the tests of the kernels with compilation off, so that coverage sees them
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels tests/checks $(PLAIN) --cov=breathcast.kernels --cov-report=term-missing

check: $(READY)  ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the code in its usual form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure speed, as ratios within one run
	OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed

bench-study: $(READY)  ## measure what studies cost, form by form and size by size (some ten minutes)
	OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.study_speed --json study-speed.json

wheel: $(READY)  ## build the wheel and the source archive
	$(BIN)/python -m build --outdir dist

clean:  ## remove everything that these commands made
	rm -rf $(VENV) build dist demo .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage
