"""What a process of the local engine does: one run."""

import multiprocessing
import os
import sys
import threading
import traceback
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.settings import from_dict


def work(written: dict[str, Any], log: str) -> None:
    """Do a run, and end with the process that asked for it.

    :param written: the settings by name.
    :param log: the file that whatever is printed goes to.
    """
    with open(log, "w") as messages:
        for stream in (1, 2):
            os.dup2(messages.fileno(), stream)
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    try:
        from udil_avalanche.runs.experiment import run

        run(from_dict(written))
    except SettingsError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit(1)


def _end_with_the_sweep() -> None:
    sweep = multiprocessing.parent_process()
    assert sweep is not None
    sweep.join()
    os._exit(1)


__all__ = ["work"]
