# Everything a newcomer needs: `make demo` and `make test` on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two more than there are cores: tests wait for a lease, a gate or a server for two thirds of their time.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 2)")

# CI looks at a red test twice (`tests/support/twice.py`).
PYTEST ?= $(BIN)/python -m pytest

# What one worker has compiled the others need not, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
comma := ,

help:  ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

# uv makes the environment in seconds; pip does where uv is missing.
define install
	@if command -v uv >/dev/null 2>&1; then \
		test -x $(BIN)/python || uv venv -q --python $(PYTHON) $(VENV); \
		VIRTUAL_ENV=$(VENV) uv pip install -q -e '.[$(1)]'; \
	else \
		test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[$(1)]'; \
	fi
	@touch $@
endef

$(VENV)/.dev: pyproject.toml
	@echo "Setting up $(VENV) ..."
	$(call install,dev)

$(VENV)/.test: pyproject.toml
	@echo "Setting up $(VENV) with everything for tests ..."
	$(call install,test)

$(VENV)/.docs: pyproject.toml
	@echo "Setting up $(VENV) with what builds the site ..."
	$(call install,docs)

$(VENV)/.mutation: pyproject.toml
	@echo "Setting up $(VENV) with what mutates ..."
	$(call install,mutation)

$(VENV)/.package: pyproject.toml
	@echo "Setting up $(VENV) with what builds ..."
	$(call install,package)

setup: $(VENV)/.test  ## an environment with everything
	@$(BIN)/python -m tests.support.binaries
	@$(BIN)/python -m tests.support.browser || true

demo: $(VENV)/.dev  ## the main job on an embedded server
	@$(BIN)/reconciler demo

$(VENV)/.fleet: pyproject.toml
	@echo "Setting up $(VENV) with Spark ..."
	$(call install,dev$(comma)fleet)

demo-fleet: $(VENV)/.fleet  ## many accounts on embedded servers: three nights of drift on Spark, and the report as a page
	@$(BIN)/reconciler demo --fleet --page fleet-report.html

lint: $(VENV)/.test  ## style, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

check: $(VENV)/.test lint  ## the inner loop: style, types, and the tests that need no server
	@$(PYTEST) -n $(WORKERS) --dist worksteal -q tests/core tests/rules tests/golden tests/report tests/documents

test: setup lint  ## every test, on the oldest and the newest server there is support for
	@$(PYTEST) --versions ends -n $(WORKERS) --dist worksteal -q

test-versions: setup  ## the same on the server versions between
	@$(PYTEST) --versions between -n $(WORKERS) --dist worksteal -q

interop: setup  ## groups shared with the reference implementation, and what peers made imported (needs Go)
	@$(BIN)/python -m tests.interop.reference
	@RECONCILER_INTEROP=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/interop tests/peers

convergence: setup  ## apply, then plan: empty: every drawn case and cut on every server version, where `make test` takes a quarter
	@RECONCILER_CONVERGENCE=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q \
		tests/convergence tests/primitives tests/saved/test_round_trip.py tests/replacement

drill: setup  ## elastic groups made anew, cut off after every step, killed after every request, on every server version: 0 lost
	@$(BIN)/python -m tests.drill

faults: setup  ## an apply cut in every way at every request and reply, on every server version and a cluster: 0 lost
	@$(BIN)/python -m tests.faults

power: setup  ## the power goes after each write of an apply, and a stream or the bucket comes back older than the rest: all safe
	@$(BIN)/python -m tests.power

sabotage: setup  ## small harms done to copies of the code, each noticed by the tests that are there for it; ONLY=word for some
	@$(BIN)/python -m tests.sabotage $(if $(ONLY),--only "$(ONLY)")

mutation: setup $(VENV)/.mutation  ## files changed by chance, one place at a time, and what survives the tests: FILES='reconciler/engine/…' TESTS='tests/core …'
	@$(BIN)/python -m tests.sabotage.by_chance $(if $(TESTS),--tests "$(TESTS)") $(FILES)

