"""What the commands share."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from udil_avalanche.errors import SettingsError
from udil_avalanche.files import is_standard_output, write_text
from udil_avalanche.recipes import BENCHMARKS, METHODS
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.recipe import Recipe
from udil_avalanche.recipes.resolve import current_names


class Command(Protocol):
    """A module of this room; its docstring begins with what the command does."""

    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options, and ``takes_settings`` if it takes key=value.

        :param parser: the parser of the command.
        """

    def execute(self, given: argparse.Namespace) -> int:
        """Do it.

        :param given: the options, and settings as key=value.
        :return: the exit code.
        """


class Once(argparse.Action):
    """Stores the value of an option, which cannot be given twice."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store it.

        :param parser: the parser of the command.
        :param namespace: the options so far.
        :param values: the value.
        :param option_string: the option as it is written.
        """
        before = getattr(namespace, self.dest, None)
        if option_string is not None and before not in (self.default, values):
            parser.error(
                f"{option_string} {before} and {option_string} {values}: give one of "
                "them"
            )
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like those about settings."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for action in (None, "store"):
            self.register("action", action, Once)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        :param message: what is wrong with it.
        """
        raise SettingsError(message)


def refuse_unknown_options(
    rest: Sequence[str], parser: argparse.ArgumentParser, takes_settings: bool
) -> None:
    """Refuse what looks like an option but is none.

    :param rest: the arguments that the parser did not know.
    :param parser: the parser.
    :param takes_settings: whether the command takes settings as key=value.
    :raises SettingsError: with the nearest option, or how to write the setting.
    """
    recipes: list[Recipe] = [*METHODS.values(), *BENCHMARKS.values()]
    settings = {
        name: key
        for each in recipes
        for name, key in current_names(each.settings).items()
    }
    for argument in rest:
        if argument.startswith("-"):
            name, _, value = argument.partition("=")
            key = name.strip("-").replace("-", "_")
            if takes_settings and key in settings:
                hint = f"write {settings[key]}={value or 'VALUE'}"
            else:
                known = list(parser._option_string_actions)
                hint = f"did you mean {nearest(name, known, 'option')}?"
            raise SettingsError(f"there is no option '{name}': {hint}")
        if not takes_settings:
            raise SettingsError(f"'{argument}' is out of place: put it before options")


def path_argument(written: str) -> Path:
    """A file or a folder. An empty name, as of a variable that is not set, would be the
    folder where the command was given.

    :param written: its name.
    :raises ArgumentTypeError: if the name is empty.
    """
    if not written:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(written)


def write_page(path: Path, text: str) -> Path | None:
    """Write what a command shows: to a file, or to a device such as ``/dev/stdout``.

    :param path: where to.
    :param text: what it shows.
    :return: the file, if it is one.
    """
    if is_standard_output(path):
        sys.stdout.write(text)
        return None
    if path.is_char_device() or path.is_fifo():
        path.write_text(text, encoding="utf-8")
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def refuse_contradictions(given: argparse.Namespace, names: Iterable[str]) -> None:
    """Refuse a setting with one value as an option and another as key=value.

    :param given: the options, and settings as key=value.
    :param names: the settings that have an option of their own.
    :raises SettingsError: with both.
    """
    options = {plain_name(name): name for name in names}
    for override in given.settings:
        key, _, value = override.partition("=")
        name = options.get(plain_name(key.strip()))
        option = None if name is None else getattr(given, name)
        if name is not None and option is not None and option != value.strip():
            written = f"--{name.replace('_', '-')} {option}"
            raise SettingsError(f"{written} and {override}: give one of them")
