# make run    set up, then serve this directory (HTTP 7778, TCP 7777, unix socket)
# make test   set up, then lint and every test (under 5 minutes)
# make lint   ruff, mypy, import contract
# make bench  speed beside ripgrep on the Linux tree; writes docs/benchmarks.md
# make faults races, kills and extremes at full size
# make mutants defects put into the sources, and which of them no test notices
# make fuzz   differential tests at full size
# make docs   writes docs/settings.md and docs/tools.md from the settings table and the registry
# make flows  records four calls in the running server; writes docs/flows.md
# make claude the real Claude Code, fetched from npm, on a scripted model; no key, nothing leaves loopback
# make flaky  hunts tests that fail now and then: hours; FLAKY="--suite-runs 0 --repeat 3" for a part

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# How many test files are run at a time: with more than cores, one works while another waits.
WORKERS ?= 2

# Every program a test starts would compile the sources anew, and every run the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test lint bench faults fuzz docs flows flaky mutants conformance claude clean

run: $(READY)
	$(BIN)/flashgrep serve

# In the order of the files: those of the fewest tests, which would come last, take longest.
test: lint
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Its workers must start within seconds: on a busy machine they do not, and one process has to do.
	$(BIN)/mypy --num-workers 2 || $(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m bench --write

faults: $(READY)
	FLASHGREP_HEAVY=1 $(BIN)/pytest tests/faults tests/workspace/test_replacing_kills.py tests/transports/test_noise.py tests/kb/test_kills.py -s --timeout 7200 -o faulthandler_timeout=0

fuzz: $(READY)
	FLASHGREP_HEAVY=1 $(BIN)/pytest tests/search tests/index tests/workspace tests/tools tests/kb tests/web -n 2 --timeout 7200 -o faulthandler_timeout=0

# MUTANTS="--seed 7 --count 30 -j 2" draws those of a seed again, or goes on with them;
# MUTANTS=--near asks only the tests near each defect.
mutants: $(READY)
	$(BIN)/python -m bench.mutants $(MUTANTS)

docs: $(READY)
	$(BIN)/python -m bench.reference

flows: $(READY)
	$(BIN)/python -m bench.flows

flaky: $(READY)
	$(BIN)/python -m tests.flaky --workers $(WORKERS) $(FLAKY)

conformance: $(READY)
	$(BIN)/python -m bench.conformance

CLAUDE_VERSION ?= 2.1.197
claude: $(READY)
	npm install --silent --prefix .bench/claude @anthropic-ai/claude-code@$(CLAUDE_VERSION)
	CLAUDE_CODE=$(CURDIR)/.bench/claude/node_modules/.bin/claude $(BIN)/pytest tests/e2e/test_claude_code.py -s

$(READY): pyproject.toml tests/kb/peers/package-lock.json
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --editable . --group dev
	@timeout 60 npm ci --silent --fetch-retries 1 --fetch-timeout 15000 --prefix tests/kb/peers || \
	echo "npm could not fetch the Yjs peers: tests with them are skipped, and say so"
	touch $(READY)

clean:
	rm -rf .venv .bench .flaky .mypy_cache .ruff_cache .pytest_cache .hypothesis
