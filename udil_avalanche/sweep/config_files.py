"""Which files of settings the runs of a sweep start from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.sweep.entries import values_of

NONE, DEFAULT = "none", "default"


@dataclass(frozen=True)
class ConfigFiles:
    """Settings of methods on benchmarks, in files.

    :param name: what they are called; empty for the usual ones.
    :param usual: the folder ``configs``; None for every method by its defaults.
    :param folder: a folder like it, with settings that take precedence.
    """

    name: str = ""
    usual: Path | None = None
    folder: Path | None = None

    def arguments(self, strategy: str, benchmark: str) -> dict[str, Any] | None:
        """The arguments of ``resolve`` for a method on a benchmark; None if the folder
        has no file for it.

        :param strategy: name of the strategy.
        :param benchmark: name of the benchmark.
        """
        if self.folder is None:
            return {"configs": self.usual}
        file = self.folder / benchmark / f"{strategy.lower()}.yaml"
        if not file.exists():
            return None
        return {"configs": self.usual, "config_file": file}


def config_files(written: Mapping[str, Any], usual: Path) -> list[ConfigFiles]:
    """Read the entry ``configs`` of a sweep.

    :param written: the sweep. The entry is ``none``, ``default``, the name of a folder
        in ``configs``, the path of a folder like it, or a list of these.
    :param usual: the folder ``configs``.
    :raises SettingsError: if there is no such folder, or it is named twice.
    """
    names = [
        str(name) for name in values_of("configs", written.get("configs", DEFAULT))
    ]
    if len(set(names)) < len(names):
        raise SettingsError("configs: the same folder is named twice")
    return [_files(name, usual) for name in names]


def refuse_missing(
    files: Sequence[ConfigFiles], strategies: Sequence[str], benchmarks: Sequence[str]
) -> None:
    """Refuse a method that none of the folders has a file for.

    :param files: where the settings come from.
    :param strategies: the methods of the sweep.
    :param benchmarks: its benchmarks.
    :raises SettingsError: with the method and the benchmark.
    """
    for benchmark in benchmarks:
        for strategy in strategies:
            if all(each.arguments(strategy, benchmark) is None for each in files):
                names = " and ".join(each.name for each in files)
                raise SettingsError(
                    f"configs: {names} has no file for {strategy} on {benchmark}"
                )


def _files(name: str, usual: Path) -> ConfigFiles:
    if name == NONE:
        return ConfigFiles()
    if name == DEFAULT:
        return ConfigFiles(usual=usual)
    for folder in (usual / name, Path(name)):
        if folder.is_dir():
            return ConfigFiles(Path(name).name, usual, folder)
    raise SettingsError(
        "configs: write none for the defaults, default for the usual files, or the "
        f"name of a folder like configs; there is no folder {name}"
    )
