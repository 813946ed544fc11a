# Everything a newcomer types is `make demo` and `make test`; the rest is for people who change the code.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
# Hundreds of processes are started here: where compiled modules may not be kept, each compiles the whole program again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test lint fix evals mutations bench record-examples system clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

# The stamp is newer than what decides the environment's contents, or the environment is made again.
$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "inquest needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy -o DPkg::Lock::Timeout=300 python3-venv; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt 'pip>=25.1'
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[serve]' --group dev
	@touch $@

demo: $(VENV)/.ready ## verdicts on the example jobs that ship
	$(BIN)/inquest demo

test: $(VENV)/.ready system ## every test, in parallel
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -rs || { \
	  echo "Once more, each alone on this host, what has failed beside the others (a test that passes only alone is to be mended):"; \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -v -rs; }
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

system: ## what the tests with a real Slurm and with kernel probes need, from Debian (root only)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ -x evals/recorder/install.sh ]; then \
	  evals/recorder/install.sh || echo "Slurm's packages could not be installed: the tests that need them will be skipped"; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-bpfcc shellcheck runc \
	    $$(apt-cache show linux-headers-$$(dpkg --print-architecture) >/dev/null 2>&1 && echo linux-headers-$$(dpkg --print-architecture) || echo linux-headers-generic) \
	    || echo "bcc, runc or kernel headers could not be installed: the tests with kernel probes or pods will be skipped"; \
	else echo "not root on Debian: the tests with a real Slurm and with kernel probes will be skipped"; fi

lint: $(VENV)/.ready ## ruff, pyright strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

fix: $(VENV)/.ready ## what ruff can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

evals: $(VENV)/.ready ## does it find the planted cause?
	$(BIN)/inquest eval

mutations: $(VENV)/.ready ## would the suite notice a family that went wrong?
	$(BIN)/python -m evals.mutations

bench: $(VENV)/.ready ## speed and memory, as ratios against a peer in the same run
	-bench/peers.sh .bench/peers
	PATH="$$PATH:$(CURDIR)/.bench/peers/usr/bin" $(BIN)/python -m bench

record-examples: $(VENV)/.ready ## run the example jobs again on a real Slurm on this host (root)
	evals/recorder/install.sh --train
	$(BIN)/python -m evals.recorder

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build dist
