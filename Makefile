# Each target does everything on a machine that has only Python >= 3.11, pip and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs docs-links bench torture mutants clean

demo: .venv/installed
	$(BIN)/dither-sim demo --out demo-out

test: lint
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --builder dirhtml docs docs/_build/html

# Looks whether the pages of others that the site links are still there: it wants a network.
docs-links: .venv/installed
	$(BIN)/python -m sphinx --keep-going --builder linkcheck docs docs/_build/links

bench: .venv/installed
	$(BIN)/python -m tests.benchmarks.draws
	$(BIN)/python -m tests.benchmarks.ingest_speed
	$(BIN)/python -m tests.benchmarks.batch_ids
	$(BIN)/python -m tests.benchmarks.spool
	$(BIN)/python -m tests.benchmarks.relay
	$(BIN)/python -m tests.benchmarks.coverage
	$(BIN)/python -m tests.benchmarks.numeric_coverage
	$(BIN)/python -m tests.benchmarks.numeric_devices
	$(BIN)/python -m tests.benchmarks.decoders
	$(BIN)/python -m tests.benchmarks.selections
	$(BIN)/python -m tests.benchmarks.strings
	$(BIN)/python -m tests.benchmarks.string_peers
	cd tests && ../$(BIN)/python -m client.linkage
	$(BIN)/python -m tests.benchmarks.sdk_speed
	$(BIN)/dither-sim bench --jobs 2

torture: .venv/installed
	$(BIN)/python -m tests.torture

mutants: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	$(BIN)/python -m tests.mutants

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dither needs Python 3.11 or later, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv dist build demo-out docs/_build
