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
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from udil_avalanche import __version__
from udil_avalanche.settings import RunSettings, as_dict
from udil_avalanche.whole_file import whole_file

WITHOUT_EFFECT = ("output", "data", "device", "threads", "workers", "check")
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
        return self.path.exists()

    @property
    def is_done(self) -> bool:
        """Whether the run has been finished."""
        return (self.path / "done").exists()

    @property
    def tensorboard(self) -> Path:
        """Where the events for TensorBoard go."""
        return self.path / "tensorboard"

    def begin(self, settings: RunSettings) -> None:
        """Make the folder, without anything that an earlier attempt left in it.

        :param settings: the settings of the run.
        """
        if self.is_begun:
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        with whole_file(self.path / "settings.yaml") as unfinished:
            OmegaConf.save(as_dict(settings), unfinished)
        self.write_json("versions.json", versions())

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result and the mark that says so.

        :param result: what the run has come to.
        """
        self.write_json("result.json", result)
        with whole_file(self.path / "done") as unfinished:
            unfinished.touch()

    def result(self) -> dict[str, Any]:
        """The result of a finished run."""
        stored: dict[str, Any] = json.loads((self.path / "result.json").read_text())
        return stored

    def pictures(self) -> list[str]:
        """The names of the pictures that there are."""
        return sorted(picture.name for picture in self.path.glob("*.png"))

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        """Add a line to ``metrics.jsonl``.

        :param line: what was measured after a domain.
        """
        path = self.path / "metrics.jsonl"
        earlier = path.read_text() if path.exists() else ""
        with whole_file(path) as unfinished:
            unfinished.write_text(f"{earlier}{json.dumps(plain(line))}\n")

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file with one line for each entry.

        :param name: name of the file.
        :param value: what goes into it; numbers that are not finite become null.
        """
        entries = [
            f"  {json.dumps(key)}: {json.dumps(entry)}"
            for key, entry in plain(value).items()
        ]
        with whole_file(self.path / name) as unfinished:
            unfinished.write_text("{\n" + ",\n".join(entries) + "\n}\n")


def fingerprint(settings: RunSettings) -> str:
    """Eight hexadecimal digits that tell settings with different results apart.

    :param settings: the settings of a run.
    """
    effective = {
        key: value
        for key, value in as_dict(settings).items()
        if key not in WITHOUT_EFFECT or (key == "data" and settings.data_is_the_task)
    }
    text = json.dumps(effective, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def versions() -> dict[str, Any]:
    """What the run was made with, as far as it may change the result."""
    return {
        "udil_avalanche": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "platform": platform.platform(),
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


def _commit() -> str | None:
    checkout = Path(__file__).resolve().parent.parent
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
