"""What a search for settings tried and chose, in a file that reports read."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from udil_avalanche.errors import SettingsError
from udil_avalanche.files import write_text

SEARCH_FILE = "search.json"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TriedSettings(_Entry):
    """A trial that is done."""

    settings: str
    """the settings that the search varies, in words"""
    accuracy: float
    """the average accuracy on held-out training data, averaged over the seeds"""
    seconds: float
    """how long its runs took together"""


class SearchedMethod(_Entry):
    """What was tried for a method on a benchmark."""

    strategy: str
    """name of the method"""
    benchmark: str
    """name of the benchmark"""
    trials: int
    """how many settings it was given to try, done or not"""
    tried: tuple[TriedSettings, ...]
    """those that are done, the best first: it is chosen"""
    finals: tuple[str, ...] = ()
    """the runs by the chosen settings, as benchmark/name of the folder"""

    @property
    def seconds(self) -> float:
        """How long its trials took together."""
        return sum(each.seconds for each in self.tried)


class SearchRecord(_Entry):
    """A search for settings."""

    name: str
    """the name of the sweep"""
    command: str
    """the arguments that repeat it"""
    seeds: tuple[int, ...]
    """the seeds of the trials"""
    domains: int | None
    """how many of the first domains the trials learned; null: all"""
    validation: float
    """share of the training data that was held out for comparing"""
    methods: tuple[SearchedMethod, ...]
    """the methods, on each benchmark"""

    @property
    def finals(self) -> set[str]:
        """The runs by what was chosen, of all methods."""
        return {each for method in self.methods for each in method.finals}

    def write(self, folder: Path) -> Path:
        """Write it to its file.

        :param folder: the folder, made if missing.
        :return: the file.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / SEARCH_FILE, self.model_dump_json(indent=1) + "\n")
        return folder / SEARCH_FILE


def read_search(file: Path) -> SearchRecord:
    """Read the file of a search.

    :param file: the file.
    :raises SettingsError: if it holds something else.
    """
    try:
        return SearchRecord.model_validate_json(file.read_text())
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        reason = getattr(error, "strerror", None) or "it holds something else"
        raise SettingsError(f"{file} is not the file of a search: {reason}") from None
