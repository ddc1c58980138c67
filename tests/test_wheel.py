"""The wheel, installed in its own environment, runs and finds its configs."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from udil_avalanche import __version__

ROOT = Path(__file__).parents[1]
SOURCES = ("udil_avalanche", "configs", "setup.py", "setup.cfg", "pyproject.toml")


def call(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        env={key: os.environ[key] for key in os.environ if key != "PYTHONPATH"},
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it. The other packages are those of the tests:
    installing them again would take minutes."""
    scratch = tmp_path_factory.mktemp("wheel")
    for name in (*SOURCES, "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, scratch / "source" / name, ignore=skipped)
        else:
            shutil.copy(source, scratch / "source" / name)
    pip = [sys.executable, "-m", "pip"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", scratch]
    call(*pip, *wheel, scratch / "source")
    [file] = scratch.glob("*.whl")

    folder = scratch / "environment"
    venv.create(folder)
    python = folder / "bin" / "python"
    call(*pip, "--python", python, "install", "--no-deps", "--no-index", file)
    [packages] = folder.glob("lib/python*/site-packages")
    dependencies = sysconfig.get_paths()["purelib"]
    (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    return folder


def test_the_installed_command_learns_by_its_configs(
    environment: Path, tmp_path: Path
) -> None:
    shown = call(
        environment / "bin" / "udil-run",
        *("--strategy", "GEM", "--benchmark", "hd_balls", "--domains", "2"),
        *("--train-per-domain", "200", "--epochs", "1", "hidden=16"),
        cwd=tmp_path,
    )
    assert "GEM on hd_balls, memory 400, seed 0" in shown
    [file] = tmp_path.rglob("settings.yaml")
    written = yaml.safe_load(file.read_text())
    config = yaml.safe_load((ROOT / "configs" / "hd_balls" / "gem.yaml").read_text())
    assert written["lr"] == config["lr"]


def test_every_config_is_installed(environment: Path) -> None:
    [installed] = environment.glob("lib/python*/site-packages/udil_avalanche/configs")
    found, written = (
        {file.relative_to(folder) for file in folder.rglob("*.yaml")}
        for folder in (installed, ROOT / "configs")
    )
    assert found == written
    assert Path("tuned/hd_balls/udil.yaml") in found


def test_it_is_the_installed_package_that_answers(
    environment: Path, tmp_path: Path
) -> None:
    python = environment / "bin" / "python"
    file = call(
        python, "-c", "import udil_avalanche as u; print(u.__file__)", cwd=tmp_path
    )
    assert Path(file.strip()).is_relative_to(environment)
    assert (
        call(python, "-m", "udil_avalanche", "--version", cwd=tmp_path).strip()
        == __version__
    )
    report = call(environment / "bin" / "udil-run", "report", ROOT / "results")
    assert "HD-Balls, 400 samples in memory" in report
