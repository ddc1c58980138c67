"""What a process of the local engine does: one run."""

import multiprocessing
import os
import sys
import threading
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import from_dict


def work(written: dict[str, Any], messages: str) -> None:
    """Do a run, and end when the process that started it ends.

    :param written: the settings by name.
    :param messages: the file for everything that is printed.
    """
    with open(messages, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    try:
        from udil_avalanche.runs.experiment import run

        run(from_dict(written))
    except SettingsError as error:
        sys.exit(str(error))


def _end_with_the_sweep() -> None:
    sweep = multiprocessing.parent_process()
    assert sweep is not None
    sweep.join()
    os._exit(1)
