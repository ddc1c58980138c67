"""Which of the settings that were tried is the best, and where that is written."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from udil_avalanche.errors import RunError
from udil_avalanche.resolve import SettingsError
from udil_avalanche.run_folder import WITHOUT_EFFECT, RunFolder
from udil_avalanche.settings import RunSettings, as_dict, settings_class
from udil_avalanche.sweep.grid import Sweep
from udil_avalanche.whole_file import whole_file
from udil_avalanche.words import TITLES, differing, number_list, settings_in_words

NOT_IN_A_CONFIG = (
    "strategy",
    "benchmark",
    "memory",
    "seed",
    "validation",
    *WITHOUT_EFFECT,
)


@dataclass(frozen=True)
class Trial:
    """Settings that were tried on all seeds of a search.

    :param runs: the settings, one for each seed.
    :param tried: what tells them from the other trials.
    :param results: what their runs came to.
    """

    runs: tuple[RunSettings, ...]
    tried: dict[str, Any]
    results: tuple[dict[str, Any], ...]

    @property
    def accuracy(self) -> float:
        """The average accuracy on the data held out, on average over the seeds."""
        return statistics.fmean(result["avg_acc"] for result in self.results)

    @property
    def in_words(self) -> str:
        """What was tried."""
        return settings_in_words(self.tried) or "the only trial"


@dataclass(frozen=True)
class Choice:
    """The best settings of a method on a benchmark.

    :param best: the trial that was chosen.
    :param others: the other trials that are done, the better first.
    :param trials: how many were to be tried.
    """

    best: Trial
    others: tuple[Trial, ...]
    trials: int

    @property
    def done(self) -> list[Trial]:
        """The trials that are done, the better first."""
        return [self.best, *self.others]


def choose(sweep: Sweep) -> list[Choice]:
    """Choose for each method on each benchmark the settings with the highest average
    accuracy on the data that were held out of training.

    A trial counts only if it is done on all seeds; one that failed has used up its part
    of the budget.

    :param sweep: a search.
    :raises SettingsError: if trials on a benchmark had different data.
    """
    assert sweep.budget is not None
    choices = []
    places = dict.fromkeys((run.benchmark, run.strategy) for run in sweep.runs)
    for benchmark, strategy in places:
        here = [
            run
            for run in sweep.runs
            if (run.benchmark, run.strategy) == (benchmark, strategy)
        ]
        groups = _by_trial(here)
        tried = differing([as_dict(first) for first, *_ in groups])
        done = [
            Trial(
                tuple(group),
                {key: getattr(group[0], key) for key in tried},
                tuple(results),
            )
            for group in groups
            if (results := _results(group)) is not None
        ]
        if done:
            best, *others = sorted(done, key=lambda trial: -trial.accuracy)
            choices.append(Choice(best, tuple(others), len(groups)))
    _refuse_different_data(choices)
    return choices


def write_choice(choice: Choice, folder: Path, sweep: Sweep) -> Path:
    """Write the chosen settings as a configuration that says where it comes from.

    :param choice: what was chosen.
    :param folder: it goes to ``<folder>/<benchmark>/<strategy>.yaml`` there.
    :param sweep: the search.
    :return: the file.
    """
    run = choice.best.runs[0]
    path = folder / run.benchmark / f"{run.strategy.lower()}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(_origin(choice, sweep) + _config(run))
    return path


def _refuse_different_data(choices: Sequence[Choice]) -> None:
    found: dict[str, dict[str, RunSettings]] = {}
    for trial in (trial for choice in choices for trial in choice.done):
        for run, result in zip(trial.runs, trial.results, strict=True):
            found.setdefault(run.benchmark, {}).setdefault(result["data"], run)
    for benchmark, by_data in found.items():
        if len(by_data) > 1:
            each = (f"{RunFolder.of(run).path} {name}" for name, run in by_data.items())
            raise SettingsError(
                f"trials on {benchmark} had different data ({', '.join(each)}): remove "
                "those with other data than you want, and start the search again"
            )


def _results(runs: Sequence[RunSettings]) -> list[dict[str, Any]] | None:
    """What the runs came to; None if one of them is not done, is damaged, or has come
    to nothing."""
    found = []
    for folder in map(RunFolder.of, runs):
        try:
            result = folder.result() if folder.is_done else None
        except RunError:
            result = None
        if result is None or result["avg_acc"] is None:
            return None
        found.append(result)
    return found


def _by_trial(runs: Sequence[RunSettings]) -> list[list[RunSettings]]:
    groups: dict[str, list[RunSettings]] = {}
    for run in runs:
        same = {key: value for key, value in as_dict(run).items() if key != "seed"}
        groups.setdefault(repr(same), []).append(run)
    return list(groups.values())


def _origin(choice: Choice, sweep: Sweep) -> str:
    best, run = choice.best, choice.best.runs[0]
    seeds = number_list([each.seed for each in best.runs])
    results = [result for trial in choice.done for result in trial.results]
    commits = sorted({str(result["versions"]["commit"])[:10] for result in results})
    command = ["run_experiments.py sweep", sweep.file.as_posix(), *sweep.overrides]
    lines = [
        f"{run.strategy} on {TITLES.get(run.benchmark, run.benchmark)}, memory "
        f"{run.memory}: {best.in_words}",
        f"chosen by {' '.join(command)}: the best of "
        f"{choice.trials} settings ({len(choice.done)} done)",
        f"by the average accuracy on {run.validation:.0%} of the training data of "
        f"{results[0]['data']}, held out; seeds {seeds}; commit {', '.join(commits)}",
        *(f"  {trial.accuracy:.2f} {trial.in_words}" for trial in choice.done),
    ]
    return "".join(f"# {line}\n" for line in lines)


def _config(run: RunSettings) -> str:
    defaults = as_dict(settings_class(run.strategy, run.benchmark)())
    differing = {
        key: value
        for key, value in as_dict(run).items()
        if key not in NOT_IN_A_CONFIG and value != defaults[key]
    }
    return yaml.safe_dump(differing, sort_keys=False)


__all__ = ["Choice", "Trial", "choose", "write_choice"]
