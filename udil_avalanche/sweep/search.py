"""Choosing the best of the settings that were tried, and writing them to a file."""

import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.files import write_text
from udil_avalanche.formatting import number_list, settings_in_words
from udil_avalanche.recipes import BENCHMARKS, RunSettings, as_dict
from udil_avalanche.recipes.identity import effective_settings
from udil_avalanche.recipes.resolve import setting_name
from udil_avalanche.runs.result import RunResult
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.search_record import (
    SearchedMethod,
    SearchRecord,
    TriedSettings,
)
from udil_avalanche.sweep.grid import Sweep

NOT_IN_A_CONFIG = {"strategy", "benchmark", "memory", "seed", "validation", "data"}


@dataclass(frozen=True)
class Trial:
    """Settings that were tried on all seeds of a search.

    :param in_words: the settings that the search varies.
    :param runs: all settings, for each seed.
    :param results: the results of the runs.
    """

    in_words: str
    runs: tuple[RunSettings, ...]
    results: tuple[RunResult, ...]

    @property
    def accuracy(self) -> float:
        """The average accuracy on the held-out data, averaged over the seeds."""
        return statistics.fmean(result["avg_acc"] or 0 for result in self.results)

    @property
    def seconds(self) -> float:
        """How long its runs took together."""
        return sum(result["seconds"] for result in self.results)


@dataclass(frozen=True)
class Choice:
    """The best settings of a method on a benchmark.

    :param done: the trials that are done, best first.
    :param trials: the number of trials, done or not.
    """

    done: list[Trial]
    trials: int

    @property
    def best(self) -> Trial:
        """The trial that was chosen."""
        return self.done[0]


def choose(sweep: Sweep) -> Iterator[Choice]:
    """Choose for each method on each benchmark the settings with the highest average
    accuracy on the data that were held out of training.

    A trial counts only if it is done on all seeds. A trial that failed is not replaced.

    :param sweep: a search.
    :raises SettingsError: at the end, if trials on a benchmark had different data;
        nothing is chosen for that benchmark.
    """
    with_other_data = []
    for benchmark in dict.fromkeys(run.benchmark for run in sweep.runs):
        here = [run for run in sweep.runs if run.benchmark == benchmark]
        by_strategy = [
            _choice(sweep, [run for run in here if run.strategy == strategy])
            for strategy in dict.fromkeys(run.strategy for run in here)
        ]
        choices = [choice for choice in by_strategy if choice is not None]
        if found := _with_other_data(choices):
            with_other_data += found
        else:
            yield from choices
    if with_other_data:
        raise SettingsError(
            "some trials had other data than most on their benchmark, so nothing is "
            f"chosen for it: {', '.join(with_other_data)}; remove them and start again"
        )


def write_choice(choice: Choice, folder: Path, sweep: Sweep) -> Path:
    """Write the chosen settings as a configuration, with a comment on their origin.

    :param choice: what was chosen.
    :param folder: the file is ``<folder>/<benchmark>/<strategy>.yaml``.
    :param sweep: the search.
    :return: the file.
    """
    run = choice.best.runs[0]
    path = folder / run.benchmark / f"{run.strategy.lower()}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, _origin(choice, sweep) + _config(_whole(choice, sweep)))
    return path


def final_runs(choices: Sequence[Choice], sweep: Sweep) -> list[RunSettings]:
    """The runs by what was chosen: on the whole stream, tested on the test data, with
    seeds that are reported. Those of a seed come before those of the next.

    :param choices: what was chosen.
    :param sweep: the search; none follow if it has no ``final_seeds``.
    """
    assert sweep.budget is not None
    return [
        _final(choice, sweep, seed)
        for seed in sweep.budget.final_seeds
        for choice in choices
    ]


def search_record(choices: Sequence[Choice], sweep: Sweep) -> SearchRecord:
    """What a report needs to know of a search.

    :param choices: what was chosen.
    :param sweep: the search.
    """
    assert sweep.budget is not None
    return SearchRecord(
        name=sweep.name,
        command=_command(sweep),
        seeds=tuple(sorted({run.seed for run in sweep.runs})),
        domains=sweep.budget.domains,
        validation=sweep.runs[0].validation,
        methods=tuple(_searched(choice, sweep) for choice in choices),
    )


