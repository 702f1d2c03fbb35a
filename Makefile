# make demo | test | lint | docs | bench | fuzz | sanitize | levels | levels-arm | wheel | clean. Everything is installed into .venv; nothing else is needed
# but Python 3.11 or newer and a C++20 compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint docs bench fuzz sanitize levels levels-arm wheel install clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# As many processes as cores, four at most; each wants up to 1.6 GB.
PYTEST := -m pytest -q -n auto --maxprocesses 4 --dist worksteal
test: $(VENV)/.test
	$(BIN)/python $(PYTEST)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site; a warning is an error, and so is a link that leads nowhere.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/docs
	$(BIN)/python docs/check_links.py build/docs

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# The reader of LIBSVM text under sanitizers; libFuzzer, where there is clang, keeps what it learns.
FUZZ_SECONDS ?= 60
FUZZ_CXX := $(or $(shell command -v clang++),$(CXX))
fuzz: $(VENV)/.install
	$(BIN)/cmake -S native/tests -B build/fuzz -DMULTIPLANE_FUZZ=ON -DCMAKE_CXX_COMPILER=$(FUZZ_CXX)
	$(BIN)/cmake --build build/fuzz --target fuzz_libsvm
	mkdir -p build/fuzz/corpus
	build/fuzz/fuzz_libsvm -max_total_time=$(FUZZ_SECONDS) build/fuzz/corpus

# The tests of the native loops, with a module that watches its memory and its arithmetic. It is in
# an environment of its own, beside what .venv holds; Python itself never frees all, so leaks are
# not looked for.
SANITIZE := build/sanitize
SANITIZED_TESTS ?= tests/test_twin.py tests/test_centres.py tests/test_kernel_twin.py tests/test_budgeted.py \
  tests/test_libsvm.py tests/test_digits.py tests/test_threads.py tests/test_bad_input.py
sanitize: $(VENV)/.test
	$(PYTHON) -m venv --clear --without-pip $(SANITIZE)/venv
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$($(SANITIZE)/venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tools.pth
	$(PIP) install --quiet --no-build-isolation --no-deps --upgrade --target $(SANITIZE)/site \
	  -C build-dir=$(SANITIZE)/cmake -C cmake.define.MULTIPLANE_SANITIZE=ON .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  PYTHONPATH=$(CURDIR)/$(SANITIZE)/site $(SANITIZE)/venv/bin/python $(PYTEST) -x $(SANITIZED_TESTS)

# Models as digests, at every instruction set that this CPU has, without Python; and on ARM, which the
# packages g++-aarch64-linux-gnu and qemu-user of Debian compile for and emulate. They must be equal.
levels: $(VENV)/.install
	$(BIN)/cmake -S native/tests -B build/levels -DCMAKE_BUILD_TYPE=Release
	$(BIN)/cmake --build build/levels --target levels
	build/levels/levels
levels-arm: $(VENV)/.install
	$(BIN)/cmake -S native/tests -B build/levels-arm -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
	  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static
	$(BIN)/cmake --build build/levels-arm --target levels
	qemu-aarch64 build/levels-arm/levels

# A wheel, and all tests with it in an environment that has no compiler to fall back on.
wheel: $(VENV)/.install
	rm -rf build/wheel && mkdir -p build/wheel
	$(PIP) wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	$(PYTHON) -m venv --clear build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --upgrade pip "setuptools>=70.1"
	build/wheel/venv/bin/python -m pip install --quiet "$$(ls -t dist/*.whl | head -1)[test]"
	cp -r tests benchmarks experiments docs examples native src *.md CITATION.cff LICENSE Makefile pyproject.toml build/wheel/
	cd build/wheel && CC=/bin/false CXX=/bin/false venv/bin/python $(PYTEST)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip

# The compiled module is built anew when its sources change. Python sources are used in place, but
# that a file has come or gone has to be told: then its folder is newer.
NATIVE := $(wildcard native/* native/kernels/*) CMakeLists.txt pyproject.toml
FOLDERS := $(shell find src experiments -type d -not -name __pycache__)
$(VENV)/.install: $(VENV)/bin/python $(NATIVE) $(FOLDERS)
	$(PIP) install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.18" ninja
	$(PIP) install --quiet --no-build-isolation --editable .
	touch $@

$(VENV)/.demo: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[demo]"
	touch $@

# LIBLINEAR and LIBSVM come as sources for setuptools; that of Python's own venv can build no wheel.
$(VENV)/.test: $(VENV)/.install
	$(PIP) install --quiet "setuptools>=70.1"
	$(PIP) install --quiet --no-build-isolation --editable ".[test]"
	touch $@

$(VENV)/.docs: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[docs]"
	touch $@

$(VENV)/.lint: $(VENV)/.install
	$(PIP) install --quiet --no-build-isolation --editable ".[lint]"
	touch $@

install: $(VENV)/.install

clean:
	rm -rf $(VENV) build dist out
