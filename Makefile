# `make app` opens the app, `make test` runs all checks. The first call of each installs what it needs.
# To use another Python: make test PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help app test test-all test-browsers lint format pictures benchmarks docs audit browser clean

help:
	@echo "make app         open the app in a browser (first time: install it in .venv)"
	@echo "make test        run the linters, the type checker, the fast tests and one journey through each place (first time: install Chromium)"
	@echo "make test-all    run everything that continuous integration runs"
	@echo "make test-browsers  walk through app and site in Chromium, Firefox and WebKit (Debian, as root; first time: install them)"
	@echo "make lint        run only ruff, import-linter, mypy, hadolint, and deno for the JavaScript and the style sheets"
	@echo "make format      format Python, JavaScript and style sheets, and fix what ruff can fix"
	@echo "make pictures    take the screenshots of the documentation"
	@echo "make benchmarks  measure speed, compared with other engines"
	@echo "make docs        write the documentation as a site to build/docs (first time: install MkDocs)"
	@echo "make audit       check all installed packages for known vulnerabilities (asks the package index)"
	@echo "make clean       remove .venv and the caches of the tools"

app: .venv/app.stamp
	$(BIN)/streamlit run app.py

# The tests start hundreds of processes, so Python has to cache its bytecode even in a container that forbids it.
unexport PYTHONDONTWRITEBYTECODE

# Tests that compare what torch computes. They run a second time without vector instructions and with one
# thread, as on an old processor, because sums then round differently. Packages that use only numpy are left out.
TORCH_TESTS := $(addprefix tests/, measures model inference analysis/table1/test_paths.py) $(addprefix tests/training/test_, loss.py learner.py moments.py) \
	$(filter-out %/evidence %/table1 %/__pycache__ %.py, $(wildcard tests/analysis/*))

SCRIPTS := transformer/client
FORMATTED := $(SCRIPTS) tests/figures/scripts tests/three_browsers transformer/ui/widgets

# Tests without a browser run on several cores. A browser test needs two, one for the browser and one for the
# server. A worker process without tests takes tests from another one (worksteal).
PYTEST := $(BIN)/python -m pytest --dist worksteal
CORES := -n auto --maxprocesses 4
test: lint browser
	$(PYTEST) $(CORES) -m "not slow" --ignore tests/browser
	$(PYTEST) -n 2 -m journey tests/browser

test-all: lint browser
	$(PYTEST) $(CORES) --ignore tests/browser
	ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1 $(PYTEST) $(CORES) $(TORCH_TESTS)
	$(PYTEST) -n 2 tests/browser

# Ten journeys in each browser. Firefox and WebKit come from Debian's packages, their drivers from npm through deno.
test-browsers: browser
	@if ! command -v firefox-esr WebKitWebDriver xvfb-run >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y firefox-esr webkit2gtk-driver xvfb; \
	fi
	$(BIN)/python -m tests.three_browsers

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile
	$(BIN)/deno fmt --quiet --check --config $(SCRIPTS)/deno.json $(FORMATTED)
	$(BIN)/deno lint --quiet $(SCRIPTS) tests/figures/scripts tests/three_browsers
	$(BIN)/deno check --quiet --config $(SCRIPTS)/deno.json $(SCRIPTS)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/deno fmt --quiet --config $(SCRIPTS)/deno.json $(FORMATTED)

pictures: .venv/dev.stamp browser
	$(BIN)/python docs/pictures.py

# All benchmarks that need no corpus and no GPU, one after the other: two at a time would slow each other down.
benchmarks: .venv/dev.stamp
	set -e; for file in $$(grep -l __main__ benchmarks/*.py | grep -v -e gold_alignments -e gpu -e random_actions); do \
		$(BIN)/python -m benchmarks.$$(basename $$file .py); \
	done

# Broken links, anchors and API names are errors (`strict: true` in mkdocs.yml); --quiet would hide the messages.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build

# pip-audit has a separate environment, so that its own dependencies are not audited. A local build such as
# torch 2.13.0+cpu is looked up as 2.13.0. A package that the index does not know is an error, because it was
# not audited.
audit: .venv/audit.stamp
	$(BIN)/python -m pip list --format freeze | sed 's/+.*//' > .venv/audit/installed.txt
	.venv/audit/bin/pip-audit --strict --disable-pip --no-deps -r .venv/audit/installed.txt

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Installation: a stamp file is newer than the requirements that were installed ---

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

# A separate environment: mkdocstrings reads the docstrings without importing the code.
.venv/docs.stamp: requirements-docs.txt | $(BIN)/python
	$(BIN)/python -m venv --clear .venv/docs
	.venv/docs/bin/python -m pip install -r requirements-docs.txt
	@touch $@

AUDIT := pip-audit==2.10.0
.venv/audit.stamp: Makefile .venv/dev.stamp
	$(BIN)/python -m venv --clear .venv/audit
	.venv/audit/bin/python -m pip install $(AUDIT)
	@touch $@

# The browser tests use the machine's Chromium or, if there is none, Playwright's copy. Ubuntu's apt package
# only points to a snap, so `chromium --version` checks whether apt has installed a browser that works.
browser: .venv/dev.stamp
	@if command -v chromium >/dev/null || [ -e .venv/chromium.stamp ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; \
	fi; \
	if chromium --version; then exit 0; fi; \
	$(BIN)/python -m playwright install chromium && touch .venv/chromium.stamp
