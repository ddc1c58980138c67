"""Loaded once by the process that all workers of the local engine are copies of. Not to
be imported by anything else.

The process leaves the sweep's process group. Ctrl-C on a terminal signals the whole
group, but the sweep passes it on itself: a run that got it twice would stop without
saving, and if this process ended, the sweep could no longer follow its runs.
"""

import os

os.setpgid(0, 0)

import udil_avalanche.runs.experiment  # noqa: E402, F401
