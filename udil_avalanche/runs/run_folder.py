"""The folder that a run leaves behind; all that is reported is read from such folders.

A file in it is there whole or not at all, and the mark ``done`` comes last. Loads
neither torch nor Avalanche.
"""

import hashlib
import json
import math
import os
import platform
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from udil_avalanche import __version__
from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.files import atomic_write
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.state import lock
from udil_avalanche.settings import RunSettings, as_dict

WITHOUT_EFFECT = (
    "output",
    "data",
    "device",
    "threads",
    "save_every",
    "workers",
    "check",
)
"""Settings that say where a run takes place, not what it is."""

PACKAGES = ("torch", "torchvision", "avalanche-lib", "numpy")


class RunFolder:
    """The folder of one run: ``<output>/<benchmark>/<strategy>-m<memory>-s<seed>-...``,
    the end of its name being a hash of the settings.

    :param path: the folder; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

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

    @property
    def tensorboard(self) -> Path:
        """Where the events for TensorBoard go."""
        return self.path / "tensorboard"

    @property
    def state(self) -> Path:
        """Where the states go, from which an unfinished run goes on."""
        return self.path / "state"

    def begin(self, settings: RunSettings) -> None:
        """Make the folder, without anything that an earlier attempt left in it.

        :param settings: the settings of the run.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for leftover in self.path.iterdir():
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover)
            elif leftover.name != lock.NAME:
                leftover.unlink()
        with atomic_write(self.path / "settings.yaml") as unfinished:
            OmegaConf.save(as_dict(settings), unfinished)
        self.write_json("versions.json", versions())

    def check_settings(self, settings: RunSettings) -> None:
        """Refuse settings that are not those that the run was begun with.

        :param settings: what is asked for.
        :raises RunError: with the difference, as far as it has an effect.
        """
        try:
            file = self.path / "settings.yaml"
            begun = _effective(resolve(config_file=file, configs=None))
        except SettingsError as error:
            raise RunError(f"{error}\n{self._remedy}") from error
        wanted = _effective(settings)
        differences = [
            f"{key}={begun.get(key)}, not {key}={wanted.get(key)}"
            for key in sorted(begun.keys() | wanted.keys())
            if begun.get(key) != wanted.get(key)
        ]
        if differences:
            raise RunError(
                f"{self.path} was begun with {'; '.join(differences)}\n{self._remedy}"
            )

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result and the mark that says so, which holds the SHA-256 of every
        file as ``sha256sum --check`` reads it.

        :param result: what the run has come to.
        """
        self.write_json("result.json", result)
        names = sorted(each.name for each in self.path.iterdir() if each.is_file())
        lines = [
            f"{_sha256((self.path / name).read_bytes())}  {name}\n"
            for name in names
            if name not in (lock.NAME, "done")
        ]
        with atomic_write(self.path / "done") as unfinished:
            unfinished.write_text("".join(lines))

    def result(self) -> dict[str, Any]:
        """The result of a finished run.

        :raises RunError: if it is not what was written.
        """
        content = self._checked("result.json")
        try:
            stored = json.loads(content)
        except (ValueError, RecursionError):
            stored = None
        if not isinstance(stored, dict):
            raise RunError(
                f"{self.path / 'result.json'} holds no result\n{self._remedy}"
            )
        return stored

    def check(self, names: Collection[str] | None = None) -> None:
        """Refuse a finished run of which a file is not what was written. One that an
        earlier version has finished has nothing to compare with.

        :param names: the files to look at; all by default.
        :raises RunError: with the name of the file.
        """
        for name in self._sums():
            if names is None or name in names:
                self._checked(name)

    def _checked(self, name: str) -> bytes:
        sums = self._sums()
        try:
            content = (self.path / name).read_bytes()
        except OSError as error:
            raise RunError(
                f"{self.path / name}: {error.strerror}\n{self._remedy}"
            ) from error
        if sums and sums.get(name) != _sha256(content):
            raise RunError(
                f"{self.path / name} was altered after the run was done\n{self._remedy}"
            )
        return content

    def _sums(self) -> dict[str, str]:
        """The SHA-256 of each file, as the mark has them."""
        try:
            lines = (self.path / "done").read_text().splitlines()
            sums = {name: digest for digest, name in (ln.split("  ") for ln in lines)}
            if any(Path(name).name != name for name in sums):
                raise ValueError("a name that leads outside")
            return sums
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.path / 'done'} cannot be read\n{self._remedy}"
            ) from error

    @property
    def _remedy(self) -> str:
        return f"To run it anew, remove {self.path}"

    def pictures(self) -> list[str]:
        """The names of the pictures that there are."""
        return sorted(picture.name for picture in self.path.glob("*.png"))

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        """Add a line to ``metrics.jsonl``.

        :param line: what was measured after a domain.
        """
        path = self.path / "metrics.jsonl"
        earlier = path.read_text() if path.exists() else ""
        with atomic_write(path) as unfinished:
            unfinished.write_text(f"{earlier}{json.dumps(plain(line))}\n")

    def write_metrics(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write ``metrics.jsonl`` anew.

        :param lines: what was measured after each domain so far.
        """
        with atomic_write(self.path / "metrics.jsonl") as unfinished:
            unfinished.write_text(
                "".join(f"{json.dumps(plain(line))}\n" for line in lines)
            )

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file with one line for each entry.

        :param name: name of the file.
        :param value: what goes into it; numbers that are not finite become null.
        """
        entries = [
            f"  {json.dumps(key)}: {json.dumps(entry)}"
            for key, entry in plain(value).items()
        ]
        with atomic_write(self.path / name) as unfinished:
            unfinished.write_text("{\n" + ",\n".join(entries) + "\n}\n")


def fingerprint(settings: RunSettings) -> str:
    """Eight hexadecimal digits that tell settings with different results apart.

    :param settings: the settings of a run.
    """
    text = json.dumps(_effective(settings), sort_keys=True)
    return _sha256(text.encode())[:8]


def versions() -> dict[str, Any]:
    """What the run was made with, as far as it may change the result."""
    return {
        "udil_avalanche": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
    }


def plain(value: Any) -> Any:
    """The value with null for every number that is not finite, which JSON lacks."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case str():
            return value
        case Sequence():
            return [plain(item) for item in value]
    return value


def _effective(settings: RunSettings) -> dict[str, Any]:
    return {
        key: value
        for key, value in as_dict(settings).items()
        if key not in WITHOUT_EFFECT or (key == "data" and settings.data_is_the_task)
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _cpu() -> str:
    """The processor's name, where Linux or Python knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str | None:
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


__all__ = ["RunFolder", "fingerprint", "plain", "versions"]
