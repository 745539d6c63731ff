# Every target makes .venv when it is missing, installs what it needs, and runs.
PYTHON ?= python3
BIN := .venv/bin
# A worker, a core; and the many processes that tests start read the bytecode of the first one.
TEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo test lint bench format docs note dist test-extras test-lowest clean

# `make` keeps a stamp per set of extras, so that a second run installs nothing. Python compiles what it
# imports: to compile everything that is installed takes a minute.
.venv/stamp-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing bochner[$*] into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[$*]"
	@touch $@

demo: .venv/stamp-cli
	$(BIN)/bochner compare

test: .venv/stamp-dev
	$(TEST) $(BIN)/python -m pytest -n auto --dist loadfile

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

# The errata of the papers as a PDF; the numbers in it are computed first.
note: .venv/stamp-note
	$(BIN)/python docs/note/simulations.py
	@mkdir -p docs/_build
	$(BIN)/python -c "import typst; typst.compile('docs/note/note.typ', output='docs/_build/note.pdf')"
	@echo "Open docs/_build/note.pdf"

# Wheel and sdist, and the wheel in a clean environment, where tests of the sdist pass.
dist: .venv/stamp-dist
	$(BIN)/python .ci/dist.py core tests

# The wheel with each extra, one clean environment after the other.
test-extras: .venv/stamp-dist
	$(BIN)/python .ci/dist.py core cli gpu dask onnx plots

# The lower bounds of pyproject.toml, all at once, in an environment of their own.
test-lowest: .venv/stamp-dist
	$(BIN)/python -m uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/python -m uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable ".[dev]"
	$(TEST) .venv-lowest/bin/python -m pytest -n auto --dist loadfile

clean:
	rm -rf docs/_build docs/auto_examples docs/api/generated
	rm -rf .venv .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
