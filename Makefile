# Each target does everything on a machine that has only Python >= 3.11, pip and make.
PYTHON ?= python3
BIN := .venv/bin

# The tests start hundreds of programs: each would compile all modules anew if the shell forbids to keep them compiled.
unexport PYTHONDONTWRITEBYTECODE
# Each process of the tests has a core; threads of linear algebra would only wait for each other.
cases: export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test test-all cases lint docs docs-links example torture mutants clean
.PHONY: bench bench-accuracy bench-strings bench-coverage bench-speed bench-client bench-linkage

demo: .venv/demo
	$(BIN)/dither-sim demo --out demo-out

# Lint and types run beside the tests: mypy has one process, and takes a minute when its cache is empty.
test: TESTS := -m "not slow"
test test-all: .venv/installed
	@$(MAKE) --no-print-directory --jobs 2 lint cases TESTS='$(TESTS)'

cases: .venv/installed
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal $(TESTS)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --builder dirhtml docs docs/_build/html

# The example of a published site; it comes out the same unless something of it has changed.
example: .venv/installed
	$(BIN)/python docs/_ext/published_example.py docs/published/answers

# Looks whether the pages of others that the site links are still there: it wants a network.
docs-links: .venv/installed
	$(BIN)/python -m sphinx --keep-going --builder linkcheck docs docs/_build/links

# Write what docs/measured includes. All of it takes hours; below each table stands how long its command took.
bench: bench-speed bench-client bench-linkage bench-strings bench-accuracy bench-coverage

MEASURE := $(BIN)/python -m tests.benchmarks
TABLES := --tables docs/measured/tables

bench-accuracy: .venv/installed
	$(MEASURE).accuracy $(TABLES)
	$(MEASURE).selections $(TABLES)

bench-strings: .venv/installed
	$(MEASURE).decoders $(TABLES)
	$(MEASURE).strings $(TABLES)

bench-coverage: .venv/installed
	$(MEASURE).coverage $(TABLES)
	$(MEASURE).numeric_coverage $(TABLES)
	$(MEASURE).panel_coverage $(TABLES)
	$(MEASURE).small_coverage $(TABLES)
	$(MEASURE).weighted $(TABLES)
	$(MEASURE).watched $(TABLES)
	$(MEASURE).numeric_devices
	$(MEASURE).own_past $(TABLES)

bench-speed: .venv/installed
	$(MEASURE).draws $(TABLES)
	$(MEASURE).ingest_speed $(TABLES)
	$(MEASURE).batch_ids $(TABLES)
	$(MEASURE).spool $(TABLES)
	$(MEASURE).relay 1000000 $(TABLES)

bench-client: .venv/installed
	$(MEASURE).sdk_speed $(TABLES)

bench-linkage: .venv/installed
	cd tests && ../$(BIN)/python -m client.linkage

torture: .venv/installed
	$(BIN)/python -m tests.torture

mutants: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	$(BIN)/python -m tests.mutants

# The demo uses half of what the tests need. Python compiles what is imported, which is less than pip would.
.venv/demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dither needs Python 3.11 or later, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[simulations]'
	@touch $@

# The tests of client/js take npm's packages where npm is on the PATH.
# Without a network npm gives up after some forty seconds; by default it would take minutes.
NPM := timeout 240 npm install --prefix client/js --no-audit --no-fund --ignore-scripts --loglevel=error \
  --fetch-timeout=20000 --fetch-retries=1
NO_NPM := npm could not install the packages of client/js; the tests that use them say so and are skipped

.venv/installed: .venv/demo client/js/package.json
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@! command -v npm > /dev/null || $(NPM) > /dev/null || echo "$(NO_NPM)"
	@touch $@

clean:
	rm -rf .venv client/js/node_modules dist build demo-out docs/_build
