"""What a sweep over streams compares."""

from collections.abc import Sequence
from dataclasses import dataclass

from udil_avalanche.formatting import in_parentheses, number_list
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.settings import FIRST_SEED_FOR_CHOOSING
from udil_avalanche.runs.run_folder import RunFolder


@dataclass(frozen=True)
class PlannedRun:
    """A run of a sweep, done or not.

    :param settings: its settings.
    :param stream: the name of what it learns.
    :param variant: the name of the method's variant; empty if there are none.
    """

    settings: RunSettings
    stream: str
    variant: str = ""

    @property
    def identity(self) -> str:
        """The benchmark and the name of its folder."""
        folder = RunFolder.of(self.settings).path
        return f"{self.settings.benchmark}/{folder.name}"


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep over streams.

    :param name: the name of the sweep.
    :param runs: its runs, done or not.
    """

    name: str
    runs: Sequence[PlannedRun]

    @property
    def streams(self) -> list[str]:
        """The names of the streams."""
        return list(dict.fromkeys(run.stream for run in self.runs))

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return sorted({run.settings.seed for run in self.runs})

    @property
    def has_variants(self) -> bool:
        """Whether it has variants."""
        return any(run.variant for run in self.runs)

    @property
    def rows(self) -> dict[str, list[PlannedRun]]:
        """The runs of each method and variant, by its name. The method is part of the
        name unless all have the same."""
        one_method = len({run.settings.strategy for run in self.runs}) == 1
        rows: dict[str, list[PlannedRun]] = {}
        for run in self.runs:
            name = f"{run.settings.strategy}{in_parentheses(run.variant)}"
            if one_method and run.variant:
                name = run.variant
            rows.setdefault(name, []).append(run)
        return rows

    @property
    def development(self) -> str:
        """A sentence that says so if its figures are not to be reported; else empty."""
        held_out = {run.stream for run in self.runs if run.settings.validation > 0}
        if not held_out and self.seeds[-1] < FIRST_SEED_FOR_CHOOSING:
            return ""
        others = [stream for stream in self.streams if stream not in held_out]
        tested = "tested on held-out training data"
        if others:
            tested += f" (on test data: {', '.join(others)})"
        return f"Development figures, seeds {number_list(self.seeds)}, {tested}."
