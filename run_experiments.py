"""Learn one benchmark by one strategy; ``--help`` says how."""

import sys

from udil_avalanche.command_line import main

if __name__ == "__main__":
    sys.exit(main())
