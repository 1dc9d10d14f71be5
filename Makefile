# `make help` lists the targets. All a machine needs is make and Python >= 3.11:
# every target sets up what it needs in .venv first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup-done

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## Make .venv with couler and all that development needs

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
	  { echo "error: $(PYTHON) not found. Install Python 3.11 or later, or say PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Couler needs Python 3.11 or later, $(PYTHON) is $$($(PYTHON) -V 2>&1). Say PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
