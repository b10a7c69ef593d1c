# make setup | setup-all | demo | test | test-with | test-tail | test-all | seconds | lint | check | bench | golden | conformance
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
MARK := $(VENV)/.installed
# half more processes than processors: many tests wait for a process, a clock or a disk
PARALLEL ?= -n $(shell $(PYTHON) -c 'import os; n = os.cpu_count(); print(n + (n + 1) // 2)') --dist loadgroup

# what is compiled once is kept, where the environment says otherwise too
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup setup-all demo test test-with test-tail test-all seconds lint check bench golden conformance docs clean

setup: $(MARK)

# torch first and by itself: the CPU build; the project then finds its requirement met
$(MARK): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install -q --disable-pip-version-check 'pip>=25.1'  # knows the groups of pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e . --group test --group lint
	$(BIN)/python -m compileall -q kshell
	touch $(MARK)

# what the tests of notebooks and of other programs' tables, files and clients need; they are skipped without it
setup-all: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check --group notebook --group interop --group bench --group programs
	$(BIN)/python -m pip install -q --disable-pip-version-check --group trainers || \
		echo 'transformers, accelerate and lightning are not installed, and their tests are skipped'
	if command -v npm >/dev/null; then mkdir -p $(VENV)/node && cp tests/ipc/node/package.json $(VENV)/node && \
		npm install --prefix $(VENV)/node --silent --no-audit --no-fund --no-package-lock; fi
	$(PYTHON) -m venv --without-pip $(VENV)/qpython && \
		$(BIN)/python -m pip --python $(VENV)/qpython/bin/python install -q --disable-pip-version-check \
		--only-binary numpy,pandas --group qpython || echo 'qPython is not installed, and its tests are skipped'

demo: setup
	$(BIN)/kshell examples/digits.q

test: setup
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow and not extra'

# the same tests with another torch, and the Python of PYTHON, in an environment of their own, which stays; WITH, their own
# arguments: make test-with TORCH=2.8.0 PYTHON=python3.12 WITH='tests/kapi -x'
TORCH ?= 2.8.0
OTHER = .venv-torch$(TORCH)-$(notdir $(PYTHON))
test-with:
	test -x $(OTHER)/bin/python || $(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install -q --disable-pip-version-check torch==$(TORCH)
	$(OTHER)/bin/python -m pip install -q --disable-pip-version-check 'pip>=25.1'
	$(OTHER)/bin/python -m pip install -q --disable-pip-version-check -e . --group test
	$(OTHER)/bin/python -m pytest $(PARALLEL) -m 'not slow and not extra' $(WITH)

# what `make test` with the same KSHELL_SAMPLE leaves out or skips; of the slow tests one in KSHELL_SLOW
test-tail: setup-all
	$(BIN)/python -m pytest $(PARALLEL) -m 'slow or extra'

test-all: setup-all
	$(BIN)/python -m pytest $(PARALLEL)

# which tests take long, measured again, on a machine that does nothing else: tests/seconds.txt
seconds: setup-all
	$(BIN)/python -m tests.support.seconds

lint: setup
	$(BIN)/ruff check kshell tests
	$(BIN)/ruff format --check -q kshell
	$(BIN)/mypy

check: lint test

bench: setup
	$(BIN)/python -m compileall -q kshell
	$(BIN)/python -m tests.bench

docs: setup
	$(BIN)/python docs/build.py

golden: setup
	$(BIN)/python -m tests.golden

conformance: setup
	test -d $(SHARED)/conformance
	$(BIN)/python $(SHARED)/conformance/runner.py $(SHARED)/conformance/given.jsonl --cmd '$(CURDIR)/$(BIN)/kshell -q' \
		--jobs 2 --out results.json $(ARGS)

clean:
	rm -rf $(VENV) .venv-torch* .mypy_cache .ruff_cache .pytest_cache .hypothesis
