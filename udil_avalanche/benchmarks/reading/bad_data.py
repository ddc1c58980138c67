"""What is wrong with data of one's own: refused by name, or skipped and counted."""

import warnings

NAMED = 5
"""How many problems a message names one by one."""


class BadData(ValueError):
    """Data that cannot be learned from as they are; the message says which."""


class BadDataWarning(UserWarning):
    """Some of the data were left out on request."""


class Findings:
    """Collects problems, so that one message names them all.

    :param skip: leave out what is bad instead of refusing all of it.
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
        """Refuse the data if anything is wrong with them, or warn.

        :return: how many problems were skipped.
        :raises BadData: if nothing is to be skipped.
        """
        if not self.problems:
            return 0
        named = "\n".join(f"  {problem}" for problem in self.problems[:NAMED])
        if len(self.problems) > NAMED:
            named += f"\n  and {len(self.problems) - NAMED} more"
        n = len(self.problems)
        faults = f"{n} fault{'' if n == 1 else 's'} in the data"
        if not self.skip:
            raise BadData(
                f"{faults}; mend or remove what is bad, or leave it out by "
                f"skip_bad=true:\n{named}"
            )
        warnings.warn(
            f"{faults}, left out because of skip_bad=true:\n{named}",
            BadDataWarning,
            stacklevel=2,
        )
        return len(self.problems)


__all__ = ["BadData", "BadDataWarning", "Findings"]
