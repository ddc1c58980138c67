"""Builds the source distribution and the wheel, and tests each in a clean environment.

``make release`` runs it. What is built is what was committed last. Each of the two is
installed with all its dependencies, as somebody without a checkout would do it:
the wheel without extras, and tried by its command and by the README's first example;
the source distribution with what the tests need, and tested by some of them. Nothing is
uploaded.
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
    "recipes/test_resolve.py",
    "cli/test_commands.py",
)

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


def environment(folder: Path, requirement: str) -> Path:
    """Install a file in an environment of its own; returns where its commands are."""
    console.rule(f"Installing {Path(requirement).name}")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS]
    call(*pip, requirement, cwd=folder)
    return folder / "bin"


def try_wheel(wheel: Path, scratch: Path) -> None:
    """The command learns and reports, and the README's first example runs."""
    commands = environment(scratch / "wheel", str(wheel))
    console.rule("Trying the wheel")
    place = scratch / "elsewhere"
    place.mkdir()
    call(commands / "udil-run", "--version", cwd=place)
    call(commands / "udil-run", *RUN.split(), "--epochs", "1", cwd=place)
    call(commands / "udil-run", "report", "runs", cwd=place)
    [example, *_] = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    call(commands / "python", "-c", example, cwd=place)


def try_sdist(sdist: Path, scratch: Path) -> None:
    """The tests that it carries pass on the package that was installed from it."""
    commands = environment(scratch / "sdist", f"{sdist}[dev,digits]")
    console.rule("Testing the source distribution")
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch / "unpacked", filter="data")
    [unpacked] = (scratch / "unpacked").iterdir()
    shutil.rmtree(unpacked / "udil_avalanche")  # so that the installed one is imported
    call(commands / "pytest", *(f"tests/{each}" for each in TESTS), cwd=unpacked)


def main() -> None:
    """Build and test a release."""
    with tempfile.TemporaryDirectory(prefix="release") as folder:
        scratch = Path(folder)
        sdist, wheel = build(scratch)
        try_wheel(wheel, scratch)
        try_sdist(sdist, scratch)
    console.rule("Done")
    for file in (sdist, wheel):
        console.print(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")
    console.print("Both passed. Nothing was uploaded.")


if __name__ == "__main__":
    main()


__all__ = ["main"]
