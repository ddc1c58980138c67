"""Packages of somebody else's add a method and a benchmark, exactly as
docs/add_a_method.md and docs/add_a_benchmark.md show it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from udil_avalanche.recipes import METHODS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SMALL = ["domains=3", "train_per_domain=200", "epochs=1", "hidden=16"]
PAGES = ("add_a_method.md", "add_a_benchmark.md")


def write_files(page: Path, folder: Path) -> None:
    """Writes every file that the page shows below its name."""
    shown = re.findall(
        r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", page.read_text(), flags=re.M | re.S
    )
    assert len(shown) == 4
    for name, content in shown:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where the two packages of the pages were installed, and their sources."""
    target = tmp_path_factory.mktemp("installed")
    folders = {"target": target}
    for page in PAGES:
        folders[page] = tmp_path_factory.mktemp(page.partition(".")[0])
        write_files(DOCS / page, folders[page])
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        options = ["--no-index", "--no-build-isolation", f"--target={target}"]
        subprocess.run([*pip, *options, str(folders[page])], check=True)
    return folders


def start(installed: dict[str, Path], cwd: Path, *arguments: str) -> str:
    paths = [str(installed["target"]), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "udil_avalanche", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "names", "runs"),
    [
        ("add_a_method.md", ("L2", "hd_balls"), 4),
        ("add_a_benchmark.md", ("UDIL", "turning_moons"), 6),
    ],
)
def test_what_a_page_adds_can_be_run_swept_and_reported(
    page: str,
    names: tuple[str, str],
    runs: int,
    installed: dict[str, Path],
    tmp_path: Path,
) -> None:
    strategy, benchmark = names
    [own] = set(names) - {"hd_balls", "UDIL"}
    assert f"\n  {own} " in start(installed, tmp_path, "--list")
    pair = ["--strategy", strategy, "--benchmark", benchmark]
    shown = start(installed, tmp_path, *pair, *SMALL, "--output", "single")
    assert f"{strategy} on {benchmark}" in shown

    sweep = str(installed[page] / "sweep.yaml")
    swept = start(installed, tmp_path, "sweep", sweep, *SMALL)
    assert f"{runs} done" in swept
    title = "Turning moons" if benchmark == "turning_moons" else "HD-Balls"
    report = start(installed, tmp_path, "report", "runs")
    assert title in report
    [row] = [line for line in report.splitlines() if f"| {strategy} |" in line]
    assert "| 0-1 |" in row


def test_both_packages_work_together(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    pair = ["--strategy", "L2", "--benchmark", "turning_moons"]
    shown = start(installed, tmp_path, *pair, *SMALL)
    assert "L2 on turning_moons, memory 0, seed 0" in shown


def test_a_package_may_be_imported_first(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    code = (
        "import l2_method.recipe, udil_avalanche; print('L2' in udil_avalanche.METHODS)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": f"{installed['target']}{os.pathsep}{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_a_name_that_looks_like_one_of_ours_is_refused() -> None:
    stranger = replace(METHODS["ER"], name="e_r")
    with pytest.raises(ValueError, match="there is a e_r already"):
        METHODS._checked(stranger, METHODS)
    with pytest.raises(ValueError, match="use letters"):
        METHODS._checked(replace(stranger, name="a/b"), METHODS)


def test_a_package_that_cannot_be_loaded_is_named_and_left_out(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken-0.1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Name: broken\nVersion: 0.1\n")
    (broken / "entry_points.txt").write_text(
        "[udil_avalanche.methods]\nbroken = no_such_module:RECIPE\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "udil_avalanche", "--list"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "no_such_module" in done.stderr and "left out" in done.stderr
