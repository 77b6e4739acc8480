# Every target sets up what it needs: a virtual environment, its packages and the compiled
# extension. A stamp file says what is done, so nothing is done twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A maturin build finds the environment by this, whether or not it is activated.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

CRATES := binding drive execution recording serve trace workload
RUST := Cargo.toml Cargo.lock $(shell find $(CRATES) -name '*.rs' -o -name Cargo.toml)
# What the extension is compiled with: `release` for use. The check of a change takes `dev`, which
# nearly all crates were compiled with for the tests of Rust, and in which assertions are on.
export EXTENSION_PROFILE ?= release
READY := $(VENV)/.ready-$(EXTENSION_PROFILE)
export PIP_QUIET := 1
CONSTRAINTS := .ci/constraints.txt
# Relative, as pip takes a space for the end of a path.
export PIP_CONSTRAINT := $(CONSTRAINTS)

.PHONY: help demo test test-rust test-python lint lint-rust lint-python format docs linkcheck clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    characterize two simulated drives and write a report"
	@echo "make test    run all tests"
	@echo "make lint    check style and types"
	@echo "make format  format all code"
	@echo "make docs    build the documentation: site and manual page"
	@echo "make linkcheck   try every external link of the documentation (needs a network)"
	@echo "make clean   remove everything that was built"

$(BIN)/maturin:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install "maturin>=1.9,<2"

$(READY): pyproject.toml $(CONSTRAINTS) $(RUST) | $(BIN)/maturin
	$(BIN)/maturin develop --profile $(EXTENSION_PROFILE) --extras dev
	@rm -f $(VENV)/.ready-* && touch $@

demo: $(READY)
	$(BIN)/fourcorners characterize sim:ocz-core-64gb sim:wd6400aaks --out runs

test: test-rust test-python

test-rust:
	cargo test --workspace

# Files of tests go to four processes, also on two cores, since tests wait for disks, children and
# the clock; one file stays in one, with its fixtures. Which tests are slowest is told.
test-python: $(READY)
	$(BIN)/python -m pytest -n 4 --dist loadfile --durations 20 --durations-min 2

lint: lint-rust lint-python

# Runs beside what makes the extension (make --jobs): of the environment it needs the interpreter only.
lint-rust: | $(BIN)/maturin
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p fourcorners-real --lib --test elsewhere -- --cfg portable -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --workspace
	.ci/packages

lint-python: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/stubtest --ignore-disjoint-bases fourcorners._core
	$(BIN)/python -m tools.tidy

format: $(READY)
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What was read for the site, its notebook among it, is not read again for the manual page.
docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/read -b html docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/read -b man docs docs/_build/man

# Needs a network, which the tests do without: they check what can be checked offline.
linkcheck: $(READY)
	@$(BIN)/python -c "import urllib.request as u; u.urlopen('https://www.python.org', timeout=10)" \
		2>/dev/null || { echo "linkcheck: there is no network here, so that no address of another" \
		"site was tried; make docs checks all other links" >&2; exit 1; }
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

clean:
	cargo clean
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find fourcorners -name '*.so' -delete
