# `make` is `make check`: what CI runs, without the tests.
.DEFAULT_GOAL := check
.PHONY: setup try pictures test test-fast test-all-pythons check agents bench bench-quality golden docs sdk new-source clean

PYTHON ?= python3
VENV := .venv
GROUP := dev
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.made

# Tests start the program thousands of times; without compiled modules each start takes twice as long.
export PYTHONDONTWRITEBYTECODE :=

setup: $(STAMP)  ## create .venv with recollect and its development tools

$(RUNTIME): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $(RUNTIME)

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group $(GROUP)
	touch $(STAMP)

try: $(RUNTIME)  ## index this machine's sessions, or a bundled sample, and show a first search
	@$(BIN)/python scripts/try_it.py

pictures: setup  ## draw the README's pictures from what the program prints for the bundled sample
	$(BIN)/python scripts/pictures.py

test: setup  ## all tests; COVERAGE=1 also measures the branch coverage of src, and fails below its minimum
	$(BIN)/python -m pytest -n auto --dist loadfile $(if $(COVERAGE),--cov)

TESTS := tests/unit tests/contract
test-fast: setup  ## unit and contract tests that start no process, in a minute
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not process" $(TESTS)

test-all-pythons: setup  ## test-fast with every supported Python that is installed
	$(BIN)/python scripts/all_pythons.py

AGENTS := $(abspath $(VENV))/agents
agents: setup  ## install real agents from npm, at the versions in tests/agents/package.json, and run them offline
	mkdir -p $(AGENTS) && cp tests/agents/package.json $(AGENTS)/
	npm install --prefix $(AGENTS) --no-audit --no-fund
	RECOLLECT_AGENTS=$(AGENTS) $(BIN)/python -m pytest -m agents

check: setup  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

golden: setup  ## write the expected results of all fixtures again; read the diff before you commit it
	$(BIN)/python tests/golden.py --write

docs: setup  ## generate the tables of sources, docs/reference.md and docs/modules.md again
	$(BIN)/python -m tests.source_table --write
	$(BIN)/python scripts/reference.py --write
	$(BIN)/python scripts/module_map.py --write

sdk: setup  ## generate the SDKs from the table of operations, and the blocking Python client
	$(BIN)/python scripts/python_library.py --write
	$(BIN)/python scripts/blocking_client.py --write
	$(BIN)/python scripts/typescript_types.py --write
	$(BIN)/python scripts/typescript_library.py --write

# make new-source heron-cli TITLE="Heron CLI" KIND=document
NAME ?= $(word 2,$(MAKECMDGOALS))
TITLE ?=
KIND ?= lines
new-source: setup  ## start a source for one more agent (KIND: lines, document or database)
	$(BIN)/python scripts/new_source.py $(NAME) $(if $(TITLE),--title "$(TITLE)") --kind $(KIND)
ifeq (new-source,$(firstword $(MAKECMDGOALS)))
$(eval $(or $(word 2,$(MAKECMDGOALS)),-):;@:)
endif

bench: setup  ## measure speed and memory, and compare them with targets and peers
	$(BIN)/python bench/run.py

bench-quality: setup  ## score the search modes text, vector and both on questions with known evidence
	$(BIN)/python bench/quality.py

clean:
	rm -rf $(VENV)
