"""The commands for images of one's own, as the pages have them, run on a few."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.models.backbones.lite_networks import PACKAGES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "own_data.md",
    ROOT / "docs" / "backbones.md",
]
SCRIPTS = ("python run_experiments.py ", "udil-run ")


def commands(page: Path) -> list[str]:
    """The commands for frozen features that need no download, and what follows on
    them."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [
        line
        for block in blocks
        if "frozen=true" in block or "udil-run embed" in block
        for line in block.replace("\\\n", "").split("\n")
        if line.startswith(SCRIPTS) and "pretrained=true" not in line
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_run_on_a_few_images(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_tree: Callable[..., Path],
) -> None:
    pytest.importorskip(PACKAGES[1])
    monkeypatch.chdir(tmp_path)
    few = {"cat": 3, "dog": 3}
    write_tree(tmp_path / "photos", {"2021": few, "2022": few})
    done = []
    for line in commands(page):
        script = next(each for each in SCRIPTS if line.startswith(each))
        words = shlex.split(line.removeprefix(script), comments=True)
        # The size of what is solved, 4,000 x 4,000, is all that is made smaller.
        small = ["random_features=50"] if "Ridge" in words else []
        done.append(main([*words, *small]))
    assert done and not any(done)


def test_the_example_in_python_runs() -> None:
    pytest.importorskip(PACKAGES[1])
    text = (ROOT / "docs" / "backbones.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "backbones.md", "exec"), names)
    assert names["logits"].shape == (4, 2)  # type: ignore[attr-defined]
