# Every target sets up what it needs: `make demo` on a fresh machine is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two processes at a time, each with whole files, so that their fixtures are made once; long files first (tests/conftest.py).
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: setup demo quick test lint kernels plain integrations site release check bench docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else "tacit needs Python 3.11, 3.12 or 3.13, found %d.%d: set PYTHON=python3.x" % v[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/tacit warm
	@touch $@

demo: setup
	@$(BIN)/tacit demo

# The whole suite; tests on the real collections run where TACIT_DATA names their folder. The two processes share the
# cores: threads of BLAS would wait for each other. Bytecode is kept, because tests start many Pythons.
test: export OPENBLAS_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =
test: setup
	$(BIN)/python -m pytest $(PARALLEL)

# For use while editing: the tests without a browser, compilation from scratch or long training (tests/conftest.py lists
# those). The first run compiles the loops, which later runs find in the cache.
quick: export OPENBLAS_NUM_THREADS = 1
quick: export PYTHONDONTWRITEBYTECODE =
quick: setup
	$(BIN)/python -m pytest $(PARALLEL) --quick tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Compiled loops read out of bounds in silence, so their tests also run with bounds checked and as plain Python.
kernels: setup
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-boundscheck $(BIN)/python -m pytest $(PARALLEL) tests/kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(PARALLEL) tests/kernels

# A plain install has no extras: the first commands of the README must run there too.
plain:
	PYTHON=$(PYTHON) .ci/plain-install

# Tests of tacit.integrations against the real libraries, in an environment of their own; CI leaves out those of torch.
integrations:
	PYTHON=$(PYTHON) .ci/integrations torch

# The documentation as a site, in site/; warnings are errors.
site: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[site]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir site

# Wheel and sdist, installed and tried with every Python of 3.11 to 3.13 that is there.
release:
	PYTHON=$(PYTHON) .ci/release

check: lint test kernels plain

# Every benchmark with its defaults, which end within about ten minutes each; `--help` has the larger sizes. The pictures of
# the page are no benchmark.
bench: setup
	@test -n "$$TACIT_DATA" || { echo "make bench: set TACIT_DATA to the folder of the collections"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@for script in $(filter-out benchmarks/screenshots.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Rewrites what the docs quote from the program itself (help texts, transcripts), the plots whose tables have changed and,
# where TACIT_DATA names the folder of the collections and Chromium is installed, the pictures of the web app.
docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/figures.py
	@if test -n "$$TACIT_DATA" && command -v chromium; then $(BIN)/python benchmarks/screenshots.py; fi

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
