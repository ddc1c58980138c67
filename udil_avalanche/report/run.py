"""A finished run, as a report reads it from its folder."""

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from udil_avalanche.evaluation.formulas import average_of_average_accuracy
from udil_avalanche.recipes import BENCHMARKS, Role, RunSettings
from udil_avalanche.recipes.identity import effective_settings
from udil_avalanche.recipes.resolve import (
    current_names,
    run_settings_class,
    stored_settings,
)
from udil_avalanche.recipes.settings import names_with
from udil_avalanche.runs.result import RunResult

FILES = ("metrics.jsonl", "embeddings.json")
"""The files of a run that a report reads besides its result."""


@dataclass(frozen=True)
class Run:
    """A finished run. Only this class knows what the files of a run folder hold.

    :param folder: the run folder.
    :param result: the content of its ``result.json``.
    """

    folder: Path
    result: RunResult

    @property
    def method(self) -> str:
        """Name of the strategy."""
        return str(self.result["strategy"])

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return str(self.result["benchmark"])

    @property
    def memory(self) -> int:
        """Samples kept of past domains."""
        return int(self.result["memory"])

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.result["seed"])

    @property
    def seconds(self) -> float:
        """How long it took."""
        return float(self.result["seconds"])

    @property
    def versions(self) -> dict[str, Any]:
        """The software and hardware it ran with."""
        return dict(self.result["versions"])

    @property
    def written_settings(self) -> dict[str, Any]:
        """The settings that the run wrote down, by name."""
        return dict(self.result["settings"])

    @cached_property
    def accuracy_matrix(self) -> npt.NDArray[np.float64]:
        """The accuracy matrix, with NaN where nothing was measured."""
        return np.asarray(self.result["accuracy_matrix"], dtype=np.float64)

    def metric(self, name: str) -> float | None:
        """A measured number; None or NaN if it was not measured.

        :param name: an entry of ``result.json``, or for instance ``avg_acc_1_5``: the
            mean of the average accuracies after domains 1 to 5.
        """
        domains = re.fullmatch(r"avg_acc_(\d+)_(\d+)", name)
        if domains is None:
            return cast(float | None, self.result.get(name))
        first, last = map(int, domains.groups())
        if last > len(self.accuracy_matrix):
            return None
        return average_of_average_accuracy(self.accuracy_matrix, first, last)

    @property
    def coefficients(self) -> list[npt.NDArray[np.float64]]:
        """Alpha, beta and gamma of the past domains at the end of each domain from the
        second on; empty if the method has no such coefficients."""
        file = self.folder / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [
            np.array([line["alpha"], line["beta"], line["gamma"]]).T
            for line in map(json.loads, lines)
            if "alpha" in line
        ]

    @property
    def embeddings(self) -> dict[str, Any] | None:
        """The embeddings after the last domain in two dimensions, with their labels and
        domains; None if the run did not store them."""
        file = self.folder / "embeddings.json"
        stored: dict[str, Any] | None = None
        if file.exists():
            stored = json.loads(file.read_text())
        return stored

    @property
    def identity(self) -> str:
        """The benchmark and the folder's name, which ends in a hash of the settings."""
        return f"{self.benchmark}/{self.folder.name}"

    def link_from(self, folder: Path) -> str:
        """A relative link to the run folder.

        :param folder: where the page with the link is.
        """
        return quote(Path(os.path.relpath(self.folder, folder)).as_posix() + "/")

    @cached_property
    def all_settings(self) -> RunSettings:
        """The settings as this version knows them."""
        gone = self._settings_of_other_versions
        return stored_settings(
            {key: v for key, v in self.written_settings.items() if key not in gone}
        )

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the result, except the data folder, which may have
        been moved."""
        effective = effective_settings(self.all_settings)
        gone = self._settings_of_other_versions
        return {key: effective[key] for key in effective if key != "data"} | gone

    @cached_property
    def problem(self) -> dict[str, Any]:
        """The settings by which its data differ from the benchmark's defaults."""
        fields = type(self.all_settings).model_fields
        differing = {
            key: value
            for key, value in self.settings.items()
            if key in self._task and value != fields[key].default
        }
        if self.result["data"] not in BENCHMARKS[self.benchmark].data:
            differing["data"] = self.result["data"]
        return differing

    @property
    def comparison_key(self) -> str:
        """Runs with the same key must have the same result. The names of their folders
        may differ, because an older version had fewer settings."""
        same = [self.method, self.benchmark, self.problem, self.settings]
        return json.dumps(same, sort_keys=True)

    def has_result_of(self, other: "Run") -> bool:
        """Whether both runs measured the same accuracies.

        :param other: the other run.
        """
        matrices = self.accuracy_matrix, other.accuracy_matrix
        return np.array_equal(*matrices, equal_nan=True)

    @cached_property
    def method_settings(self) -> dict[str, Any]:
        """How it was learned: the settings without the task and the seed."""
        excluded = {*self._task, "seed"}
        return {key: self.settings[key] for key in self.settings if key not in excluded}

    @cached_property
    def _settings_of_other_versions(self) -> dict[str, Any]:
        known = current_names(run_settings_class(self.method, self.benchmark))
        written = self.written_settings.items()
        return {key: value for key, value in written if key not in known}

    @cached_property
    def _task(self) -> set[str]:
        return names_with(Role.TASK, type(self.all_settings))
