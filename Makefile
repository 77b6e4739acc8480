# Every target sets up what it needs: a virtual environment, its packages and the compiled
# extension. Stamp files say what is done, so nothing is done twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A maturin build finds the environment by this, whether or not it is activated.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

CRATES := binding drive execution recording workload
RUST := Cargo.toml Cargo.lock $(shell find $(CRATES) -name '*.rs' -o -name Cargo.toml)
PACKAGES := $(VENV)/.packages
EXTENSION := $(VENV)/.extension

.PHONY: help demo test test-rust test-python lint format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    characterize two simulated drives and write a report"
	@echo "make test    run all tests"
	@echo "make lint    check style and types"
	@echo "make format  format all code"
	@echo "make clean   remove everything that was built"

$(PACKAGES): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "maturin>=1.9,<2"
	$(BIN)/maturin develop --release --extras dev
	@touch $@

$(EXTENSION): $(PACKAGES) $(RUST)
	$(BIN)/maturin develop --release --skip-install
	@touch $@

demo: $(EXTENSION)
	$(BIN)/fourcorners characterize sim:ocz-core-64gb sim:wd6400aaks --out runs

test: test-rust test-python

# Simulated time is computed: without optimization the same tests take minutes.
test-rust:
	cargo test --release --workspace

test-python: $(EXTENSION)
	$(BIN)/python -m pytest

lint: $(EXTENSION)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --release -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(EXTENSION)
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	cargo clean
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find fourcorners -name '*.so' -delete
