# `make help` lists the targets. All a machine needs is make and Python >= 3.11:
# each target that needs .venv sets it up first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup-done

AIRFLOW     := .venv-airflow
AIRFLOW_OLD := .venv-airflow-old

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# Two targets may install at once.
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## Make .venv with couler and all that development needs

define CHECK_PYTHON
@command -v $(PYTHON) >/dev/null || \
  { echo "error: $(PYTHON) not found. Install Python 3.11 or later, or say PYTHON=/path/to/python" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "error: Couler needs Python 3.11 or later, $(PYTHON) is $$($(PYTHON) -V 2>&1). Say PYTHON=/path/to/python" >&2; exit 1; }
endef

$(STAMP): pyproject.toml
	$(CHECK_PYTHON)
	@echo "setting up $(VENV); the first time takes about a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# The example's own environment is a third of that of development: what it does not import is never compiled to bytecode.
RUN_VENV := .venv-run
RUN      := $(RUN_VENV)/bin/couler

$(RUN_VENV)/.setup-done: pyproject.toml
	$(CHECK_PYTHON)
	@echo "installing what the example needs into $(RUN_VENV): about 400 MB, once"
	$(PYTHON) -m venv $(RUN_VENV)
	$(RUN_VENV)/bin/python -m pip install --disable-pip-version-check --no-compile --editable '.[examples]'
	@touch $@

EXAMPLE := examples/model_selection/model_selection.py
OUT     := build/model_selection

.PHONY: run
run: export COULER_HOME := $(CURDIR)/build/home
run: export PYTHONDONTWRITEBYTECODE :=
run: $(RUN_VENV)/.setup-done ## Main job: check, draw, compile and run the example of model selection
	@mkdir -p $(OUT)
	$(RUN) validate $(EXAMPLE) -e argo
	$(RUN) show $(EXAMPLE) --as svg -o $(OUT)/workflow.svg
	$(RUN) compile $(EXAMPLE) -e argo -o $(OUT)/workflow.yaml
	$(RUN) run $(EXAMPLE) >$(OUT)/outputs.txt
	@cat $(OUT)/outputs.txt
	@cp "$$(sed -n 's/^report = //p' $(OUT)/outputs.txt)" $(OUT)/report.html
	@echo
	@echo "report:    $(OUT)/report.html"
	@echo "picture:   $(OUT)/workflow.svg"
	@echo "Argo YAML: $(OUT)/workflow.yaml, written by"
	@echo "           $(RUN) compile $(EXAMPLE) -e argo -o $(OUT)/workflow.yaml"

.PHONY: check
check: $(STAMP) ## Lint, format, types, layers, size, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.measure.size --check
	@$(MAKE) --no-print-directory -j2 types docs

.PHONY: types
types: $(STAMP) ## Check the types
	$(BIN)/mypy

.PHONY: format
format: $(STAMP) ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Bytecode is kept even where the environment forbids it: tests start hundreds of processes, each of
# which would compile the package anew, and each worker would rewrite all modules of tests.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

.PHONY: test
test: $(STAMP) ## Tests that need no network
	$(PYTEST) -n auto --dist worksteal --manifests=build/manifests/test

.PHONY: test-slow
test-slow: argo-oracle containers postgresql ## Slow tests, some of which install packages; then argo-lint
	$(PYTEST) -n auto --dist worksteal -m "slow and not (airflow or nightly)" --manifests=build/manifests/test-slow
	@$(MAKE) --no-print-directory argo-lint
	@if $(MAKE) --no-print-directory -j2 airflow airflow-old; then $(MAKE) --no-print-directory test-airflow; \
	else echo "Airflow cannot be installed here: its tests are left out"; fi

.PHONY: test-airflow
test-airflow: $(STAMP) containers postgresql airflow airflow-old ## Tests that run DAG files under Airflow, in environments of its own
	$(PYTEST) -n auto --dist worksteal -m "airflow and not nightly"

.PHONY: nightly
nightly: argo-oracle containers postgresql airflow airflow-old ## Tests that take longer than CI has time for
	$(PYTEST) -n 2 --dist worksteal -m "nightly or sampled" --manifests=build/manifests/nightly
	$(PYTEST) -n 2 --dist worksteal -m "hypothesis and not airflow" --hypothesis-profile=nightly
	@$(MAKE) --no-print-directory argo-lint seeded-faults

.PHONY: kube-api
kube-api: argo-oracle ## Build a real Kubernetes API server (12 CPU minutes, needs Go) and run the tests that ask it
	@command -v etcd >/dev/null || $(APT_INSTALL) etcd-server
	$(BIN)/python -c 'from tests.kube.api_server import program; print(program())'
	$(PYTEST) -n0 -m kube_api