def _searched(choice: Choice, sweep: Sweep) -> SearchedMethod:
    assert sweep.budget is not None
    run = choice.best.runs[0]
    finals = [_final(choice, sweep, seed) for seed in sweep.budget.final_seeds]
    return SearchedMethod(
        strategy=run.strategy,
        benchmark=run.benchmark,
        trials=choice.trials,
        tried=tuple(
            TriedSettings(
                settings=trial.in_words, accuracy=trial.accuracy, seconds=trial.seconds
            )
            for trial in choice.done
        ),
        finals=tuple(
            f"{each.benchmark}/{RunFolder.of(each).path.name}" for each in finals
        ),
    )


def _final(choice: Choice, sweep: Sweep, seed: int) -> RunSettings:
    update = {"seed": seed, "validation": 0.0}
    return _whole(choice, sweep).model_copy(update=update)


def _whole(choice: Choice, sweep: Sweep) -> RunSettings:
    """The chosen settings without what the search added to them."""
    return sweep.whole[RunFolder.of(choice.best.runs[0]).path]


def _choice(sweep: Sweep, runs: Sequence[RunSettings]) -> Choice | None:
    """The best trial of a strategy on a benchmark; None if no trial is done."""
    assert sweep.budget is not None
    trials = sweep.budget.trials[runs[0].strategy]
    schema = type(runs[0])
    varied = {setting_name(key, schema) for trial in trials for key in trial}
    groups: dict[str, list[RunSettings]] = {}
    for run in runs:
        tried = {key: value for key, value in as_dict(run).items() if key in varied}
        groups.setdefault(settings_in_words(tried), []).append(run)
    done = [
        Trial(in_words, tuple(group), results)
        for in_words, group in groups.items()
        if (results := _results(group)) is not None
    ]
    done.sort(key=lambda trial: -trial.accuracy)
    return Choice(done, len(groups)) if done else None


def _with_other_data(choices: Sequence[Choice]) -> list[str]:
    """The folders of the runs with other data than most, and these data."""
    found = [
        (result["data"], RunFolder.of(run).path)
        for choice in choices
        for trial in choice.done
        for run, result in zip(trial.runs, trial.results, strict=True)
    ]
    [(usual, _)] = Counter(data for data, _ in found).most_common(1) or [("", 0)]
    return [f"{path} ({data})" for data, path in found if data != usual]


def _results(runs: Sequence[RunSettings]) -> tuple[RunResult, ...] | None:
    """The results of the runs; None if one of them is not done, is damaged, or has no
    accuracy."""
    try:
        results = tuple(RunFolder.of(run).result() for run in runs)
    except RunError:
        return None
    return None if any(result["avg_acc"] is None for result in results) else results


def _origin(choice: Choice, sweep: Sweep) -> str:
    best, run = choice.best, choice.best.runs[0]
    seeds = number_list([each.seed for each in best.runs])
    results = [result for trial in choice.done for result in trial.results]
    commits = sorted({str(result["versions"]["commit"])[:10] for result in results})
    domains = "" if sweep.budget is None else sweep.budget.domains
    first = f" on the first {domains} domains" if domains else ""
    lines = [
        f"{run.strategy} on {BENCHMARKS[run.benchmark].title}, memory "
        f"{run.memory}: {best.in_words}",
        f"chosen by run_experiments.py {_command(sweep)}: the best of "
        f"{choice.trials} settings ({len(choice.done)} done)",
        f"by the average accuracy{first} on {run.validation:.0%} of the training data "
        f"of {results[0]['data']}, held out; seeds {seeds}; "
        f"commit {', '.join(commits)}",
        *(f"  {trial.accuracy:.2f} {trial.in_words}" for trial in choice.done),
    ]
    return "".join(f"# {line}\n" for line in lines)


def _command(sweep: Sweep) -> str:
    return shlex.join(["sweep", sweep.file.as_posix(), *sweep.overrides])


def _config(run: RunSettings) -> str:
    fields = type(run).model_fields
    differing = {
        key: value
        for key, value in effective_settings(run).items()
        if key not in NOT_IN_A_CONFIG and value != fields[key].default
    }
    return str(yaml.safe_dump(differing, sort_keys=False))
