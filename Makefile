# Everything a checkout can do. Needs make and Python 3.11 or newer; uv is used if there.

PYTHON ?= python3
PG_CONFIG ?= pg_config
VENV := .venv
BIN := $(VENV)/bin
PG := 15 16 17 18
SQL := $(shell find sql -name '*.sql' -o -name rota.control)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)

.PHONY: demo
demo: $(VENV)/.demo ## See it work on real files (DEMO_DIR=folder, KEEP=1, DATABASE_URL=dsn)
	@$(BIN)/python -m rota.demo

.PHONY: test
test: $(VENV)/.dev ## Run all tests (ARGS=… for pytest, ROTA_TEST_DSN=dsn for another server)
	$(BIN)/pytest $(ARGS)

.PHONY: test-failover
test-failover: $(VENV)/.dev ## Kill a primary under load; its standby takes over
	$(BIN)/pytest tests/failover $(ARGS)

.PHONY: test-faults
test-faults: $(VENV)/.dev ## Break runners, connections and servers (ARGS='--times 20 --seed 1')
	$(BIN)/pytest tests/faults -rs -n 2 --dist worksteal $(ARGS)

.PHONY: test-matrix
test-matrix: $(VENV)/.dev ## Run all tests on several servers, no docker (PG="15 16 17 18", ARGS)
	@$(BIN)/python tools/matrix.py "$(PG)" $(ARGS)

.PHONY: lint
lint: $(VENV)/.dev ## Check the style of SQL and Python
	$(BIN)/sqlfluff lint --disable-progress-bar sql
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: check-sql
check-sql: $(VENV)/.dev ## Check the bodies of PL/pgSQL functions with plpgsql_check
	@$(BIN)/python tools/check_sql.py

.PHONY: coverage
coverage: $(VENV)/.dev ## See which statements and branches of PL/pgSQL no test executes
	@$(BIN)/python tools/sql_coverage.py $(ARGS)

.PHONY: mutants
mutants: $(VENV)/.dev ## Break rota in many places, see that a test notices (ARGS='--sample 8')
	@$(BIN)/python tests/mutants.py $(ARGS)

.PHONY: soak
soak: $(VENV)/.dev ## Work for half an hour and see that nothing creeps up (MINUTES=30)
	@PYTHONPATH=tests $(BIN)/python -m soak --minutes $(or $(MINUTES),30) $(ARGS)

.PHONY: bench
bench: $(VENV)/.demo ## Measure speed beside the raw limit (ARGS=--full, BENCH_DSN=dsn)
	@$(BIN)/python -m bench $(ARGS)

.PHONY: performance
performance: $(VENV)/.demo ## Write docs/performance.md from what was measured last
	@$(BIN)/python -m bench.report

.PHONY: build
build: build/rota.control ## Write the scripts for psql and of the extension to build/

build/rota.control: $(SQL) runner/rota/scripts.py $(VENV)/.demo
	$(BIN)/rota sql --into $(@D)

.PHONY: install
install: build ## Put the extension into a server's folder (PG_CONFIG=program, DESTDIR=)
	@folder="$(DESTDIR)$$($(PG_CONFIG) --sharedir)/extension" && mkdir -p "$$folder" && \
	install -m 644 build/rota.control build/rota--*.sql "$$folder" && \
	echo "installed in $$folder: create extension rota"

.PHONY: release-check
release-check: $(VENV)/.dev ## See whether a release can be made of this checkout
	@$(BIN)/python tools/release_check.py

.PHONY: reference
reference: $(VENV)/.dev ## Write docs/reference.md from the comments in the SQL
	@$(BIN)/python tools/reference.py docs/reference.md

.PHONY: clean
clean: ## Remove everything that is generated
	rm -rf $(VENV) build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment with one extra of pyproject.toml installed, the package itself
# in place, so that edits are live.
$(VENV)/.demo $(VENV)/.dev: $(VENV)/.%: pyproject.toml
	@echo "setting up $(VENV) for $*"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if command -v uv >/dev/null; then \
		UV_PYTHON_DOWNLOADS=never uv pip install --quiet --python $(BIN)/python -e '.[$*]'; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'; \
	fi
	@touch $@
