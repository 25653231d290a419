# Every target sets up what it needs: `make run` and `make test` work on a fresh checkout.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTEST_WORKERS ?= 2

# The matrices here are small: more BLAS threads than workers only make them wait for each other.
export OMP_NUM_THREADS ?= 1

.PHONY: help run test lint bench clean

help:
	@echo "make run    fit all 1,797 digits with random labels by a certified width-3 LN-Net -> out/digits"
	@echo "make test   formatting, lint, types, tests and doctests"
	@echo "make lint   formatting, lint and types only"
	@echo "make bench  the benchmarks -> benchmarks/RESULTS.md (torch, if installed, for one page)"
	@echo "make clean  remove caches, outputs and the virtual environment"

run: $(READY)
	$(BIN)/lntheory shatter digits --labels random --seed 0 --out out/digits

test: lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

# The stamp is written last, so an interrupted installation starts again.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "lntheory needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) out build dist *.egg-info mutants docs/_build
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
