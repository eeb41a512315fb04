# `make demo` and `make test` set up what they need; both are quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Where torch comes from; see "Choosing a build of torch" in README.md.
TORCH_OPTIONS ?=
# Passed to `regard demo`, for example --out runs/other.
DEMO_OPTIONS ?=
# Processes that run the tests.
WORKERS ?= 2
# Which slow tests: those marked clock need a machine that does nothing else; SLOW='slow and not clock' leaves them out.
SLOW ?= slow
# How they are run: one after the other, as those marked clock need it; SLOW_OPTIONS='-n 2 --dist worksteal' for the others.
SLOW_OPTIONS ?=

.PHONY: setup demo test test-slow lint types check lock dist clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "regard needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH_OPTIONS) $$(grep '^torch==' requirements.lock)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: setup
	$(BIN)/regard demo $(DEMO_OPTIONS)

# Two processes of one thread each (tests/conftest.py); `pytest tests/one_file.py` alone starts none.
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-slow: setup
	$(BIN)/python -m pytest -m '$(SLOW)' $(SLOW_OPTIONS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

check: lint types test

lock: setup
	( echo '# Every package that `make setup` installs, exactly. Ranges are in pyproject.toml; `make lock` writes this file anew.'; \
	  $(BIN)/pip list --format=freeze --disable-pip-version-check | grep -v -e '^regard==' -e '^pip==' | sed 's/+[a-z0-9.]*$$//' ) > requirements.lock.new
	mv requirements.lock.new requirements.lock

# The wheel and the sdist in dist/, checked as PyPI would, and the citation. The tools have an environment of their own.
dist:
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --quiet --disable-pip-version-check build twine cffconvert
	rm -rf dist
	build/tools/bin/python -m build --outdir dist .
	build/tools/bin/twine check --strict dist/*
	build/tools/bin/cffconvert --validate

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
