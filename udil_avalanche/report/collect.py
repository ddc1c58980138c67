"""Which runs a report is about."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.formatting import in_parentheses
from udil_avalanche.recipes.settings import FIRST_SEED_FOR_CHOOSING
from udil_avalanche.report.damage import problem_of
from udil_avalanche.report.run import FILES, Run
from udil_avalanche.runs.run_folder import RunFolder


@dataclass
class RunCollection:
    """The runs that are reported, and those that are not.

    :param runs: the runs that are reported.
    :param compared: the runs of sweeps over streams, some of which may be for choosing
        settings and are reported nowhere else.
    :param left_out: the folders that are not used, by reason.
    """

    runs: list[Run] = field(default_factory=list)
    compared: list[Run] = field(default_factory=list)
    left_out: dict[str, list[Path]] = field(default_factory=dict)

    @property
    def reasons(self) -> str:
        """How many runs were left out for each reason; empty if none were."""
        counts = [f"{len(each)} {reason}" for reason, each in self.left_out.items()]
        return "; ".join(counts)

    @property
    def used(self) -> list[Run]:
        """The runs that are reported or compared, each once."""
        return list({run.folder: run for run in self.runs + self.compared}.values())


def collect(
    places: Sequence[str | Path],
    only: Collection[str] | None = None,
    compared: Collection[str] = (),
) -> RunCollection:
    """Read the run folders at or below some places.

    Left out are unfinished runs, damaged runs, runs that were tested on held-out
    training data, and runs on seeds that are reserved for choosing settings, except
    where these are compared. Of two runs with the same settings, one counts.

    :param places: run folders, or folders with run folders below.
    :param only: the identities of the runs to take; all by default.
    :param compared: the identities of the runs to compare across streams.
    :raises SettingsError: if a place does not exist, if no runs are found, or if two
        folders hold different results of the same settings, or have the same name and
        different data.
    """
    found = RunCollection()
    by_settings: dict[str, Run] = {}
    by_name: dict[str, Run] = {}
    for folder in _run_folders(places):
        run = _run_or_reason(folder, only, compared)
        if isinstance(run, str):
            found.left_out.setdefault(run, []).append(folder.path)
            continue
        twin = by_settings.setdefault(run.comparison_key, run)
        if not twin.has_result_of(run):
            raise SettingsError(
                f"{twin.folder} and {run.folder} have the same settings but different "
                "results: report only one of them"
            )
        namesake = by_name.setdefault(run.identity, run) if twin is run else run
        if namesake is not run:
            raise SettingsError(
                f"{namesake.folder} and {run.folder} have the same name but different "
                "data: report only one of them"
            )
    used = by_settings.values()
    found.runs = [run for run in used if _reason_not_to_report(run) is None]
    found.compared = [run for run in used if run.identity in compared]
    if not found.used:
        left_out = in_parentheses(found.reasons and f"left out: {found.reasons}")
        below = " ".join(map(str, places))
        raise SettingsError(f"no finished runs below {below}{left_out}")
    return found


def _run_folders(places: Iterable[str | Path]) -> list[RunFolder]:
    found: dict[Path, RunFolder] = {}
    for place in map(Path, places):
        if not place.is_dir():
            raise SettingsError(f"there is no folder {place}")
        for settings in sorted(place.rglob("settings.yaml")):
            found.setdefault(settings.parent.resolve(), RunFolder(settings.parent))
    return list(found.values())


def _run_or_reason(
    folder: RunFolder, only: Collection[str] | None, compared: Collection[str]
) -> Run | str:
    """The run, or the reason to leave it out."""
    if not folder.is_done:
        return "not finished"
    try:
        run = Run(folder.path, folder.result())
        folder.check([name for name in FILES if (folder.path / name).exists()])
    except RunError as error:
        return " ".join(["damaged:", *str(error).split()])
    problem = problem_of(run)
    if problem is not None:
        return f"damaged: {folder.path}: {problem}"
    try:
        reason = _reason_not_to_report(run)
    except (SettingsError, KeyError):
        names = f"{run.method} on {run.benchmark}"
        return f"of a method or benchmark that is not installed: {names}"
    if run.identity in compared:
        return run
    if reason is not None:
        return reason
    if only is not None and run.identity not in only:
        return "not part of the sweep"
    return run


def _reason_not_to_report(run: Run) -> str | None:
    """Why a run is only for choosing settings; None if it is not."""
    if run.all_settings.validation > 0:
        return "tested on held-out training data"
    if run.seed >= FIRST_SEED_FOR_CHOOSING:
        return f"with seed {FIRST_SEED_FOR_CHOOSING} or above, for choosing settings"
    return None
