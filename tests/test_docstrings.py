"""Every public name says what it is for and what its parameters mean, and shows an
example or leads on."""

import ast
import inspect
import re
import textwrap
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import udil_avalanche

PACKAGE = Path(udil_avalanche.__file__).parent
NAMES = udil_avalanche.__all__
LINK = re.compile(r":(class|func|meth|mod|doc):`|https?://")


def text_below(name: str) -> str:
    """The text below the assignment of a name that is neither class nor function."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    [module] = [
        node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and name in [n.name for n in node.names]
    ]
    assert module is not None
    file = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    body = ast.parse(file.read_text()).body
    [text] = [
        ast.literal_eval(after.value)
        for before, after in pairwise(body)
        if isinstance(before, ast.Assign)
        and ast.unparse(before.targets[0]) == name
        and isinstance(after, ast.Expr)
    ]
    return str(text)


def docstring(name: str) -> str:
    value = getattr(udil_avalanche, name)
    # Not inspect.getdoc: what is inherited speaks of something else.
    text = value.__doc__ if callable(value) else text_below(name)
    assert text, f"{name} has no docstring"
    return inspect.cleandoc(text)


def own_parameters(value: Any) -> list[str]:
    """The parameters of a function or of our own ``__init__``."""
    if not inspect.isclass(value):
        return [*inspect.signature(value).parameters] if callable(value) else []
    if issubclass(value, Enum | BaseModel) or getattr(value, "_is_protocol", False):
        return []
    makers = [each for each in value.__mro__ if "__init__" in vars(each)]
    if not makers[0].__module__.startswith("udil_avalanche"):
        return []
    return [*inspect.signature(value).parameters]


def examples(text: str) -> list[str]:
    """The blocks that follow on ``::``."""
    blocks = re.findall(r"::\n\n((?: {4,}.*\n|\n)+)", text + "\n")
    return [textwrap.dedent(block) for block in blocks]


@pytest.mark.parametrize("name", NAMES)
def test_all_parameters_are_described(name: str) -> None:
    text = docstring(name)
    for parameter in own_parameters(getattr(udil_avalanche, name)):
        assert re.search(rf":param {parameter}: \S", text), parameter


@pytest.mark.parametrize("name", ["RunSettings", "NoMemorySettings"])
def test_all_settings_are_described(name: str) -> None:
    fields = getattr(udil_avalanche, name).model_fields
    assert fields and all(field.description for field in fields.values())


@pytest.mark.parametrize("name", NAMES)
def test_there_is_an_example_or_a_link(name: str) -> None:
    text = docstring(name)
    assert examples(text) or LINK.search(text)


def test_examples_are_code() -> None:
    blocks = [(name, block) for name in NAMES for block in examples(docstring(name))]
    assert len(blocks) > 25
    for name, block in blocks:
        compile(block, name, "exec")
