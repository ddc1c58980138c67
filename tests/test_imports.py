"""Dependencies point one way: from room to room, and from module to module."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "udil_avalanche"
LEVELS = [
    {"errors", "files", "formatting"},
    {"theory"},
    {"losses"},
    {"models", "memory", "data"},
    {"benchmarks", "plugins"},
    {"strategies", "evaluation"},
    {"recipes"},
    {"runs"},
    {"learner", "sweep", "report"},
    {"cli"},
    {"__main__", "__init__"},
]
"""A room imports from itself and from rooms of the levels above it in this list."""

LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return [*module.split("."), "__init__"][1]


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of ours that are imported anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "relative imports hide the room"
            if node.module.split(".")[0] == PACKAGE.name:
                names = [f"{node.module}.{each.name}" for each in node.names]
                known = {name_of(file) for file in MODULES}
                yield from (n if n in known else node.module for n in names)
        elif isinstance(node, ast.Import):
            yield from (
                each.name
                for each in node.names
                if each.name.split(".")[0] == PACKAGE.name
            )


def at_import(tree: ast.Module) -> ast.Module:
    """The part of a module that runs when it is imported: no functions, and nothing
    for the type checker alone."""

    class Outside(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.If | None:
            name = getattr(node.test, "id", None)
            return None if name == "TYPE_CHECKING" else node

    return Outside().visit(tree)  # type: ignore[no-any-return]


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_room_imports_from_one_above(file: Path) -> None:
    module = name_of(file)
    for other in imported(ast.parse(file.read_text())):
        room, used = room_of(module), room_of(other)
        if other == PACKAGE.name:
            assert "from udil_avalanche import __version__" in file.read_text()
            continue
        assert room == used or LEVEL[used] < LEVEL[room], f"{module} imports {other}"


def test_no_module_imports_itself_around_a_corner() -> None:
    graph = {
        name_of(file): set(imported(at_import(ast.parse(file.read_text()))))
        - {PACKAGE.name, name_of(file)}
        for file in MODULES
    }
    list(TopologicalSorter(graph).static_order())


def test_theory_and_losses_know_nothing_but_torch() -> None:
    allowed = {*sys.stdlib_module_names, "torch", PACKAGE.name}
    for room in ("theory", "losses"):
        for file in (PACKAGE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names = [each.name for each in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [str(node.module)]
                else:
                    continue
                assert {name.split(".")[0] for name in names} <= allowed, file


def test_the_root_is_nearly_empty() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 5


@pytest.mark.parametrize(
    "module", ["", ".recipes", ".recipes.resolve", ".cli.main", ".sweep.grid"]
)
def test_light_rooms_load_no_torch(module: str) -> None:
    code = f"import udil_avalanche{module}, sys; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
