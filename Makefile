# make demo | test | lint | bench | clean. Everything is installed into .venv; nothing else is needed
# but Python 3.11 or newer and a C++20 compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint bench install clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(BIN)/python -m pytest -q

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip

# The compiled module is built anew when its sources change. Python sources are used in place, but
# that a file has come or gone has to be told: then its folder is newer.
NATIVE := $(wildcard native/* native/kernels/*) CMakeLists.txt pyproject.toml
FOLDERS := $(shell find src -type d -not -name __pycache__)
$(VENV)/.install: $(VENV)/bin/python $(NATIVE) $(FOLDERS)
	$(PIP) install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.18" ninja
	$(PIP) install --quiet --no-build-isolation --editable .
	touch $@

$(VENV)/.demo: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[demo]"
	touch $@

$(VENV)/.test: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[test]"
	touch $@

$(VENV)/.lint: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[lint]"
	touch $@

install: $(VENV)/.install

clean:
	rm -rf $(VENV) build dist out
