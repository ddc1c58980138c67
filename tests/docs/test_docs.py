"""The pages on the methods are accurate, and their examples run unchanged."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from avalanche.training.supervised import Naive

from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.runs.state.strategy_state import load_strategy_state, strategy_state

DOCS = Path(__file__).parents[2] / "docs"
BASELINES = [strategy for strategy in METHODS if strategy != "UDIL"]
PAGES = {
    strategy: DOCS / "methods" / f"{strategy.lower()}.md" for strategy in BASELINES
}


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


class TermNames(SupervisedPlugin):
    """Notes the names of all terms that plugins have during training."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        for plugin in strategy.plugins:
            self.seen |= getattr(plugin, "terms", {}).keys()


def run_example(page: Path, make_model: Any, scenario: Any) -> tuple[Any, set[str]]:
    """Runs the page's example and trains, unless it has trained itself."""
    [code] = examples(page)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    names = {"model": model, "optimizer": optimizer, "benchmark": scenario}
    exec(compile(code, str(page), "exec"), names)
    strategy: Any = names["strategy"]
    terms = TermNames()
    strategy.plugins.append(terms)
    if strategy.clock.train_exp_counter == 0:
        strategy.train(scenario.train_stream)
    return strategy, terms.seen


@pytest.mark.parametrize("strategy", BASELINES)
def test_a_page_names_its_command_and_every_setting(strategy: str) -> None:
    text = PAGES[strategy].read_text()
    assert f"python run_experiments.py --strategy {strategy} --benchmark" in text
    for name in METHODS[strategy].settings.model_fields:
        assert name in RunSettings.model_fields or f"`{name}`" in text, name


@pytest.mark.parametrize("strategy", BASELINES)
def test_the_example_runs_and_the_page_names_all_that_is_logged(
    strategy: str, make_model: Any, make_scenario: Any
) -> None:
    scenario = make_scenario(domains=3, size=300)
    _, logged = run_example(PAGES[strategy], make_model, scenario)
    described = re.findall(r"`Terms/(\w+)`", PAGES[strategy].read_text())
    assert set(described) == logged


def test_the_example_of_the_unification_runs(
    make_model: Any, make_scenario: Any
) -> None:
    scenario = make_scenario(domains=2)
    strategy, _ = run_example(DOCS / "unification.md", make_model, scenario)
    assert strategy.coefficients.trajectory[-1].tolist() == [[0.5, 0, 0.5]]


def test_every_link_in_the_docs_leads_somewhere() -> None:
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page, target)


def test_the_plugin_on_the_page_of_runs_keeps_its_state(
    make_model: Any, make_scenario: Any
) -> None:
    [code] = examples(DOCS / "runs.md")
    names: dict[str, Any] = {}
    exec(compile(code, "runs.md", "exec"), names)

    def strategy() -> Any:
        model = make_model()
        return Naive(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            train_mb_size=16,
            plugins=[names["RunningLoss"]()],
        )

    trained, other = strategy(), strategy()
    trained.train(make_scenario(domains=1).train_stream)
    load_strategy_state(other, strategy_state(trained))
    assert trained.plugins[0].mean > 0
    assert torch.equal(other.plugins[0].mean, trained.plugins[0].mean)


def test_the_example_of_the_estimator_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = examples(DOCS / "scikit_learn.md")
    names: dict[str, Any] = {}
    exec(compile(code, "scikit_learn.md", "exec"), names)
    assert names["model"].version_.record.number == 3
    assert names["model"].score(names["x"], names["y"]) > 0.85
    assert "near" in capsys.readouterr().out


def test_the_update_that_hurts_was_set_aside() -> None:
    text = (DOCS / "living_model.md").read_text()
    section = text.partition("\n## An update that hurts\n")[2].partition("\n## ")[0]
    shown = "".join(re.findall(r"```console\n(.*?)```", section, flags=re.DOTALL))
    assert "\nset aside: it costs" in shown and "\nexit code 3\n" in shown
    assert re.search(r"^    \* 1 .* in use$", shown, flags=re.MULTILINE)
