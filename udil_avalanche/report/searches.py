"""Searches for settings whose choices were run: what they tried, what it cost, and what
came of it."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from udil_avalanche.errors import SettingsError
from udil_avalanche.files import atomic_write
from udil_avalanche.formatting import duration, in_parentheses, number_list
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import CONFIGS, resolve
from udil_avalanche.report.run import Run
from udil_avalanche.report.tables import Row, Table, tables_of
from udil_avalanche.runs.search_record import (
    SEARCH_FILE,
    SearchedMethod,
    SearchRecord,
    read_search,
)


@dataclass(frozen=True)
class SearchTable:
    """What a search came to on a benchmark.

    :param record: the search.
    :param table: the runs by what was chosen.
    """

    record: SearchRecord
    table: Table

    @property
    def title(self) -> str:
        """The name of the search and the task in words."""
        file, *changes = self.record.name.split("+")
        # The task says the benchmark already.
        name = file.removesuffix(f"_{self.table.benchmark}")
        name = name.replace("_", " ").capitalize()
        return f"{name}{in_parentheses(', '.join(changes))}: {self.table.title}"

    @property
    def protocol(self) -> str:
        """How the settings were chosen, in words."""
        record = self.record
        trials = number_list([method.trials for method in self._methods])
        domains = record.domains
        looked_at = f"the first {domains} domains" if domains else "all domains"
        return (
            f"Each method had {trials} settings to try, on {looked_at}, with seeds "
            f"{number_list(record.seeds)}, which are not reported, and was tested on "
            f"{record.validation:.0%} of the training data, held out. By the best of "
            "them it learned the whole stream."
        )

    def searched(self, row: Row) -> SearchedMethod:
        """What was tried for a method.

        :param row: its row in the table.
        """
        return next(each for each in self._methods if each.strategy == row.method)

    def entries(self, row: Row) -> tuple[str, str, str]:
        """How many of a method's trials were done, how long they took together, and
        which settings were chosen.

        :param row: its row in the table.
        """
        searched = self.searched(row)
        done, trials = len(searched.tried), searched.trials
        count = str(trials) if done == trials else f"{done} of {trials}"
        return count, duration(searched.seconds), searched.tried[0].settings

    @property
    def _methods(self) -> list[SearchedMethod]:
        benchmark = self.table.benchmark
        return [each for each in self.record.methods if each.benchmark == benchmark]


def searches_below(places: Iterable[str | Path]) -> dict[Path, SearchRecord]:
    """The searches below some folders that chose settings and ran them, by the folder
    of what they chose; of copies, the first.

    :param places: the folders.
    :raises SettingsError: if two different searches have the same name.
    """
    found: dict[str, tuple[Path, SearchRecord]] = {}
    for place in map(Path, places):
        for file in sorted(place.rglob(SEARCH_FILE)):
            record = read_search(file)
            if not record.finals:
                continue
            first = found.setdefault(record.name, (file.parent, record))
            if first[1] != record:
                raise SettingsError(
                    f"{first[0]} and {file.parent} are different searches of the same "
                    "name: report only one of them"
                )
    return dict(found.values())


def search_tables(
    searches: Iterable[SearchRecord], runs: Sequence[Run]
) -> list[SearchTable]:
    """A table for each benchmark of each search, of the methods that were run.

    :param searches: the searches.
    :param runs: all runs that are reported.
    """
    tables = []
    for record in searches:
        for table in tables_of([run for run in runs if run.identity in record.finals]):
            table.rows = [row for row in table.rows if row.group.runs]
            tables.append(SearchTable(record, table))
    return tables


def without_finals(runs: Sequence[Run], searches: Iterable[SearchRecord]) -> list[Run]:
    """The runs of the main tables: those that no search has chosen the settings of. A
    run by the project's own configurations stays, even if a search chose the same.

    :param runs: all runs that are reported.
    :param searches: the searches.
    """
    finals: set[str] = set().union(*(record.finals for record in searches))
    return [run for run in runs if run.identity not in finals or _is_configured(run)]


def keep_searches(searches: dict[Path, SearchRecord], folder: Path) -> None:
    """Copy what searches chose to ``<folder>/chosen/<name of the search>``.

    :param searches: the searches, by the folder of what they chose.
    :param folder: where to keep them.
    """
    for source, record in searches.items():
        kept = folder / "chosen" / record.name
        if kept.resolve() == source.resolve():
            continue
        for file in sorted([source / SEARCH_FILE, *source.rglob("*.yaml")]):
            target = kept / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(target) as unfinished:
                shutil.copyfile(file, unfinished)


def _is_configured(run: Run) -> bool:
    options = {"seed": run.seed, "memory": run.memory}
    tuned = CONFIGS / "tuned" / run.benchmark / f"{run.method.lower()}.yaml"
    return fingerprint(run.all_settings) in {
        fingerprint(
            resolve(run.method, run.benchmark, config_file=file, options=options)
        )
        for file in (None, tuned)
        if file is None or file.exists()
    }
