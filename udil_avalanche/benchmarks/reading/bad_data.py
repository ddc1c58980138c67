"""Problems in the user's data: refused by name, or skipped and counted."""

import warnings

from udil_avalanche.errors import BadData as BadData

NAMED = 5
"""How many problems a message lists."""


class BadDataWarning(UserWarning):
    """Some of the data were left out, as asked for by ``skip_invalid``."""


class Findings:
    """Collects problems, so that one message names them all.

    :param skip: leave out invalid samples instead of refusing the data.
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.problems: list[str] = []
        """What is wrong, and where."""

    def add(self, problem: str) -> None:
        """Note a problem.

        :param problem: the file or folder, and what is wrong with it.
        """
        self.problems.append(problem)

    def settle(self) -> int:
        """Refuse the data if there are problems, or warn.

        :return: how many problems were skipped.
        :raises BadData: if there are problems that are not to be skipped.
        """
        n = len(self.problems)
        if n == 0:
            return 0
        named = "\n".join(f"  {problem}" for problem in self.problems[:NAMED])
        if n > NAMED:
            named += f"\n  and {n - NAMED} more"
        faults = f"{n} fault{'' if n == 1 else 's'} in the data"
        if not self.skip:
            raise BadData(
                f"{faults}; repair or remove them, or leave them out by "
                f"skip_invalid=true:\n{named}"
            )
        warnings.warn(
            f"{faults}, left out because of skip_invalid=true:\n{named}",
            BadDataWarning,
            stacklevel=2,
        )
        return n
