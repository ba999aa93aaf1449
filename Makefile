# Every command here is short enough to type: Windows users find them in CONTRIBUTING.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

# Bytecode is kept: without it every process of the tests reads all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup setup-dev demo test test-all mutants check format bench clean

setup: $(VENV)/.installed
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Sparring needs Python 3.11 or newer, found " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

setup-dev: $(VENV)/.installed-dev
$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: setup
	$(BIN)/sparring train --recipe demo --name demo --force
	$(BIN)/sparring replay runs/demo --against eager
	@echo
	$(BIN)/sparring runs runs/demo
	@echo "first    . $(BIN)/activate     (so that the shell knows the command sparring)"

test: setup-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and not gpu"

test-all: setup-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not gpu"

mutants: setup-dev
	$(BIN)/python tests/mutants/run.py --workers $(WORKERS)

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) test

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup-dev
	$(BIN)/sparring bench particles:spread
	$(BIN)/sparring bench particles:tag
	$(BIN)/python benchmarks/vs_jaxmarl.py

clean:
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache
