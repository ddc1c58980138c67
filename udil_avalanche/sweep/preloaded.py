"""What the process does of which all workers of the local engine begin as copies; not
to be imported by anything else.

It leaves the group of the sweep. Ctrl-C on a terminal, or a signal to the group, goes
to every process of it at once, but the sweep passes it on by itself: a run that got it
twice would stop without saving, and without this process the sweep loses sight of all
runs.
"""

import os

os.setpgid(0, 0)

import udil_avalanche.runs.experiment  # noqa: E402, F401
