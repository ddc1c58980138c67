# make run     set up .venv and run UDIL on rotated MNIST; more options by ARGS="--seed 1"
# make test    set up the same and pass the linter, the type checker and the tests
# make docs    set up the same and build the site: docs/_build/html/index.html
# make pictures   make the pictures of README and tutorial anew, in about ten minutes
# make bench   measure how fast everything is, in about ten minutes; see docs/speed.md

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test docs pictures bench setup

run: $(READY)
	$(BIN)/python run_experiments.py --strategy UDIL --benchmark rotated_mnist $(ARGS)

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

pictures: $(READY)
	$(BIN)/python -m examples.pictures $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

setup: $(READY)

# Made last, so that an interrupted installation is repeated.
$(READY): setup.cfg setup.py pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(BIN)/pip install -c constraints.txt -e '.[dev,digits,docs]'
	touch $@