.PHONY: airflow-table
airflow-table: $(STAMP) containers airflow ## Run the corpus here and under Airflow, write the page of the table and print it
	$(BIN)/python -m pytest -q -m airflow tests/airflow/test_corpus.py --update-goldens
	@$(BIN)/python -m tests.support.airflow_table

.PHONY: airflow-up
airflow-up: $(STAMP) postgresql airflow ## Start a whole Airflow on this machine, with pods as processes, until Ctrl-C
	$(BIN)/python -m tests.support.airflow_up

.PHONY: argo-up
argo-up: $(STAMP) argo-oracle ## Start Argo's controller on this machine, with pods as processes, until Ctrl-C
	$(BIN)/python -m tests.support.argo_up

.PHONY: airflow
airflow: $(AIRFLOW)/.setup-done ## Make .venv-airflow: Airflow, apart from all else

.PHONY: airflow-old
airflow-old: $(AIRFLOW_OLD)/.setup-done ## Make .venv-airflow-old: the oldest Airflow that DAG files are loaded in

$(AIRFLOW)/.setup-done: tests/airflow/constraints.txt
$(AIRFLOW_OLD)/.setup-done: tests/airflow/constraints-old.txt

# What speaks to the database of a whole Airflow; the old one only loads files.
DRIVERS :=
$(AIRFLOW)/.setup-done: DRIVERS := asyncpg psycopg2-binary

# Airflow brings 140 packages and caps on others: it never shares an environment with couler.
$(AIRFLOW)/.setup-done $(AIRFLOW_OLD)/.setup-done:
	@echo "setting up $(@D); the first time takes about two minutes"
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $< \
	  apache-airflow apache-airflow-providers-cncf-kubernetes apache-airflow-providers-standard $(DRIVERS)
	$(@D)/bin/python -m pip check
	@touch $@

.PHONY: argo-lint
argo-lint: argo-oracle ## Let Argo judge all manifests that the tests made, and those of the docs
	$(BIN)/python -m tests.oracle.judge

.PHONY: argo-oracle
argo-oracle: $(STAMP) ## Build Argo's own programs, which judge manifests in slow tests (needs Go)
	$(BIN)/python -m tests.oracle.argo.build

.PHONY: containers
containers: ## Install podman, in which slow tests run steps (on Debian, as root)
	@if command -v podman >/dev/null && command -v busybox >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && $(APT_INSTALL) \
	    podman runc catatonit busybox-static uidmap >/dev/null; \
	else echo "podman or busybox is not here: tests of containers are left out"; fi

.PHONY: postgresql
postgresql: ## Install PostgreSQL, whose servers tests start on loopback (on Debian, as root)
	@if command -v psql >/dev/null && { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && $(APT_INSTALL) postgresql-common >/dev/null && \
	  sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf && \
	  $(APT_INSTALL) postgresql >/dev/null; \
	else echo "PostgreSQL is not here: tests that need it are left out"; fi

.PHONY: size
size: $(STAMP) ## Print how large the repository is, beside its budget
	@$(BIN)/python -m tests.measure.size

.PHONY: budget
budget: $(STAMP) ## Lower the budget to the size of today
	@$(BIN)/python -m tests.measure.size --write

.PHONY: seeded-faults
seeded-faults: $(STAMP) ## Seed 100 faults into the product: the default tests must catch each (half an hour)
	rm -rf build/contexts
	-$(PYTEST) -q -n auto --dist worksteal -p tests.measure.contexts
	$(BIN)/python -m tests.measure.seeded_faults check

.PHONY: goldens
goldens: $(STAMP) ## Write the golden files anew; read the diff before you commit it
	$(BIN)/python -m pytest -m "golden and not (airflow or nightly)" --update-goldens

.PHONY: argo-coverage
argo-coverage: $(STAMP) ## Print which fields of Argo's API are not reached, and write the page
	$(BIN)/python -m tests.support.argo_coverage

.PHONY: bench
bench: $(STAMP) ## Run the benchmarks and print their tables
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit; done

.PHONY: docs
docs: $(STAMP) ## Build the documentation into build/site
	@# Not --quiet: it hides the warnings from --strict too. The variable silences an advertisement.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: build
build: $(STAMP) ## Build the sdist, and the wheel from it, into dist/
	$(BIN)/python -m build

.PHONY: clean
clean: ## Remove what was built and the tools' caches, not .venv
	rm -rf build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find couler ir optimizers backends tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
