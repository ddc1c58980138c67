# make run     set up .venv and run UDIL on rotated MNIST; more options by ARGS="--seed 1"
# make test    set up the same and pass the linter, the type checker and the tests
# make coverage   the tests, and which lines they do not reach; fails below the floor
# make docs    set up the same and build the site: docs/_build/html/index.html
# make pictures   make the pictures of README and tutorial anew, in about ten minutes
# make bench   measure how fast everything is, in about ten minutes; see docs/speed.md
# make release   build sdist and wheel and test both in a clean environment; no upload

# Two processes get whole files, in the order that tests/conftest.py gives them.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder
PYTHON ?= python3
BIN := .venv/bin
# Processes that the tests start need not compile the package each time.
export PYTHONDONTWRITEBYTECODE :=
READY := .venv/.ready

.PHONY: run test coverage docs pictures bench release setup

run: $(READY)
	$(BIN)/python run_experiments.py --strategy UDIL --benchmark rotated_mnist $(ARGS)

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest $(IN_TWO) $(ARGS)

coverage: $(READY)
	$(BIN)/pytest $(IN_TWO) --cov --cov-report=term --cov-report=html $(ARGS)

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

pictures: $(READY)
	$(BIN)/python -m examples.pictures $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

release: $(READY)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[release]'
	$(BIN)/python -m tools.release

setup: $(READY)

# Made last, so that an interrupted installation is repeated.
$(READY): setup.cfg setup.py pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --no-compile -c constraints.txt -e '.[dev,digits,docs]'
	# pip compiles on one core only. Some packages hold files that are no Python.
	-$(BIN)/python -m compileall -q -q -j 0 .venv/lib
	touch $@
