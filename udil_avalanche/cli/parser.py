"""What the commands share."""

import argparse
from collections.abc import Sequence
from typing import NoReturn, Protocol

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS
from udil_avalanche.recipes.names import nearest
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


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like those about settings."""

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
