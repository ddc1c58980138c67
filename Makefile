# make run     set up .venv and run UDIL on rotated MNIST; more options by ARGS="--seed 1"
# make test    set up the same and pass the linter, the type checker and the tests
# make bench   measure how fast everything is, in about ten minutes; see docs/speed.md

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test bench setup

run: $(READY)
	$(BIN)/python run_experiments.py --strategy UDIL --benchmark rotated_mnist $(ARGS)

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

setup: $(READY)

# Made last, so that an interrupted installation is repeated.
$(READY): setup.cfg setup.py pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(BIN)/pip install -c constraints.txt -e '.[dev,digits]'
	touch $@
