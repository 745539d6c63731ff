# Every target makes .venv when it is missing, installs what it needs, and runs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench format docs clean

# `make` keeps a stamp per set of extras, so that a second run installs nothing.
.venv/stamp-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing bochner[$*] into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: .venv/stamp-cli
	$(BIN)/bochner compare

test: .venv/stamp-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile  # a worker, a core

lint: .venv/stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/stamp-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/stamp-dev
	$(BIN)/python -m benchmarks

docs: .venv/stamp-docs
	$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:
	rm -rf docs/_build docs/auto_examples docs/api/generated
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
