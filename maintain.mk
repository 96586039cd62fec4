# For maintainers, included by the Makefile: MAINTAINING.md says when each is run.

CODE := dpbook tests notebooks noxfile.py $(wildcard tools benchmarks)

.PHONY: lint proofs check-numbers check-pages live-check mutants surroundings matrix bench libraries release-files

lint: $(VENV)/.dev  ## style of code and notebooks, types, imports
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	@said=$$($(BIN)/lint-imports --no-cache) || { echo "$$said"; exit 1; }; echo "$$said" | tail -n 2
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb

proofs: $(VENV)/.made  ## the theorems of proofs/, by Rocq, and by its checker again (five minutes)
	$(BIN)/python tools/proofs.py $(ARGS)

check-numbers:  ## the book that is built, against book/numbers: what a reader is told
	$(BIN)/dpbook numbers $(ARGS)

check-pages: $(VENV)/.dev  ## what needs a browser: formulas, figures, accessibility (axe), no other host
	test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python tools/check_pages.py $(SCREENS)

live-check: $(VENV)/.dev  ## every claim a second time, in a browser, against the records of the book
	test -d _build/html/live || $(MAKE) live ARGS=
	$(BIN)/python tools/live_check.py $(ARGS)

mutants: $(VENV)/.dev  ## would the checks notice? seeded defects (an hour)
	$(BIN)/python tools/mutants.py --summary book/trust/mutants.json $(ARGS)

surroundings: $(VENV)/.made  ## the smoke book as other processors compute it: the same numbers?
	$(BIN)/python tools/surroundings.py $(ARGS)

# Pythons that pyenv keeps are found by its shims if they are named.
matrix: $(VENV)/.dev  ## the science under the Pythons that are here, lowest and latest dependencies
	PYENV_VERSION=$$(pyenv versions --bare 2> /dev/null | paste -sd:) $(BIN)/nox $(ARGS)

# The peers are wanted here only; their list is whole, and what they ask for otherwise is left out.
$(VENV)/.bench: $(VENV)/.made benchmarks/requirements.lock
	$(INSTALL) --no-deps -r benchmarks/requirements.lock
	@touch $@

bench: $(VENV)/.bench  ## speed of the estimators against their peers, with targets
	$(BIN)/python -m benchmarks.run --output _build/bench.json

# These need other versions than the rest, and so a folder of their own.
_build/libraries/.made: benchmarks/libraries.lock
	$(PYTHON) -m venv --clear _build/libraries
	$(subst $(VENV),_build/libraries,$(INSTALL)) -r benchmarks/libraries.lock
	@touch $@

libraries: _build/libraries/.made  ## what OpenDP, diffprivlib and dp-accounting say, for page 42
	_build/libraries/bin/python -m benchmarks.libraries

release-files: book  ## the files of a version: package, notebooks, claims, proofs, PDF if made
	rm -rf _build/release
	mkdir -p _build/release
	cp _build/html/downloads/*.zip _build/claims.json _build/release
	if test -d _build/pdf; then cp _build/pdf/*.pdf _build/release; fi
	ls -l _build/release
