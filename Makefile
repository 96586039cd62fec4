# make book    build the book            make test    everything that must hold
# Needs Python 3.11 or newer, its venv module, and make; the rest goes into .venv.

PYTHON  ?= python3
PROFILE ?= default
EDITION ?= teacher
PAPER   ?= a4
ARGS    ?=
SEED    ?= 2
SAMPLE  ?= 400

VENV := .venv
BIN  := $(VENV)/bin
CODE := dpbook tests notebooks $(wildcard tools benchmarks)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book live live-check test lint check-pages mutants random-mutants grid twice matrix house bench pdf clean certificate release-files

help:  ## show this help
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | \
	    awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'
	@echo "book and live take EDITION=teacher|student: solutions folded, or left out;"
	@echo "book takes PROFILE=smoke|default|paper and ARGS=\"--only '04-*' -p epsilon 0.5\";"
	@echo "every target takes PYTHON=python3.12, used when .venv is made."

# What is installed: wheels, which run nothing while they are installed, of the hashes that we know.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
    --only-binary :all:

# The environment is made once, and brought up to date when the pins or the project change.
$(VENV)/.made: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; \
	    sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is " \
	    + v + "; say which: make ... PYTHON=python3.12")'
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(INSTALL) -r requirements.lock
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

book: $(VENV)/.made  ## build the book: execute what changed, check the claims, write the HTML
	$(BIN)/dpbook build --profile $(PROFILE) --edition $(EDITION) $(ARGS)

live: book  ## the book, and beside it what reruns its pages in the reader's browser
	$(BIN)/dpbook live --edition $(EDITION)

live-check: $(VENV)/.axe  ## every claim a second time, in a browser, against the records of the book
	test -f _build/html/live/build.json || $(MAKE) live ARGS=
	$(BIN)/python tools/live_check.py $(ARGS)

pdf: book $(VENV)/.axe  ## the book as PDF (Chromium prints; ARGS goes to the book)
	$(BIN)/python tools/pdf.py --profile $(PROFILE) --paper $(PAPER)

lint: $(VENV)/.made  ## style of code and notebooks, types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	@said=$$($(BIN)/lint-imports --no-cache) || { echo "$$said"; exit 1; }; echo "$$said" | tail -n 2
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb

test: lint $(VENV)/.axe  ## everything: style, types, unit tests, each notebook at the smoke profile, links
	$(BIN)/python -m pytest --cov --cov-report=term
	DPBOOK_DATA= $(BIN)/dpbook build --profile smoke --output _build/smoke
	$(BIN)/python tools/verify_certificate.py _build/smoke/claims.json _build/smoke/certificates
	$(BIN)/python tools/anchors.py _build/smoke/html
	$(BIN)/linkchecker --no-status --no-robots _build/smoke/html/index.html
	DPBOOK_DATA= $(BIN)/dpbook build --profile smoke --edition student --output _build/smoke
	$(BIN)/python tools/check_editions.py _build/smoke
	@echo "make test: all passed"

# What drives the browser and follows links, and operators that make mutants; all that is needed is
# named there.
$(VENV)/.axe: $(VENV)/.made tools/requirements.txt
	$(INSTALL) --no-deps -r tools/requirements.txt
	@touch $@

check-pages: $(VENV)/.axe  ## what needs a browser: formulas, figures, accessibility (axe), no other host
	test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python tools/check_pages.py

certificate: book  ## what this build found, where and when, to publish with it
	$(BIN)/dpbook certificate

release-files: book  ## the files of a version: package, notebooks, claims, certificate, PDF if made
	rm -rf _build/release
	mkdir -p _build/release
	$(BIN)/dpbook certificate
	cp _build/html/downloads/* _build/claims.json _build/certificate.json _build/release
	if test -d _build/pdf; then cp _build/pdf/*.pdf _build/release; fi
	ls -l _build/release

house: $(VENV)/.made  ## the package in numbers: lines, public names, which pages use each
	$(BIN)/python tools/house.py

grid: $(VENV)/.made  ## every page at the ends of its parameters and at 20 seeds (hours; resumes)
	$(BIN)/python tools/grid.py $(ARGS)

mutants: $(VENV)/.made  ## would the checks notice? seeded defects, one after the other (an hour)
	$(BIN)/python tools/mutants.py --summary book/trust/mutants.json $(ARGS)

random-mutants: $(VENV)/.axe  ## mutants of what privacy rests on, drawn at random (SEED, SAMPLE; an hour)
	$(BIN)/python tools/random_mutants.py --seed $(SEED) --sample $(SAMPLE) \
	    --summary book/trust/random_mutants.json $(ARGS)

twice: $(VENV)/.made  ## two builds in other folders and surroundings: the same bytes?
	$(BIN)/python tools/twice.py $(ARGS)

matrix: $(VENV)/.made  ## the science under the Pythons that are here, lowest and latest dependencies
	$(BIN)/python tools/matrix.py $(ARGS)

# The peers are wanted here only; the pins of the environment hold for what they bring along.
$(VENV)/.bench: $(VENV)/.made benchmarks/requirements.lock
	$(INSTALL) -r benchmarks/requirements.lock
	@touch $@

bench: $(VENV)/.bench  ## speed of the estimators against their peers, with targets
	$(BIN)/python -m benchmarks.run --output _build/bench.json

clean:  ## delete what the build made (the environment stays: rm -r .venv)
	rm -rf _build
