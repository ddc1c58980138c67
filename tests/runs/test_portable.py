"""The package can be loaded where the modules of Unix are missing, as on Windows."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import udil_avalanche

ROOT = Path(udil_avalanche.__file__).parents[1]
LOAD_WITHOUT_UNIX = """
import importlib
import sys

import avalanche  # Its own dependencies take what each system has.

sys.modules.update(dict.fromkeys(["resource", "fcntl"]))
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


def modules_of(*rooms: str) -> list[str]:
    names = []
    for room in rooms:
        path = str(ROOT / "udil_avalanche" / room)
        prefix = f"udil_avalanche.{room}."
        names += [each.name for each in pkgutil.walk_packages([path], prefix)]
    # The server that workers are forked from, which Windows does not have.
    return [name for name in names if name != "udil_avalanche.sweep.preloaded"]


def test_modules_of_unix_are_not_needed() -> None:
    modules = modules_of("cli", "runs", "sweep")
    assert len(modules) > 20
    done = subprocess.run(
        [sys.executable, "-c", LOAD_WITHOUT_UNIX, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
