# make book    build the book            make test    everything that must hold
# Needs Python 3.11 or newer, its venv module, and make; the rest goes into .venv.

PYTHON  ?= python3
PROFILE ?= default
EDITION ?= teacher
PAPER   ?= a4
ARGS    ?=

VENV := .venv
BIN  := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book live test quick pdf clean

help:  ## show this help
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-8s %s\n", $$1, $$2 }'
	@echo "book and live take EDITION=teacher|student: solutions folded, or left out;"
	@echo "book takes PROFILE=smoke|default|paper and ARGS=\"--only '04-*' -p epsilon 0.5\";"
	@echo "every target takes PYTHON=python3.12, used when .venv is made. MAINTAINING.md has more."

# The caller's pip may say from where, and neither what to install nor where to.
unexport PIP_PYTHON PIP_CONSTRAINT PIP_REQUIREMENT
HERE := --disable-pip-version-check --no-user --target '' --root / --prefix "$(CURDIR)/$(VENV)"

# What is installed: wheels, which run nothing while they are installed, of the hashes that we know.
INSTALL := $(BIN)/python -m pip install --quiet $(HERE) --require-hashes --only-binary :all:

# The environment is made once, and brought up to date when the pins or the project change.
$(VENV)/.made: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; \
	    sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is " \
	    + v + "; say which: make ... PYTHON=python3.12")'
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(INSTALL) -r requirements.lock
	$(BIN)/python -m pip install -qq $(HERE) --no-build-isolation --no-deps -e .
	@touch $@

# What tests and tools need beside it.
$(VENV)/.dev: $(VENV)/.made requirements-dev.lock
	$(INSTALL) -r requirements-dev.lock
	@touch $@

book: $(VENV)/.made  ## build the book: execute what changed, check the claims, write the HTML
	$(BIN)/dpbook build --profile $(PROFILE) --edition $(EDITION) $(ARGS)

live: book  ## the book, and beside it what reruns its pages in the reader's browser
	$(BIN)/dpbook live --edition $(EDITION)

test: lint  ## everything: style, types, unit tests, each notebook at the smoke profile, links
	$(BIN)/python -m pytest -n 2
	DPBOOK_DATA= $(BIN)/dpbook build --profile smoke --edition all --output _build/smoke
	$(BIN)/python tools/verify_certificate.py _build/smoke/claims.json _build/smoke/certificates
	! command -v node > /dev/null || node tools/verify_certificate.mjs _build/smoke/claims.json _build/smoke/certificates
	$(BIN)/python tools/links.py _build/smoke/html
	$(BIN)/python tools/check_editions.py _build/smoke
	@echo "make test: all passed"

quick: $(VENV)/.dev  ## the tests of the science alone: a minute on two cores
	$(BIN)/python -m pytest -q -n 2 tests --ignore tests/book --ignore tests/pages \
	    --ignore tests/test_browser.py --ignore tests/test_benchmarks.py

pdf: book $(VENV)/.dev  ## the book as PDF (Chromium prints; PAPER=letter for the other)
	$(BIN)/python tools/pdf.py --profile $(PROFILE) --paper $(PAPER)

clean:  ## delete what the build made (the environment stays: rm -r .venv)
	rm -rf _build

include maintain.mk
