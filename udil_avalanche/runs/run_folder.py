"""The folder of a run. Everything that is reported is read from such folders.

A file in it is either complete or missing, and the mark ``done`` is written last. Loads
neither torch nor Avalanche.
"""

import hashlib
import json
import logging
import math
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.files import read_regular, remove_unfinished, write_text
from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.recipes.identity import differences, fingerprint
from udil_avalanche.recipes.resolve import load_settings, stored_settings
from udil_avalanche.runs.result import RunResult, result_problem
from udil_avalanche.runs.versions import PACKAGE, versions

logger = logging.getLogger(__name__)

LOCK_FILE = ".lock"
"""The file that a process holds while it works in the folder."""


OWN_FILES = (
    *("settings.yaml", "versions.json", "metrics.jsonl", "result.json"),
    *("model.safetensors", "embeddings.json"),
)
"""The files that a run writes, besides its pictures."""

PICTURES = (
    *("accuracy_matrix.png", "accuracy_per_domain.png", "bound.png"),
    *("coefficients.png", "divergence_and_beta.png"),
)
"""The pictures that a run may draw."""


class RunFolder:
    """The folder of one run: ``<output>/<benchmark>/<strategy>-m<memory>-s<seed>-...``,
    with a hash of the settings at the end.

    :param path: the folder; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tensorboard = path / "tensorboard"
        """Where the events for TensorBoard go."""
        self.state = path / "state"
        """Where the states go, from which an unfinished run resumes."""
        self.metrics = path / "metrics.jsonl"
        """What was measured after each domain, a line of JSON for each."""
        self.messages = Path(f"{path}.log")
        """Where the messages of a run in a sweep go; beside the folder."""

    @classmethod
    def of(cls, settings: RunSettings) -> "RunFolder":
        """The folder that belongs to these settings.

        :param settings: the settings of the run.
        """
        name = (
            f"{settings.strategy}-m{settings.memory}-s{settings.seed}"
            f"-{fingerprint(settings)}"
        )
        return cls(Path(settings.output, settings.benchmark, name))

    @property
    def is_begun(self) -> bool:
        """Whether the run has been started, and perhaps finished."""
        return (self.path / "settings.yaml").exists()

    @property
    def is_done(self) -> bool:
        """Whether the run has been finished."""
        return (self.path / "done").exists()

    def holds(self, settings: RunSettings) -> bool:
        """Whether the run has been finished, by these settings.

        :param settings: the settings asked for.
        :raises RunError: if it was finished by others, as when a default has changed.
        """
        if self.is_done:
            self.check_settings(settings)
        return self.is_done

    def begin(self, settings: RunSettings) -> None:
        """Make the folder, and remove what an earlier attempt left in it. Files that
        are not a run's stay.

        :param settings: the settings of the run.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        remove_unfinished(self.path)
        for folder in (self.tensorboard, self.state):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        for name in (*OWN_FILES, *PICTURES, "done"):
            (self.path / name).unlink(missing_ok=True)
        text = yaml.safe_dump(as_dict(settings), sort_keys=False)
        write_text(self.path / "settings.yaml", text)
        self.write_json("versions.json", versions())

    def check_settings(self, settings: RunSettings) -> None:
        """Refuse settings other than those that the run was started with.

        :param settings: the settings asked for.
        :raises RunError: with the settings that differ and change the result.
        """
        file = self.path / "settings.yaml"
        if file.exists() and not file.is_file():
            raise self._error(f"{file} is not a regular file")
        try:
            begun = stored_settings(load_settings(file))
        except SettingsError as error:
            raise self._error(str(error)) from error
        found = differences(begun, settings)
        if found:
            raise self._error(f"{self.path} was started with {'; '.join(found)}")

    def finish(self, result: Mapping[str, object]) -> None:
        """Write the result, and the mark ``done`` with the SHA-256 of every file of the
        run, as ``sha256sum --check`` reads it.

        :param result: the entries of :class:`~udil_avalanche.runs.result.RunResult`.
        """
        self.write_json("result.json", result)
        remove_unfinished(self.path)
        lines = [
            f"{_sha256((self.path / name).read_bytes())}  {name}\n"
            for name in sorted((*OWN_FILES, *PICTURES))
            if (self.path / name).is_file()
        ]
        write_text(self.path / "done", "".join(lines))

    def result(self) -> RunResult:
        """The result of a finished run.

        :raises RunError: if the file has changed since, or holds no result.
        """
        content = self._checked("result.json")
        try:
            stored = json.loads(content)
        except (ValueError, RecursionError):
            stored = None
        if not isinstance(stored, dict):
            raise self._error(f"{self.path / 'result.json'} holds no result")
        if not self._checksums():
            self._check_early_result(stored)
        return cast(RunResult, stored)

    def _check_early_result(self, stored: Mapping[str, Any]) -> None:
        """Only the first version wrote no checksums. Its figures still have to follow
        from its accuracies."""
        made_with = stored.get("versions")
        version = made_with.get(PACKAGE) if isinstance(made_with, dict) else None
        if not str(version).startswith("0.1"):
            raise self._error(
                f"{self.path / 'done'} has no checksums, so the result may be another"
            )
        problem = result_problem(stored)
        if problem is not None:
            raise self._error(f"{self.path / 'result.json'}: {problem}")

    def check(self, names: Collection[str] | None = None) -> None:
        """Refuse a finished run whose files have changed. A picture that is missing is
        a warning. A run that was finished by an early version has no checksums.

        :param names: the files to look at; all by default.
        :raises RunError: with the name of the file.
        """
        for name in self._checksums():
            if name in PICTURES and not (self.path / name).exists():
                logger.warning("%s is missing", self.path / name)
            elif names is None or name in names:
                self._checked(name)

    def pictures(self) -> list[str]:
        """The names of the run's pictures."""
        return [name for name in PICTURES if (self.path / name).exists()]

    def write_metrics(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write ``metrics.jsonl``.

        :param lines: what was measured after each domain so far.
        """
        write_text(self.metrics, "".join(map(json_line, lines)))

    def write_json(self, name: str, value: Mapping[str, object]) -> None:
        """Write a JSON file with one line for each entry.

        :param name: name of the file.
        :param value: what goes into it; numbers that are not finite become null.
        """
        entries = [
            f"  {json.dumps(key)}: {json.dumps(entry)}"
            for key, entry in plain(value).items()
        ]
        write_text(self.path / name, "{\n" + ",\n".join(entries) + "\n}\n")

    def _checked(self, name: str) -> bytes:
        """The content of a file, if it has its checksum."""
        checksums = self._checksums()
        try:
            content = read_regular(self.path / name)
        except OSError as error:
            raise self._error(f"{self.path / name}: {error.strerror}") from error
        if checksums and checksums.get(name) != _sha256(content):
            raise self._error(f"{self.path / name} was altered after the run was done")
        return content

    def _checksums(self) -> dict[str, str]:
        """The SHA-256 of each file of the run, from the mark ``done``. Earlier versions
        also summed whatever else was in the folder."""
        try:
            lines = read_regular(self.path / "done").decode().splitlines()
            sums = {n: digest for digest, n in (ln.split("  ", 1) for ln in lines)}
        except (OSError, ValueError) as error:
            raise self._error(f"{self.path / 'done'} cannot be read") from error
        ours = {name: sums[name] for name in sums if name in (*OWN_FILES, *PICTURES)}
        # A name that nobody knows may be one of ours that was altered.
        unknown = [n for n in sums.keys() - ours if not (self.path / n).exists()]
        missing = [n for n in OWN_FILES if n not in ours and (self.path / n).exists()]
        altered = bool(unknown and missing)
        if altered or (sums and "result.json" not in ours):
            raise self._error(f"{self.path / 'done'} cannot be read")
        return ours

    def _error(self, problem: str) -> RunError:
        return RunError(f"{problem}\nTo run it again, remove {self.path}")


def json_line(entries: Mapping[str, Any]) -> str:
    """A line of ``metrics.jsonl``.

    :param entries: what was measured; numbers that are not finite become null.
    """
    return f"{json.dumps(plain(entries))}\n"


def plain(value: Any) -> Any:
    """The value with null for every number that is not finite, as JSON has no other.

    :param value: what is to be written as JSON.
    """
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return value


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
