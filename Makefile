# make run    set up (a minute or two, once), then serve this directory (HTTP 7778, TCP 7777, unix socket)
# make test   set up, also what tests need (npm), then lint and the tests (about four minutes on two idle cores)
# make thorough  the tests that make test leaves out: most in a browser, and others that take long
# make screenshots  pictures of the pages for docs/, with Chromium
# make lint   ruff, mypy, import contract
# make web    builds the pages from web/ (needs Node); the package ships what it writes
# make bench  speed beside ripgrep on the Linux tree; writes docs/benchmarks.md
# make faults races, kills and extremes at full size
# make mutants defects put into the sources, and which of them no test notices
# make fuzz   differential tests at full size
# make coverage  which lines and branches the tests reach, in every process; fails below the floor
# make matrix the tests under each Python from 3.11 to 3.14 that is installed
# make lock   writes requirements-dev.lock: the newest versions that pyproject.toml allows
# make docs   writes docs/settings.md and docs/tools.md from the settings table and the registry
# make flows  records four calls in the running server; writes docs/flows.md
# make claude the real Claude Code, fetched from npm, on a scripted model; no key, nothing leaves loopback
# make flaky  hunts tests that fail now and then: hours; FLAKY="--suite-runs 1 --repeat 3" for a part

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.run-ready
READY := .venv/.ready
REWRITTEN := .venv/.rewritten
# How many test files are run at a time: with more than cores, one works while another waits.
WORKERS ?= 3

# Every program a test starts would compile the sources anew, and every run the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test thorough lint web screenshots bench faults fuzz docs flows flaky coverage matrix lock mutants conformance claude clean

run: $(INSTALLED)
	$(BIN)/flashgrep serve

# In the order of the files: those of the fewest tests, which would come last, take longest.
test: lint $(REWRITTEN)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not thorough"

thorough: $(REWRITTEN)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m thorough

# pytest rewrites the asserts of every test file once: all workers would at the same time, each for itself.
$(REWRITTEN): $(READY)
	$(BIN)/pytest --collect-only -q >/dev/null || true
	touch $(REWRITTEN)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Its workers must start within seconds: on a busy machine they do not, and one process has to do.
	$(BIN)/mypy --num-workers 2 || $(BIN)/mypy
	$(BIN)/lint-imports

web: web/node_modules/.package-lock.json
	npm run --silent --prefix web check
	npm run --silent --prefix web build

screenshots: $(READY) web
	$(BIN)/python -m tests.browser.screenshots

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --silent --prefix web

bench: $(READY)
	$(BIN)/python -m bench --write

faults: $(READY)
	FLASHGREP_HEAVY=1 $(BIN)/pytest tests/faults tests/workspace/test_replacing_kills.py tests/transports/test_noise.py tests/notes/test_kills.py -s --timeout 7200 -o faulthandler_timeout=0

fuzz: $(READY)
	FLASHGREP_HEAVY=1 $(BIN)/pytest tests/search tests/index tests/workspace tests/tools tests/transports tests/notes tests/web tests/browser tests/bench tests/e2e/test_hostile_paths.py -n 2 --timeout 7200 -o faulthandler_timeout=0

# MUTANTS="--seed 7 --count 30 -j 2" draws those of a seed again, or goes on with them;
# MUTANTS=--near asks only the tests near each defect.
mutants: $(READY)
	$(BIN)/python -m bench.mutants $(MUTANTS)

# A test has longer than usual: measuring slows it down. COVERAGE=tests/notes measures a part.
coverage: $(READY)
	rm -rf .coverage && mkdir .coverage
	@status=0; \
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --timeout 600 $(COVERAGE) || status=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report || status=$$?; exit $$status

# MATRIX=tests/notes runs a part.
matrix: $(READY)
	WORKERS=$(WORKERS) $(BIN)/python -m bench.matrix $(MATRIX)

# In an environment of its own, so that nothing old is kept. No hashes: pip knows only those of the
# files for one platform and one Python, and the lock is for all.
lock:
	rm -rf .bench/lock
	$(PYTHON) -m venv .bench/lock
	.bench/lock/bin/pip install --quiet --upgrade "pip>=25.1"
	.bench/lock/bin/pip install --quiet --editable . --group dev
	echo "# Written by make lock: the development environment, exactly. Used as constraints." > requirements-dev.lock
	.bench/lock/bin/pip freeze --exclude-editable >> requirements-dev.lock
	rm -rf .bench/lock

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

# The package alone: to use it needs neither the tools of development nor npm.
$(INSTALLED): pyproject.toml requirements-dev.lock
	@echo "Setting up .venv: this takes a minute or two, once."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --editable . --constraint requirements-dev.lock
	touch $(INSTALLED)

$(READY): $(INSTALLED) tests/notes/peers/package-lock.json web/package-lock.json
	@echo "Installing what development needs."
	$(BIN)/pip install --quiet --editable . --group dev --constraint requirements-dev.lock
	@timeout 60 npm ci --silent --fetch-retries 1 --fetch-timeout 15000 --prefix tests/notes/peers || \
	echo "npm could not fetch the Yjs peers: tests with them are skipped, and say so"
	@timeout 120 npm ci --silent --fetch-retries 1 --fetch-timeout 15000 --prefix web || \
	echo "npm could not fetch what the pages are built with: tests in a browser may be skipped, and say so"
	touch $(READY)

clean:
	rm -rf .venv .bench .flaky .coverage .matrix .mypy_cache .ruff_cache .pytest_cache .hypothesis
