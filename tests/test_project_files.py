"""The files that people join by: they can be read, and what they name is there."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import LONG
from udil_avalanche import __version__

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[bf]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.citation-file-format": "CITATION.cff",
}
GUIDES = [ROOT / "CONTRIBUTING.md", ROOT / ".github" / "pull_request_template.md"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M))


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def commands(workflow: Path) -> list[str]:
    jobs = read(workflow)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def setup() -> ConfigParser:
    found = ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_may_only_read_and_ends(file: Path) -> None:
    workflow = read(file)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        assert "permissions" not in job, name
        [checkout] = [s for s in job["steps"] if "checkout" in s.get("uses", "")]
        assert checkout["with"] == {"persist-credentials": False}, name


@pytest.mark.parametrize("file", [*WORKFLOWS, *GUIDES], ids=lambda file: file.name)
def test_make_has_every_target_that_is_named(file: Path) -> None:
    text = "\n".join(commands(file)) if file in WORKFLOWS else file.read_text()
    named = set(re.findall(r"(?:^|`)make\s+([a-z]+)", text, flags=re.M))
    assert named
    assert named <= TARGETS, named - TARGETS


def test_the_workflows_do_what_they_are_for() -> None:
    everything = [command for file in WORKFLOWS for command in commands(file)]
    for target in ("test", "coverage", "release", "docs"):
        assert f"make {target} PYTHON=python" in everything
    matrix = read(ROOT / ".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]
    assert matrix["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest"],
        "python": ["3.11", "3.12", "3.13", "3.14"],
    }


@pytest.mark.parametrize("file", [*WORKFLOWS, ROOT / "CONTRIBUTING.md"])
def test_every_extra_that_is_installed_exists(file: Path) -> None:
    extras = set(setup()["options.extras_require"])
    for named in re.findall(r"'\.\[([\w,]+)\]'", file.read_text()):
        assert set(named.split(",")) <= extras


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_is_as_its_reader_wants_it(name: str) -> None:
    files = sorted(ROOT.glob(SCHEMAS[name]))
    assert files
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", name]
    done = subprocess.run([*check, *map(str, files)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_file_that_is_named_as_long_is_there() -> None:
    assert all((ROOT / "tests" / file).is_file() for file in LONG)


def test_hooks_run_the_checks_of_make_test() -> None:
    config = read(ROOT / ".pre-commit-config.yaml")
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    rules = re.search(r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert rules
    checks = re.findall(r"\$\(BIN\)/((?!pytest)\S.*)\n", rules[1])
    assert [hook["name"] for hook in hooks] == checks
    for hook in hooks:
        assert hook["entry"].startswith(f".venv/bin/{hook['name']}")


def test_the_citation_has_the_version_of_the_package_and_the_paper() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == setup()["metadata"]["license"]
    [paper] = citation["references"]
    assert "Domain Incremental Learning with Memory" in paper["title"]


def test_there_is_one_source_of_the_version() -> None:
    assert setup()["metadata"]["version"] == "attr: udil_avalanche.__version__"
    assert f"\n## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_every_link_of_a_guide_leads_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text())
    assert targets
    assert all((ROOT / target).exists() for target in targets), targets
