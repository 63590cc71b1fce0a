# Needs make and Python 3.11 to 3.13. Everything is installed into .venv, from lock files with hashes.
# The lock files are complete, so pip resolves nothing (--no-deps): with hashes, some versions of it stumble over a
# release that is newer than the locked one.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: train test check docs docs-serve dist fresh install dev lock clean

train: install
	@$(BIN)/mttt train

test: dev
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright

# The site. Warnings are errors: a link that leads nowhere, a public name that no page documents.
docs: dev
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo "The site is in build/docs: open build/docs/index.html, or make docs-serve"

docs-serve: docs
	@echo "http://127.0.0.1:8000 (Ctrl-C ends it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs 8000 >/dev/null 2>&1

# Wheel and sdist, by the locked hatchling.
dist: install
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist

# The wheel in a new environment, far from this repository. Its own metadata say what it needs, in the locked versions.
fresh: dist
	@d=$$(mktemp -d) && trap "rm -rf $$d" EXIT && $(BIN)/python -m venv $$d/venv && \
	sed -n 's/^\([A-Za-z0-9][^\]*==[^\]*[^\ ]\) *\\*$$/\1/p' requirements.lock > $$d/versions.txt && \
	$$d/venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint $$d/versions.txt dist/*.whl && \
	cd $$d && venv/bin/mttt --version && venv/bin/mttt train digits --epochs 0.2 && \
	venv/bin/mttt watch --export page.html --examples 1 && echo "The wheel runs by itself"

install: .venv/.installed
dev: .venv/.installed-dev

.venv/.installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found; name one: make PYTHON=/path/to/python"; exit 1; }
	@test -x $(BIN)/python || { echo "Making .venv with $(PYTHON)"; $(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }; }
	@echo "Installing into .venv (about a minute)"
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	@echo "Installing what tests and checks need"
	@$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# Newest versions of everything, the same for all Pythons (`make lock UPGRADE=` adds what is missing and keeps the rest); uv
# writes the hashes and no addresses.
UPGRADE := --upgrade
COMPILE := uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	--fork-strategy fewest pyproject.toml --group build --extra plots
lock:
	$(COMPILE) $(UPGRADE) --output-file requirements.lock
	$(COMPILE) $(UPGRADE) --extra dev --constraints requirements.lock --output-file requirements-dev.lock

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
