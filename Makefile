# `make app` opens the app, `make test` checks everything. Each sets up what it needs the first
# time and goes straight to work afterwards. Another Python: make test PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help app test lint format pictures benchmarks docs audit browser clean

help:
	@echo "make app         open the app in a browser (first time: installs it in .venv)"
	@echo "make test        lint, types and every test (first time: installs Chromium too if there is none)"
	@echo "make lint        ruff, mypy, and deno for the scripts, alone;  make format  puts the layout right"
	@echo "make pictures    photograph the app for the README"
	@echo "make benchmarks  measure speed beside other engines (first time: installs them)"
	@echo "make docs        write the documentation as a site to build/docs (first time: installs MkDocs)"
	@echo "make audit       look up known holes of every installed package (asks the package index)"
	@echo "make clean       remove .venv and what the tools left behind"

app: .venv/app.stamp
	$(BIN)/streamlit run app.py

# What was compiled is kept for the next process, whatever a container's settings say: there are hundreds.
unexport PYTHONDONTWRITEBYTECODE

# Rooms whose tests compare what torch computes: once more as an old processor does, without vector units
# and with one thread, where sums round differently. Left out is what numpy computes, or counts.
FLOATS := $(addprefix tests/, measures model inference analysis/table1/test_paths.py) $(addprefix tests/training/test_, loss.py learner.py moments.py gates.py) \
	$(filter-out %/evidence %/table1 %/__pycache__ %.py, $(wildcard tests/analysis/*))

SCRIPTS := transformer/figures/browser

# What needs no browser on several cores; then the browser, of which each takes one and the server another.
# Whoever has nothing left takes the last tests of another's share.
PYTEST := $(BIN)/python -m pytest --dist worksteal
CORES := -n auto --maxprocesses 4
test: lint browser
	$(PYTEST) $(CORES) --ignore tests/browser
	ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1 $(PYTEST) $(CORES) $(FLOATS)
	$(PYTEST) -n 2 tests/browser

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile
	$(BIN)/deno lint --quiet $(SCRIPTS) tests/figures/scripts
	$(BIN)/deno check --quiet --config $(SCRIPTS)/deno.json $(SCRIPTS)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pictures: .venv/dev.stamp browser
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/looks.py

# Every file of benchmarks/ that can be started, but those that want a corpus, one after the other: two at once
# would disturb each other.
benchmarks: .venv/benchmarks.stamp
	set -e; for file in $$(grep -l __main__ benchmarks/*.py | grep -v -e multi30k -e gold_alignments -e pieces); do \
		$(BIN)/python -m benchmarks.$$(basename $$file .py); \
	done

# Broken links, anchors and names of the API are errors (strict: true); --quiet would hide them.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build

# The tool stands in an environment of its own, so that nothing it needs is audited or shipped. A build
# of its own (+cpu) is looked up as its release; what the index does not know fails, for it was not audited.
audit: .venv/audit.stamp
	$(BIN)/python -m pip list --format freeze | sed 's/+.*//' > .venv/audit/installed.txt
	.venv/audit/bin/pip-audit --strict --disable-pip --no-deps -r .venv/audit/installed.txt

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up: a stamp is newer than the requirements it was installed from ---

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Heads Up needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
		echo "Python's venv module did not work; on Debian and Ubuntu: apt install python3-venv"; exit 1; }

.venv/app.stamp: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt requirements-cluster.txt requirements-widget.txt .venv/app.stamp
	$(BIN)/python -m pip install -r requirements-dev.txt
	@touch $@

.venv/benchmarks.stamp: requirements-benchmarks.txt .venv/dev.stamp
	$(BIN)/python -m pip install -r requirements-benchmarks.txt
	@touch $@

# In an environment of its own: it reads the docstrings without importing anything.
.venv/docs.stamp: requirements-docs.txt | $(BIN)/python
	$(BIN)/python -m venv --clear .venv/docs
	.venv/docs/bin/python -m pip install -r requirements-docs.txt
	@touch $@

AUDIT := pip-audit==2.10.0
.venv/audit.stamp: Makefile .venv/dev.stamp
	$(BIN)/python -m venv --clear .venv/audit
	.venv/audit/bin/python -m pip install $(AUDIT)
	@touch $@

# The browser tests take the Chromium of the machine, or else Playwright's own copy. Ubuntu's apt
# package is only a pointer to a snap, so what apt installed is tried before it is believed.
browser: .venv/dev.stamp
	@if command -v chromium >/dev/null || [ -e .venv/chromium.stamp ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; \
	fi; \
	if chromium --version; then exit 0; fi; \
	$(BIN)/python -m playwright install chromium && touch .venv/chromium.stamp
