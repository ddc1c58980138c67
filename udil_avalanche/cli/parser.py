"""What the commands of the command line share."""

import argparse
from typing import NoReturn

from udil_avalanche.errors import SettingsError


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like those about settings."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        :param message: what is wrong with it.
        """
        raise SettingsError(message)


__all__ = ["Parser"]
