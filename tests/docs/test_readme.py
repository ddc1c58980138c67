"""The README's examples run unchanged."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda code: code.splitlines()[0])
def test_example(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, str(README), "exec"), names)
    if "learner" in names:
        assert (tmp_path / "model" / "current").read_text() == "2\n"
        assert "a new domain: update" in capsys.readouterr().out
    else:
        strategy = names["strategy"]
        assert strategy.clock.train_exp_counter == 3  # type: ignore[attr-defined]


def test_there_are_examples_of_learning_composition_and_logging() -> None:
    assert len(EXAMPLES) == 3
