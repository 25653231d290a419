# Every target sets up what it needs: `make run` and `make test` work on a fresh checkout.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
READY  := $(VENV)/.ready
PYTEST_WORKERS ?= 2

# The matrices here are small: more BLAS threads than workers only make them wait for each other.
export OMP_NUM_THREADS ?= 1

.PHONY: help run test lint bench docs package mutants clean

help:
	@echo "make run    fit all 1,797 digits with random labels by a certified width-3 LN-Net -> out/digits"
	@echo "make test   formatting, lint, types, tests and doctests"
	@echo "make lint   formatting, lint and types only"
	@echo "make bench  the benchmarks -> benchmarks/RESULTS.md (torch, if installed, for one page)"
	@echo "make docs   the claims proved, the notebooks run, the site built -> docs/_build/html"
	@echo "make package  wheel and sources -> dist; the wheel tried in an empty environment, the sources by their tests"
	@echo "make mutants [MUTANTS='lntheory.exact.rational.*']  do the tests notice a changed program? hours for all"
	@echo "make clean  remove caches, outputs and the virtual environment"

run: $(CORE)
	$(BIN)/lntheory shatter digits --labels random --seed 0 --out out/digits

test: lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

# The page of claims is made from what was proved just now; a claim that fails stops the build.
docs: $(VENV)/.docs
	mkdir -p docs/_build
	$(BIN)/python -m proofs_checks --json > docs/_build/claims.json
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[docs]"
	touch $@

package:
	$(PYTHON) .ci/package.py dist

mutants: $(READY)
	HYPOTHESIS_PROFILE=ci $(BIN)/mutmut run --max-children $(PYTEST_WORKERS) $(MUTANTS) || true
	$(BIN)/mutmut results

# The stamps are written last, so an interrupted installation starts again. The library alone does without torch.
$(CORE): pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "lntheory needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e .
	touch $@

$(READY): $(CORE)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) out build dist *.egg-info mutants docs/_build docs/_generated
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
