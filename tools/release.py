"""Builds the source distribution and the wheel, and tests them in a clean environment.

``make release`` runs it. What is built is what was committed last. The wheel is
installed with all that it depends on, without extras, as somebody without a checkout
would do it, and tried by its command and by the README's first example. Then the source
distribution takes its place and is tested by some of the tests that it carries. Nothing
is uploaded.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

from rich.console import Console

from udil_avalanche import __version__

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
RUN = "--strategy UDIL --benchmark hd_balls --domains 2 --train-per-domain 200"
TESTS = (
    "theory",
    "losses",
    "memory",
    "recipes/test_settings.py",
    "cli/test_commands.py",
)
TOOLS = ("hypothesis", "psutil", "pytest", "pytest-xdist")

console = Console(highlight=False)


def call(*command: object, cwd: Path) -> None:
    """Run a command that must not see the checkout, or stop with its exit code."""
    variables = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=variables)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def build(scratch: Path) -> tuple[Path, Path]:
    """Build both from the last commit, into ``dist``."""
    console.rule(f"Building version {__version__}")
    git = ["git", "-C", str(ROOT)]
    changed = subprocess.check_output([*git, "status", "--porcelain"], text=True)
    if changed:
        console.print(f"Left out, since it is not committed:\n{changed}")
    packed = subprocess.check_output([*git, "archive", "HEAD"])
    source = scratch / "source"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(source, filter="data")
    shutil.rmtree(DIST, ignore_errors=True)
    call(sys.executable, "-m", "build", "--outdir", DIST, source, cwd=scratch)
    [sdist], [wheel] = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    call(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, cwd=scratch)
    return sdist, wheel


def environment(folder: Path) -> Path:
    """Make an environment that knows nothing of the checkout; returns where its
    commands are."""
    venv.create(folder, with_pip=True)
    return folder / "bin"


def install(commands: Path, *requirements: object) -> None:
    """Install files, with the versions of the tests for what they depend on."""
    pip = [commands / "python", "-m", "pip", "install", "--quiet"]
    call(*pip, "--constraint", CONSTRAINTS, *requirements, cwd=commands)


def try_wheel(wheel: Path, commands: Path, place: Path) -> None:
    """The command learns and reports, and the README's first example runs."""
    console.rule("Installing the wheel")
    install(commands, wheel)
    console.rule("Trying the wheel")
    call(commands / "udil-run", "--version", cwd=place)
    call(commands / "udil-run", *RUN.split(), "--epochs", "1", cwd=place)
    call(commands / "udil-run", "report", "runs", cwd=place)
    [example, *_] = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    call(commands / "python", "-c", example, cwd=place)


def try_sdist(sdist: Path, commands: Path, place: Path) -> None:
    """The tests that it carries pass on the package that is installed from it."""
    console.rule("Installing the source distribution in the wheel's place")
    install(commands, "--force-reinstall", "--no-deps", sdist)
    install(commands, *TOOLS)
    console.rule("Testing the source distribution")
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    [unpacked] = place.glob("udil_avalanche-*")
    shutil.rmtree(unpacked / "udil_avalanche")  # so that the installed one is imported
    call(commands / "pytest", *(f"tests/{each}" for each in TESTS), cwd=unpacked)


def main() -> None:
    """Build and test a release."""
    with tempfile.TemporaryDirectory(prefix="release") as folder:
        scratch = Path(folder)
        sdist, wheel = build(scratch)
        commands = environment(scratch / "environment")
        elsewhere = scratch / "elsewhere"
        elsewhere.mkdir()
        try_wheel(wheel, commands, elsewhere)
        try_sdist(sdist, commands, elsewhere)
    console.rule("Done")
    for file in (sdist, wheel):
        console.print(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")
    console.print("Both passed. Nothing was uploaded.")


if __name__ == "__main__":
    main()


__all__ = ["main"]
