"""Which of the settings that were tried is the best, and where that is written."""

import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.files import atomic_write
from udil_avalanche.formatting import TITLES, number_list, settings_in_words
from udil_avalanche.recipes.resolve import plain_name
from udil_avalanche.runs.run_folder import WITHOUT_EFFECT, RunFolder
from udil_avalanche.settings import RunSettings, as_dict, settings_class
from udil_avalanche.sweep.grid import Sweep

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
    :param tried: those of the settings that the search varies.
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
        return settings_in_words(self.tried)


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


def choose(sweep: Sweep) -> Iterator[Choice]:
    """Choose for each method on each benchmark the settings with the highest average
    accuracy on the data that were held out of training.

    A trial counts only if it is done on all seeds; one that failed has used up its part
    of the budget.

    :param sweep: a search.
    :raises SettingsError: at the end, if trials on a benchmark had different data;
        nothing is chosen there.
    """
    with_other_data = []
    for benchmark in dict.fromkeys(run.benchmark for run in sweep.runs):
        here = [run for run in sweep.runs if run.benchmark == benchmark]
        strategies = dict.fromkeys(run.strategy for run in here)
        tried = [_choice(sweep, here, strategy) for strategy in strategies]
        choices = [choice for choice in tried if choice is not None]
        if found := _with_other_data(choices):
            with_other_data += found
        else:
            yield from choices
    if with_other_data:
        raise SettingsError(
            "some trials had other data than most on their benchmark, where nothing is "
            f"chosen: {', '.join(with_other_data)}; remove them and start again"
        )


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
    with atomic_write(path) as unfinished:
        unfinished.write_text(_origin(choice, sweep) + _config(run))
    return path


def _choice(sweep: Sweep, runs: Sequence[RunSettings], strategy: str) -> Choice | None:
    """The best of a strategy; None if no trial is done."""
    assert sweep.budget is not None
    varied = {
        plain_name(key) for trial in sweep.budget.trials[strategy] for key in trial
    }
    groups = _by_trial([run for run in runs if run.strategy == strategy])
    done = [
        Trial(
            tuple(group),
            {
                key: value
                for key, value in as_dict(group[0]).items()
                if plain_name(key) in varied
            },
            tuple(results),
        )
        for group in groups
        if (results := _results(group)) is not None
    ]
    if not done:
        return None
    best, *others = sorted(done, key=lambda trial: -trial.accuracy)
    return Choice(best, tuple(others), len(groups))


def _with_other_data(choices: Sequence[Choice]) -> list[str]:
    """The folders of runs whose data are not those that most have, and their data."""
    found = [
        (result["data"], RunFolder.of(run).path)
        for choice in choices
        for trial in choice.done
        for run, result in zip(trial.runs, trial.results, strict=True)
    ]
    [(usual, _)] = Counter(data for data, _ in found).most_common(1) or [("", 0)]
    return [f"{path} ({data})" for data, path in found if data != usual]


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
    command = shlex.join(["sweep", sweep.file.as_posix(), *sweep.overrides])
    lines = [
        f"{run.strategy} on {TITLES.get(run.benchmark, run.benchmark)}, memory "
        f"{run.memory}: {best.in_words}",
        f"chosen by run_experiments.py {command}: the best of "
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
