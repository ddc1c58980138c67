"""The examples of README, start and plugins run unchanged."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/start.md", "docs/plugins.md"]
EXAMPLES = {
    page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for page in PAGES
}
DIFFERENT = list(dict.fromkeys(code for codes in EXAMPLES.values() for code in codes))


@pytest.mark.parametrize("example", DIFFERENT, ids=lambda code: code.splitlines()[0])
def test_example(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "example", "exec"), names)
    if "learner" in names:
        assert (tmp_path / "numbers" / "current").read_text() == "2\n"
        assert "a new domain: update" in capsys.readouterr().out
    else:
        strategy = names["strategy"]
        assert strategy.clock.train_exp_counter == 3  # type: ignore[attr-defined]


def test_there_are_examples_of_learning_composition_and_logging() -> None:
    assert {page: len(codes) for page, codes in EXAMPLES.items()} == {
        "README.md": 2,
        "docs/start.md": 1,
        "docs/plugins.md": 2,
    }
    assert len(DIFFERENT) == 3