story: setup  ## what `make demo-fleet` shows, to its end: every command ends as the story has it, and the page is there
	@$(BIN)/python -m pytest -q tests/fleet/telling.py

action: setup  ## the GitHub action installs itself into an environment of its own
	@$(BIN)/python -m pytest -q tests/ci/installing.py

dist: $(VENV)/.package  ## the wheel and the source archive of this commit, in dist/
	@rm -rf dist && $(BIN)/uv build -q -o dist && ls dist

image: dist  ## the container image, tried as users run it: without a network, on files it cannot change (needs docker)
	@docker build --file .github/container/Dockerfile --tag reconciler dist
	@docker run --rm reconciler --version
	@docker run --rm --network none --read-only --volume "$(CURDIR)/examples:/topologies:ro" reconciler validate orders

PYTHONS ?= $(PYTHON)

# Needs pytest and uv alone, so that it runs where the rest of the tests does not.
package: $(VENV)/.package  ## the wheel in empty environments of PYTHONS='3.11 3.14'; RECONCILER_DIST=dist: the one that lies there
	@for python in $(PYTHONS); do \
		RECONCILER_PYTHON=$$python $(BIN)/python -m pytest -q --confcutdir tests/package tests/package || exit 1; done

N ?= 5000

agreement: setup  ## our verdicts beside real servers' answers: N random cases per version and every rule's row
	@$(BIN)/python -m tests.agreement $(N)

faithful: setup  ## N objects copied by export and apply, N changes by hand looked at, on every server version: none lost, none unseen
	@$(BIN)/python -m tests.faithful $(if $(filter file,$(origin N)),20000,$(N))

truth: setup  ## what plans say in numbers beside what real servers do, N cases on all versions: a table by code
	@$(BIN)/python -m tests.truth $(if $(filter file,$(origin N)),2000,$(N))

probes: setup  ## what clients experience when a configuration changes, N changes on each version, beside what plans foretell
	@$(BIN)/python -m tests.probes $(if $(filter file,$(origin N)),20000,$(N))

bench: setup  ## speed as ratios against a floor in the same run
	@failed=0; for one in startup load requests_floor plan_floor apply_floor apply_all groups_floor policies fleet_reader; do \
		echo "== $$one"; $(BIN)/python -m tests.bench.$$one || failed=1; done; exit $$failed

bench-fleet: setup  ## the same for the fleet at its full size, which takes minutes: many accounts, many subjects
	@failed=0; for one in fleet_reader fleet_skew fleet_drift; do \
		echo "== $$one"; $(BIN)/python -m tests.bench.$$one || failed=1; done; exit $$failed

curve: setup  ## what every command costs an object among 6,000 and among 60,000: it may not grow
	@$(BIN)/python -m tests.bench.curve

schemas: $(VENV)/.dev  ## write schemas/ anew, and the words that shells complete
	@$(BIN)/reconciler schema --write schemas
	@$(BIN)/python -m reconciler.cli.completing.table > reconciler/cli/completing/words.json

measured: setup  ## what servers of every version do with what rules flag, written into docs/reference/rules/measured.json
	@$(BIN)/python -m tests.agreement.measured

# Zensical keeps a cache of its own in .cache beside mkdocs.yml, and empties all of it: so it builds a copy.
docs: $(VENV)/.docs  ## the site, in .cache/docs/site
	@rm -rf .cache/docs && mkdir -p .cache/docs && cp -r docs mkdocs.yml .cache/docs
	@$(BIN)/zensical build --strict --config-file .cache/docs/mkdocs.yml

pages: $(VENV)/.test  ## write those pages of docs/ that are made from the program
	@$(BIN)/python -m tests.site

clean:  ## forget environments, caches and embedded servers
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

format: $(VENV)/.test  ## put every file into form
	@$(BIN)/ruff check -q --fix . && $(BIN)/ruff format -q .

.PHONY: help setup demo demo-fleet lint check test test-versions interop convergence drill faults power faithful truth probes sabotage mutation story action dist image package agreement bench bench-fleet curve format schemas measured docs pages clean
